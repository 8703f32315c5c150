"""`judged`: questions with their right answers, and the benchmark that ranks by them."""

from __future__ import annotations

import json

from own_questions import is_own, measure_own

from memory_sidecar.core.results import Silent

SESSION = json.dumps(
    {"session_id": "s-1", "messages": [{"role": "user", "content": "Why are carts empty?"}]}
).encode()
MEMORY = "pitfall/carts-are-emptied-at-night.md"


def test_right_answers_are_kept_and_the_benchmark_ranks_by_them(
    run, project, data_dir, tmp_path, known_vectors
):
    run("index", project, "--wait", "keyword")
    run("store", "Carts are emptied at night", "--agent", "bob", "--category", "pitfall")
    run("session", "save", "-", "--agent", "bob", stdin=SESSION)
    of_bob = ("--agent", "bob", "--json")
    run("judged", "add", "charge card", "shop/payment.py", cwd=project)
    first = run("judged", "add", "charge card", "cart.py:1-9", "--json", cwd=project / "shop").json
    run("judged", "add", "carts emptied", MEMORY, "--kind", "memories", *of_bob)
    run("judged", "add", "carts empty", "s-1#0", "--kind", "sessions", *of_bob)
    assert first["relevant"] == ["shop/payment.py", "shop/cart.py"]
    assert first["root"] == project.resolve().as_posix()
    assert [each["of"] for each in run("judged", "list", "--json").json] == [
        *("project", "bob", "bob"),
    ]

    folder = data_dir / "questions"
    assert is_own(folder)
    measured = measure_own(folder, cache=tmp_path / "cache", reporter=Silent())
    assert set(measured) == {"code", "memories", "sessions"}
    assert measured["memories"]["keyword"]["hit@1"] == 1
    assert measured["sessions"]["keyword"]["hit@1"] == 1
    assert measured["code"]["keyword"]["mrr@10"] == 1

    assert run("judged", "remove", "charge card", "").status == 3  # an empty place is not all
    left = run("judged", "remove", "charge card", "shop/payment.py", "--json").json
    assert left[0]["relevant"] == ["shop/cart.py"]
    assert len(run("judged", "remove", "charge card", "--json").json) == 2
    assert (folder / "queries.jsonl").stat().st_mode & 0o077 == 0


def test_code_is_not_judged_for_an_agent(run, project, known_vectors):
    run("index", project, "--wait", "keyword")
    add = ("judged", "add", "charge card", "shop/payment.py", "--json")
    refused = run(*add, "--agent", "bob", cwd=project)
    assert (refused.status, refused.error["code"]) == (2, "usage")
    assert run(*add, cwd=project).json["of"] == "project"


def test_a_memory_is_judged_while_its_database_is_still_to_be_derived(run, data_dir):
    run("store", "Carts are emptied at night", "--agent", "bob", "--category", "pitfall")
    (data_dir / "knowledge" / "bob.sqlite").unlink()
    added = run("judged", "add", "what", MEMORY, "--kind", "memories", "--agent", "bob", "--json")
    assert added.json["relevant"] == [MEMORY]


def test_what_is_not_there_answers_nothing(run, project, data_dir, known_vectors):
    run("index", project, "--wait", "keyword")
    for place, kind, status in (
        ("nowhere.py", "code", 3),
        ("logo.png", "code", 3),
        ("pitfall/none.md", "memories", 3),
        ("none", "sessions", 3),
    ):
        done = run("judged", "add", "what", place, "--kind", kind, cwd=project)
        assert (done.status, done.err.count("\n")) == (status, 1), place
    assert run("judged", "add", " ", "shop/cart.py", cwd=project).status == 2
    assert run("judged", "add", "ghp_" + "a1B2" * 9, "shop/cart.py", cwd=project).status == 2
    assert run("judged", "remove", "what").status == 3
    assert run("judged", "list", "--json").json == []
    (data_dir / "questions").mkdir(exist_ok=True)
    (data_dir / "questions" / "queries.jsonl").write_text(json.dumps({"text": "half"}) + "\n")
    assert run("judged", "add", "what", "shop/cart.py", cwd=project).status == 2
    assert "half" in (data_dir / "questions" / "queries.jsonl").read_text()
