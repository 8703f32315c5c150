"""A whole journal, or all of a task, becomes one outcome with every entry as its evidence."""

from __future__ import annotations

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
