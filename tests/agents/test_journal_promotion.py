"""A whole journal, or all of a task, becomes one outcome with every entry as its evidence."""

from __future__ import annotations

import json

import pytest

ENTRIES = [
    ("The token refresh raced with itself under load.", "task:T-12"),
    ("The token refresh takes one lock, which ended the race under load.", "task:T-12"),
    ("Carts are emptied at night by the cleaning job.", "task:T-13"),
]


@pytest.fixture
def journal(serve, data_dir):
    """Runs a command of `ci`, whose journal has three entries of two tasks."""
    for text, tag in ENTRIES:
        done = serve("episodic-put", text, "--file", data_dir / "ci.mv2", "--tag", tag)
        assert done.status == 0
    return lambda *words: serve(*words, "--agent", "ci", "--json")


def test_a_task_becomes_one_outcome(journal):
    told = journal("session", "promote", "--tag", "task:T-12", "--dry-run").json
    (suggested,) = told["memories"]
    assert (suggested["category"], suggested["fate"]) == ("outcome", "new")
    assert "refresh" in suggested["text"]
    assert "Carts" not in suggested["text"]
    assert journal("list").json == []
    (stored,) = journal("session", "promote", "--tag", "task:T-12").json["memories"]
    memory = journal("get", stored["path"]).json
    assert memory["tag_list"] == ["task:T-12"]
    assert len(memory["relations"]["evidence"]) == 2
    (again,) = journal("session", "promote", "--tag", "task:T-12").json["memories"]
    assert (again["fate"], again["path"]) == ("known", stored["path"])


def test_a_journal_becomes_one_outcome(journal):
    (stored,) = journal("session", "promote", "--journal").json["memories"]
    memory = journal("get", stored["path"]).json
    assert len(memory["relations"]["evidence"]) == len(ENTRIES)
    assert "Carts are emptied at night" in memory["content"]


def test_what_is_promoted_is_named_once_and_there(journal):
    assert journal("session", "promote").status == 2
    assert journal("session", "promote", "x", "--journal").status == 2
    assert journal("session", "promote", "--tag", "task:T-99").status == 3


SUMMARISED = {
    "first": {
        "brief": "Found the race of the token refresh",
        "problems_solved": ["Two refreshes raced for the same token"],
        "outcome": "partial",
    },
    "second": {
        "brief": "Put one lock around the token refresh",
        "key_decisions": ["Use one lock for every refresh of a token"],
        "user_note": "Always write the failing test first",
        "outcome": "success",
    },
}


@pytest.fixture
def summarised(journal, tmp_path):
    """The same, with two sessions of a third task that have nothing but a summary."""

    def save(**session):
        (tmp_path / "s.json").write_text(json.dumps(session | {"topics": ["task:T-14"]}))
        assert journal("session", "save", tmp_path / "s.json").status == 0

    for at, (name, summary) in enumerate(SUMMARISED.items()):
        save(session_id=name, created_at=f"2026-03-0{at + 1}T09:12:00Z", summary=summary)
    return journal, save


def test_a_task_keeps_what_the_summaries_of_its_sessions_say(summarised):
    run, _ = summarised
    told = run("session", "promote", "--tag", "task:T-14").json
    assert [(each["category"], each["text"], each["fate"]) for each in told["memories"]] == [
        ("pitfall", "Two refreshes raced for the same token", "stored"),
        ("pattern", "Use one lock for every refresh of a token", "stored"),
        ("preference", "Always write the failing test first", "stored"),
        (
            "outcome",
            "Found the race of the token refresh. Put one lock around the token refresh.",
            "stored",
        ),
    ]
    pitfall, *_, outcome = told["memories"]
    assert pitfall["evidence"] == ["session:first"]
    assert outcome["evidence"] == ["session:first", "session:second"]
    assert (pitfall["said_at"][:10], outcome["said_at"][:10]) == ("2026-03-01", "2026-03-02")
    assert outcome["tags"] == ["task:T-14", "outcome:success"]
    again = run("session", "promote", "--tag", "task:T-14").json["memories"]
    assert {each["fate"] for each in again} == {"known"}


def test_sessions_are_in_order_whatever_their_time_zones(summarised):
    run, save = summarised
    brief = {"brief": "Saw the token refresh fail, before all the others"}
    save(session_id="z", created_at="2026-03-01T10:12:00+05:00", summary=brief)
    told = run("session", "promote", "--tag", "task:T-14", "--dry-run").json
    assert told["memories"][-1]["evidence"] == ["session:z", "session:first", "session:second"]


def test_a_summary_counts_beside_sessions_that_have_none(summarised):
    run, save = summarised
    save(session_id="short", messages=[{"role": "user", "content": "ok"}])
    told = run("session", "promote", "--tag", "task:T-14", "--dry-run").json
    assert "one lock around the token refresh" in told["memories"][-1]["text"]
    assert len(told["memories"]) == 4


def test_a_task_of_which_only_code_was_saved_has_no_sentence(summarised):
    run, save = summarised
    code = [{"code": "SELECT 1"}]
    save(session_id="code", metadata={"tags": ["task:T-15"]}, code_snippets=code)
    for told in (("code",), ("--tag", "task:T-15")):
        done = run("session", "promote", *told)
        assert (done.status, "neither a summary nor a sentence" in done.err) == (3, True)


def test_an_entry_without_its_time_is_put_again(serve, data_dir):
    put = ("episodic-put", "Carts are emptied at night.", "--file", data_dir / "ci.mv2")
    entry = serve(*put).json
    (file,) = (data_dir / "episodic" / "ci").rglob("*.json")
    document = json.loads(file.read_text())
    del document["created_at"]  # as an editor may
    file.write_text(json.dumps(document))
    again = serve(*put)
    assert (again.status, again.json["session_id"]) == (0, entry["session_id"])
