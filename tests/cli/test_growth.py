"""`growth`: what came in by week, what is read of it, and how questions fared."""

from __future__ import annotations

import json

import pytest

from tests.conftest import write_memory


def test_what_is_asked_is_noted_and_shown(run, project, data_dir, known_vectors):
    run("index", project, "--wait", "keyword")
    run("store", "Carts are emptied at night", "--agent", "bob", "--category", "pitfall")
    path = "pitfall/carts-are-emptied-at-night.md"
    for _ in range(5):
        run("get", path, "--agent", "bob")
    write_memory(data_dir / "knowledge" / "bob", "pattern/old.md")
    run("search", "total_price", cwd=project)
    for text in ("zanzibar ledger", "Zanzibar  ledger"):
        run("query", text, "--agent", "bob", "--mode", "keyword")
    run("session", "search", "carts", "--agent", "ann")

    found = run("growth", "--weeks", "2", "--json").json
    last = found["weeks"][-1]
    assert len(found["weeks"]) == 2
    assert {name: last[name] for name in ("memories", "sessions", "reads")} == {
        "memories": 1,
        "sessions": 0,
        "reads": 5,
    }
    assert (last["questions"], last["unanswered"]) == (4, 3)
    assert [found[name] for name in ("memories", "hot", "cold", "never_read")] == [2, 1, 1, 1]
    assert [each["path"] for each in found["most_read"]] == [path]
    assert [each["path"] for each in found["longest_unread"]] == ["pattern/old.md"]
    first = found["unanswered"][0]
    assert (first["text"], first["kind"], first["times"]) == ("Zanzibar  ledger", "memories", 2)
    took = {each["kind"]: each for each in found["latency"]}
    assert {kind: each["questions"] for kind, each in took.items()} == {
        "code": 1,
        "memories": 2,
        "sessions": 1,
    }
    assert all(0 < each["p50_ms"] <= each["p95_ms"] for each in took.values())

    of_bob = run("growth", "--agent", "bob", "--json").json
    assert (of_bob["agents"], of_bob["weeks"][-1]["questions"]) == (["bob"], 2)
    text = run("growth").out
    assert text.split("\n")[1].startswith(last["begins"][:10])  # not weeks before all of it
    assert "2 memories: 1 hot, 1 cold, 1 never read" in text
    assert f"5 reads  {path}\n" in text
    run("store", "Carts have four wheels", "--agent", "ann", "--category", "pitfall")
    assert f"5 reads  {path}  bob\n" in run("growth").out
    assert "no good hit: Zanzibar ledger  (memories, 2 times)" in text


def test_a_question_takes_one_line(run, data_dir):
    run("store", "Carts are emptied at night", "--agent", "bob", "--category", "pitfall")
    run("query", "zanzibar\n\tledger " + "x" * 900, "--agent", "bob", "--mode", "keyword")
    text = run("growth").out
    (line,) = (
        each for each in text.splitlines() if each.startswith("no good hit: zanzibar ledger")
    )
    assert line.endswith("x…  (memories, 1 time)")
    (log,) = data_dir.glob("questions/asked.jsonl")
    log.write_text(json.dumps(json.loads(log.read_text()) | {"ms": 12345.6}) + "\n")
    assert "p95 12,345.6 ms" in run("growth").out
    assert len(line) < 250


@pytest.mark.parametrize("set_to", ["true", "false"])
def test_asking_for_growth_makes_nothing(run, data_dir, tmp_path, monkeypatch, set_to):
    config = tmp_path / "config" / "memory-sidecar"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f"keep_questions = {set_to}\n")
    done = run("growth")
    assert (done.status, data_dir.exists()) == (0, False)
    assert ("keep_questions" in done.err) == (set_to == "false")


def test_an_empty_database_of_an_agent_counts_nothing(run, data_dir):
    (data_dir / "knowledge").mkdir(parents=True)
    (data_dir / "knowledge" / "bob.sqlite").touch()  # as a full disk may leave it
    done = run("growth", "--json")
    assert (done.status, done.err, done.json["memories"]) == (0, "", 0)
