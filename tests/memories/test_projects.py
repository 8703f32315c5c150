"""A memory carries the project that it was made in: asked from there, it comes first."""

from __future__ import annotations

import json
from functools import partial

import pytest

from memory_sidecar.disk.frontmatter import parse_page
from tests.conftest import run_here, write_memory

SAID = "The build runs in {} containers, since the tests share a port"


@pytest.fixture
def within(serve, tmp_path):
    """Runs a command in the folder of a source: `shop`, `mill`, or `.` outside of both."""
    for name in ("shop", "mill"):
        (tmp_path / name / "src").mkdir(parents=True)
        assert serve("source", "add", tmp_path / name).status == 0
    made = serve.keywords

    def run(place: str, *words: str):
        return partial(run_here, **made | {"cwd": tmp_path / place})(*words)

    return run


def stored_in_both(within) -> None:
    assert within("shop", "store", SAID.format("two"), "--json").json["project"] == "shop"
    assert within("mill/src", "store", SAID.format("ten"), "--json").json["project"] == "mill"


def contents(done) -> list[str]:
    return [hit["content"] for hit in done.json]


def test_a_query_prefers_the_project_it_is_asked_from(within):
    stored_in_both(within)
    asked = ("query", "in how many containers does the build run", "--no-rerank", "--json")
    assert contents(within("shop", *asked)) == [SAID.format("two"), SAID.format("ten")]
    assert contents(within("mill", *asked)) == [SAID.format("ten"), SAID.format("two")]
    first, second = within("shop/src", *asked, "--explain").json
    assert "other_project" not in first["explain"]["terms"]
    assert second["explain"]["terms"]["other_project"] < 0
    assert sum(second["explain"]["terms"].values()) == pytest.approx(second["relevance"], abs=1e-5)


def test_all_projects_are_alike_outside_of_them_and_where_that_is_asked_for(within):
    stored_in_both(within)
    asked = ("query", "how many containers", "--no-rerank", "--explain", "--json")
    for found in (within(".", *asked), within("shop", *asked, "--all-projects")):
        assert len(found.json) == 2
        assert not [hit for hit in found.json if "other_project" in hit["explain"]["terms"]]


@pytest.mark.parametrize("place", ["mill", "shop", "."])
@pytest.mark.parametrize("about", ["{} in mill", "in Mill, {}", "mill: {}"])
def test_a_question_about_a_project_is_as_if_asked_in_it(within, place, about):
    stored_in_both(within)
    within("mill", "store", "Mill is written in Go, and shop in C#", "--project", "")
    plain = "how many containers does the build run in"
    asked = within("mill", "query", plain, "--no-rerank", "--json")
    found = within(place, "query", about.format(plain), "--no-rerank", "--json")
    assert contents(found)[0] == SAID.format("ten")
    assert found.json == asked.json


def test_words_alone_include_the_name_of_the_project(within):
    said = "Mill is written in Go"
    within("mill", "store", said)
    found = within(
        "mill", "query", "containers of the build in mill", "--mode", "keyword", "--json"
    )
    assert contents(found) == [said]


def test_one_project_may_be_meant_alone(within):
    stored_in_both(within)
    within(".", "store", SAID.format("no"))
    for command in (("query", "containers"), ("list", "--content"), ("recent",)):
        found = within("shop", *command, "--project", "mill", "--json").json
        assert [hit["project"] for hit in found] == ["mill"], command


def test_the_project_stands_in_the_file_and_can_be_changed(within, data_dir):
    done = within("shop", "store", "Totals are cents", "--json").json
    file = data_dir / "knowledge" / "default" / done["path"]
    assert parse_page(file.read_text()).meta["project"] == "shop"
    assert within(".", "get", done["path"], "--json").json["project"] == "shop"
    assert "[of shop]" in within(".", "list").out
    assert within(".", "update", done["path"], "--project", "mill", "--json").json["changed"]
    assert parse_page(file.read_text()).meta["project"] == "mill"
    within(".", "update", done["path"], "--project", "")
    assert "project" not in parse_page(file.read_text()).meta
    assert within("shop", "store", "Everywhere", "--project", "", "--json").json["project"] == ""
    assert within("shop", "store", "x", "--project", "a\nb").status == 2


def test_what_is_said_in_two_projects_is_of_none(within):
    for place in ("shop", "shop", "mill", "shop"):
        last = within(place, "store", "Totals are cents", "--json").json
    assert (last["created"], last["project"]) == (False, "")


def test_a_project_written_by_hand_counts(within, data_dir):
    write_memory(data_dir / "knowledge" / "default", "a.md", "By hand", project="mill")
    for place, project in ((".", "mill"), (".", "mill/"), ("mill", "."), ("shop", "../mill/")):
        listed = within(place, "list", "--project", project, "--json").json
        assert [each["path"] for each in listed] == ["a.md"]


def test_a_project_may_be_named_by_a_folder_in_it_wherever_it_is_named(within, tmp_path):
    path = within("shop", "store", "By hand", "--project", "../mill/src", "--json").json["path"]
    assert within(".", "get", path, "--json").json["project"] == "mill"
    within("mill", "update", path, "--project", str(tmp_path / "shop"))
    assert within(".", "get", path, "--json").json["project"] == "shop"


def test_what_a_session_suggests_is_of_the_project_that_holds_its_folder(within, tmp_path):
    session = {
        "session_id": "s1",
        "created_at": "2026-03-01T09:12:00Z",
        "project_path": str(tmp_path / "shop" / "src"),
        "summary": {"brief": "Totals were rounded", "key_decisions": ["Totals are cents"]},
    }
    (file := tmp_path / "s1.json").write_text(json.dumps(session))
    assert within(".", "session", "save", file).status == 0
    assert within(".", "session", "promote", "s1").status == 0
    assert {each["project"] for each in within(".", "list", "--json").json} == {"shop"}
