"""`query Q --agent A --top-k N --db D/knowledge/A.sqlite --json-output [--category C]`.

As the host calls it, in fresh processes, and what the other commands that read memories print.
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import write_memory

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def database(data_dir):
    return data_dir / "knowledge" / "architect.sqlite"


@pytest.fixture
def host_query(database):
    """The host's own argument list."""

    def host_query(text, *, category=None):
        given = ["--category", category] if category else []
        return (
            *("query", text, "--agent", "architect", "--top-k", "5"),
            *("--db", database, "--json-output", *given),
        )

    return host_query


def test_the_host_reads_what_it_stored(sidecar, serve, host_query, database):
    text = "- Payment: 'Strategy' makes a \"cycle\"\n- 日本語 🎉\n"
    stored = sidecar(
        *("store", text, "--agent", "architect", "--category", "planning-pitfall"),
        *("--db", database, "--tag", "owned_path_0:src/a:b.cs", "--tag", "plain"),
    )
    done = sidecar(*host_query("payment strategy cycle"))
    assert (done.status, done.err) == (0, "")
    (hit,) = done.json
    assert hit["content"] == text.strip()
    assert hit["category"] == "planning-pitfall"
    assert hit["tags"] == {"owned_path_0": "src/a:b.cs", "plain": ""}
    assert hit["tag_list"] == ["owned_path_0:src/a:b.cs", "plain"]
    assert MOMENT.fullmatch(hit["stored_at"])
    assert 0 < hit["relevance"] <= 1
    assert (hit["id"], hit["path"]) == (stored.json["id"], stored.json["path"])
    assert (hit["agent"], hit["shared"]) == ("architect", False)
    (again,) = serve(*host_query("payment", category="planning-pitfall")).json
    assert again | {"relevance": hit["relevance"]} == hit
    assert serve(*host_query("payment", category="pitfall")).json == []


def test_a_memory_without_tags_has_none(serve, host_query, data_dir):
    write_memory(data_dir / "knowledge" / "architect", "pitfall/a.md", "Avoid cycles.")
    (hit,) = serve(*host_query("--cycles are to avoid")).json
    assert hit["tags"] is None


def test_an_agent_that_never_stored_anything_has_no_hits_and_it_is_said(serve, host_query):
    done = serve(*host_query("anything"))
    assert (done.status, done.json) == (0, [])
    assert "architect has no memories yet" in done.err


def test_shared_memories_say_so(serve, host_query, data_dir):
    write_memory(data_dir / "knowledge" / "shared", "rules/a.md", "Avoid cycles.")
    (hit,) = serve(*host_query("cycles")).json
    assert (hit["agent"], hit["shared"], hit["path"]) == ("shared", True, "rules/a.md")


def test_awkward_questions_are_only_questions(serve, data_dir):
    write_memory(data_dir / "knowledge" / "default", "a.md", "Avoid cycles. 日本語 in Größe.")
    for text in (
        "-x --y z",
        '"unbalanced',
        "NEAR(a b) OR *",
        "日本語",
        "🎉",
        "a" * 100_000,
        "\x01 ;",
    ):
        done = serve("query", "--json", "--", text)
        assert done.status == 0, done.err
        assert len(done.json) == 1
    assert serve("query", "--json", "  ").error["code"] == "usage"
    assert serve("query", "--json", "-", stdin="cycles é".encode()).json
    assert serve("query", "--json", "-", stdin=b"\xff").error["code"] == "usage"


@pytest.fixture
def memories(data_dir):
    folder = data_dir / "knowledge" / "default"
    write_memory(folder, "pitfall/cycle.md", "Avoid cycles.", tags=["area:ui"], summary="Cycles")
    write_memory(folder, "old.md", "Old text.", updated_at="2025-01-01", status="superseded")
    write_memory(folder, "late.md", "Late text.", expires_at="2025-01-01")
    write_memory(data_dir / "knowledge" / "shared", "rule.md", "Test first.")
    return folder


def test_a_list_has_everything_but_the_content(serve, memories):
    (row,) = serve("list", "--json").json
    assert (row["path"], row["title"], row["tags"]) == (
        "pitfall/cycle.md",
        "Cycles",
        {"area": "ui"},
    )
    assert "content" not in row
    assert serve("list", "--json", "--content").json == [row | {"content": "Avoid cycles."}]
    every = ("list", "--json", "--include-expired", "--include-superseded")
    assert [r["path"] for r in serve(*every).json] == ["late.md", "pitfall/cycle.md", "old.md"]
    assert [r["path"] for r in serve(*every, "--sort", "path").json] == [
        *("late.md", "old.md", "pitfall/cycle.md")
    ]
    assert [r["path"] for r in serve(*every, "--sort", "updated_at", "--limit", 1).json] == [
        "old.md"
    ]
    serve("get", "pitfall/cycle.md")
    for name in ("reads", "refs"):
        assert serve(*every, "--sort", name, "--desc").json[0]["path"] == "pitfall/cycle.md"
    assert [r["agent"] for r in serve("list", "--json", "--shared").json] == ["default", "shared"]


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["--after", "soon"], "usage"),
        (["--category", "../x"], "path_refused"),
        (["--sort", "colour"], "usage"),
        (["--limit", "-1"], "usage"),
        (["--agent", "../x"], "usage"),
        (["--kind", "poem"], "usage"),
    ],
)
def test_a_list_refuses_what_it_does_not_understand(serve, memories, wanted, code):
    done = serve("list", "--json", *wanted)
    assert (done.status, done.error["code"]) == (2, code)


def test_times_may_be_dates_moments_or_ages(serve, memories):
    every = ("list", "--json", "--include-expired", "--include-superseded")
    for since in ("2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"):
        assert len(serve(*every, "--after", since).json) == 2
        assert len(serve(*every, "--before", since).json) == 1
    assert len(serve(*every, "--after", "5000d").json) == 3


def test_recent_ones_come_with_what_they_say(serve, memories):
    found = serve("recent", "--json").json
    assert [(row["path"], row["content"]) for row in found] == [
        ("pitfall/cycle.md", "Avoid cycles."),
        ("rule.md", "Test first."),
    ]
    assert len(serve("recent", "--json", "--no-shared").json) == 1


def test_one_is_read_by_its_path(serve, memories):
    assert serve("get", "pitfall/cycle").out == "Avoid cycles.\n"
    read = serve("get", "pitfall/cycle.md", "--json").json
    assert (read["content"], read["uses"]) == ("Avoid cycles.", 1)
    assert read["hash"] == serve("list", "--json").json[0]["hash"]
    assert serve("get", "rule", "--json").json["shared"] is True
    assert serve("get", "rule", "--no-shared", "--json").status == 3
    assert serve("get", "nothing", "--json").error["code"] == "not_found"


def test_a_budget_and_an_explanation(serve, memories):
    (hit, *_) = serve("query", "cycles", "--json", "--max-tokens", 2).json
    assert (hit["content"], hit["shown"]) == ("Cycles", "summary")
    (hit, *_) = serve("query", "cycles", "--json", "--explain").json
    assert hit["explain"].keys() == {"cosine", "keyword", "boosts", "terms"}
    assert "pitfall/cycle.md" in serve("query", "cycles", "--explain").out


def test_a_person_reads_a_short_memory_once(serve, data_dir):
    folder = data_dir / "knowledge" / "default"
    write_memory(folder, "one.md", "Avoid cycles.")
    write_memory(folder, "two.md", "Avoid cycles, too.\nThey are slow.")
    for command in (("query", "cycles"), ("recent",)):
        shown = serve(*command).out
        assert shown.count("Avoid cycles.") == 1
        assert "They are slow." in shown
