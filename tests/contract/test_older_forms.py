"""The forms in which hosts of earlier versions call, next to those of today."""

from __future__ import annotations

import pytest

from tests.conftest import write_memory

AGENT = ("--agent", "architect", "--json")


@pytest.fixture
def remembered(serve):
    """What `store --content` printed."""
    return serve("store", "--content", "- Avoid cycles in payment", *AGENT).json


def test_a_text_may_be_the_value_of_an_option(serve, remembered):
    assert remembered["created"] is True
    again = serve("store", *AGENT, "--", "- Avoid cycles in payment").json
    assert (again["created"], again["path"]) == (False, remembered["path"])
    (hit,) = serve("query", "--query", "cycles payment", *AGENT).json
    assert hit["content"] == "- Avoid cycles in payment"


def test_a_search_that_names_an_agent_is_one_for_its_memories(serve, remembered, data_dir):
    write_memory(data_dir / "knowledge" / "other", "a.md", "Payment has no cycles.")
    asked = serve("query", "cycles payment", *AGENT).json
    assert serve("search", "--agent", "architect", "--query", "cycles payment", "--json").json == (
        asked
    )
    narrowed = serve("search", "cycles", "--language", "python", *AGENT)
    assert (narrowed.status, narrowed.error["code"]) == (2, "usage")


def test_code_is_searched_by_an_option_too(run, indexed):
    hits = run("search", "--query", "total price", "--all", "--json").json
    assert hits == run("search", "total price", "--all", "--json").json != []


@pytest.mark.parametrize("text", ["", "-"])
def test_the_text_of_an_option_may_be_standard_input_or_missing(run, text):
    done = run("store", "--content", text, "--json", stdin=b"Use SQLite.\n")
    assert done.status == (0 if text else 2)


def test_a_text_is_changed_by_the_option_that_stores_it(run):
    path = run("store", "--content", "Use SQLite.", "--json").json["path"]
    for words in (("--content", "Use files."), ("Use files, only.",), ("--summary", "Files")):
        assert run("update", path, *words, "--json").json["changed"] is True
    assert run("get", path, "--json").json["content"].strip() == "Use files, only."
    done = run("update", path, "one", "--content", "two", "--json")
    assert (done.status, done.error["code"]) == (2, "usage")


@pytest.mark.parametrize(
    ("command", "option"), [("store", "--content"), ("query", "--query"), ("search", "--query")]
)
def test_a_text_is_given_once(run, command, option):
    for words in ((), ("one", option, "two")):
        done = run(command, *words, "--json")
        assert (done.status, done.error["code"]) == (2, "usage")


@pytest.mark.parametrize(
    "command", [("query", "x"), ("list",), ("recent",), ("prune",), ("category", "list")]
)
def test_an_agent_that_is_new_has_nothing_and_that_is_no_error(serve, command, data_dir):
    done = serve(*command, *AGENT)
    assert done.status == 0
    assert "architect has no memories yet" in done.err
    assert (done.json if isinstance(done.json, list) else done.json["memories"]) == []
    assert not (data_dir / "knowledge").exists()
