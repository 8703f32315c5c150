"""The tools about code: what they find and read, and what they do not let out."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.results import Silent
from memory_sidecar.mcp.caller import Caller, Toolset, Workspace
from memory_sidecar.mcp.tools import TOOLS
from tests.conftest import write_other_project
from tests.mcp.talk import call, given, refused, text_of

KEY = "ghp_" + "x7" * 18


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the project."""
    file = tmp_path / "outside.py"
    file.write_text("SECRET_OF_SOMEBODY_ELSE = 1\n")
    return file


def test_search_gives_path_lines_and_code(onlooker):
    first = given(onlooker, "search_code", query="add_item")["hits"][0]
    assert (first["filename"], first["source"]) == ("shop/cart.py", "project")
    assert "def add_item" in first["code"]
    assert first["uri"] == "source://project/shop/cart.py"


def test_text_alone_is_enough_to_open_the_place(onlooker):
    shown = text_of(call(onlooker, "search_code", query="add_item"))
    assert shown.startswith("shop/cart.py:")
    assert "def add_item" in shown


def test_code_that_matches_weakly_is_marked_in_text_too(onlooker):
    found = given(onlooker, "search_code", query="zymurgy of harpsichords")["hits"]
    assert [each["is_weak"] for each in found] == [True] * len(found)
    shown = text_of(call(onlooker, "search_code", query="zymurgy of harpsichords"))
    assert shown.count("  weak match") == len(found) > 0


def test_search_keeps_to_the_source_that_the_client_works_in(caller, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "cart.py").write_text("def add_item_elsewhere(): pass\n")
    caller.codebase.index([other], reporter=Silent())

    def sources(**where: str) -> set[str]:
        hits = given(caller, "search_code", query="add_item", **where)["hits"]
        return {hit["source"] for hit in hits}

    assert sources() == {"project"}
    assert sources(source="other") == {"other"}
    assert sources(source=str(other)) == sources(source=other.as_uri()) == {"other"}
    assert sources(source="*") == {"project", "other"}
    assert "there are: other, project" in refused(
        caller, "search_code", query="add_item", source="nope"
    )
    assert "did you mean project? there are: other, project" in refused(
        caller, "search_code", query="add_item", source="proj"
    )


def test_cursor_leads_through_all_hits_once(onlooker):
    whole = given(onlooker, "search_code", query="price cart order", top_k=6)["hits"]
    paged, cursor = [], ""
    for _ in range(3):
        page = given(onlooker, "search_code", query="price cart order", top_k=2, cursor=cursor)
        paged += page["hits"]
        cursor = page["next_cursor"]
    assert paged == whole


def test_cursor_leads_through_more_than_a_search_looks_at_once(caller, project):
    for number in range(180):
        words = f"price{number % 7} cart{number % 11} order{number % 13}"
        (project / f"part{number}.py").write_text(f"def part{number}():\n    return '{words}'\n")
    caller.codebase.index([project], reporter=Silent())
    seen, cursor = [], ""
    while True:
        page = given(caller, "search_code", query="price3 cart5 order8", top_k=40, cursor=cursor)
        seen += [(hit["filename"], hit["location"]) for hit in page["hits"]]
        if not (cursor := page["next_cursor"]):
            break
    parts = [name for name, _ in seen if name.startswith("part")]
    assert (len(set(parts)), len(seen)) == (180, len(set(seen)))


def test_budget_cuts_and_the_cursor_goes_on_behind_the_cut(onlooker):
    whole = given(onlooker, "search_code", query="price cart order", top_k=4)["hits"]
    small = given(onlooker, "search_code", query="price cart order", top_k=4, max_tokens=1)
    assert [hit["uri"] for hit in small["hits"]] == [whole[0]["uri"]]
    more = given(
        onlooker, "search_code", query="price cart order", top_k=1, cursor=small["next_cursor"]
    )
    assert more["hits"] == whole[1:2]


def test_hits_cost_little_however_long_the_code_and_show_what_was_asked_for(caller, project):
    for name in "abcdefg":
        filler = "\n".join(f"    step_{number} = compute({number})" for number in range(25))
        (project / f"{name}.py").write_text(
            f"def refund_{name}(order):\n{filler}\n"
            f"    return pay_back_the_voucher(order)\n{filler.replace('step', 'then')}\n"
        )
    caller.codebase.index([project], reporter=Silent())
    plain = replace(caller, is_structured=False)
    result = call(plain, "search_code", query="pay back the voucher", paths=["?.py"])
    assert result.structured_content is None
    told = text_of(result)
    assert len(told) <= 3000
    assert told.count("pay_back_the_voucher") == 5
    assert 'further ones: cursor "from-5"' in told
    whole = call(
        plain, "search_code", query="pay back the voucher", paths=["?.py"], max_tokens=6000
    )
    assert len(text_of(whole)) > 2 * len(told)


def test_a_secret_is_masked_before_the_lines_around_it_are_left_out(caller, project):
    long = "x = 1  # " + "and so on " * 14
    (project / "keys.py").write_text(f'{long} token = "{KEY}"\n' + f"{long}\n" * 30)
    caller.codebase.index([project], reporter=Silent())
    told = text_of(call(caller, "search_code", query="token", paths=["keys.py"], max_tokens=60))
    assert KEY[:8] not in told


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "'query' is missing"),
    ({"query": "x", "limits": 3}, "there is no argument 'limits'"),
    ({"query": "x", "top_k": 0}, "'top_k'"),
    ({"query": "x", "languages": ["klingon"]}, "unknown language"),
    ({"query": "x", "cursor": "12"}, "not a cursor"),
    ({"query": " "}, "the query is empty"),
)


def test_wrong_arguments_are_named(onlooker):
    for arguments, said in WRONG:
        told = refused(onlooker, "search_code", **arguments)
        assert told.startswith("usage: ")
        assert said in told


@pytest.mark.parametrize(
    ("tool", "arguments", "ours"),
    [
        ("search_code", {"q": "add_item", "limit": 1, "language": "py"}, {"top_k": 1}),
        ("search_code", {"query": "add_item", "top_k": 500}, {"top_k": 50}),
        ("search_code", {"query": "add_item", "top_k": "500"}, {"top_k": 50}),
        ("search_code", {"query": "add_item", "top_k": "7"}, {"top_k": 7}),
        ("callers", {"name": "add", "depth": 1e9}, {"depth": 10}),
        ("callers", {"name": "add", "depth": 10**400}, {"depth": 10}),  # no float holds it
        ("read_file", {"file_path": "cart.py", "offset": 2}, {"path": "cart.py", "start_line": 2}),
        ("read_file", {"path": "a.py", "line": 3, "limit": 9}, {"start_line": 3, "limit": 9}),
        ("read_file", {"filePath": "a.py", "startLine": 2}, {"path": "a.py", "start_line": 2}),
        ("read_file", {"target_file": "a.py", "endLine": 2}, {"path": "a.py", "end_line": 2}),
        ("read_file", {"uri": "source://project/a.py"}, {"path": "source://project/a.py"}),
        ("read_file", {"path": "a.py", "start": 3, "end": 9}, {"start_line": 3, "end_line": 9}),
        ("read_file", {"path": "a.py", "range": "3-9"}, {"start_line": 3, "end_line": 9}),
        ("read_file", {"path": "a.py", "view_range": [3, 9]}, {"start_line": 3, "end_line": 9}),
        ("read_file", {"path": "a.py", "viewRange": [3, -1]}, {"start_line": 3, "end_line": -1}),
        ("read_file", {"path": "a.py", "lines": 3, "end_line": 9}, {"start_line": 3}),
        ("read_file", {"path": "a.py", "max_lines": 3}, None),
        ("search_code", {"query": "x", "maxResults": 2}, {"top_k": 2}),
        ("search_code", {"query": "x", "glob": "src/**"}, {"paths": ["src/**"]}),
        ("grep", {"query": "f($X)", "path": "src"}, {"pattern": "f($X)", "paths": ["src"]}),
        ("def", {"query": "add"}, {"name": "add"}),
        ("map", {"query": "carts"}, {"around": "carts"}),
        ("map", {"path": "a.py"}, {"around": "a.py"}),
        ("impact", {"path": "a.py"}, {"files": ["a.py"], "paths": []}),
        ("impact", {"symbol": "add"}, {"name": "add"}),
        ("search_sessions", {"Query": "x", "num_results": 3}, {"query": "x", "top_k": 3}),
        ("outline", {"filename": "a.py"}, {"path": "a.py"}),
        ("refs", {"symbol_name": "add"}, {"name": "add"}),
        ("callers", {"function": "add"}, {"name": "add"}),
        ("callees", {"method": "add"}, {"name": "add"}),
        ("search_memories", {"query": "x", "limit": 2, "tag": "a"}, {"top_k": 2, "tags": ("a",)}),
        ("query_memories", {"since": "7d", "top_k": 2}, {"updated_after": "7d", "limit": 2}),
        ("search_sessions", {"since": "7d"}, {"after": "7d"}),
        ("get_session", {"id": "s"}, {"session_id": "s"}),
        ("get_memory", {"id": "a/b"}, {"path": "a/b"}),
        ("store_memory", {"text": "x", "category": "c"}, {"content": "x"}),
        ("store_memory", {"content": "x", "category": "c", "title": "t"}, {"summary": "t"}),
        ("write_atom", {"kind": "knowledge", "title": "t", "content": "c"}, {"body": "c"}),
        ("update_memory", {"path": "a", "tags": "b", "add_tags": "c"}, None),
        ("read_file", {"path": "a.py", "file": "b.py"}, None),
        ("read_file", {"path": "a.py", "filePath": "b.py"}, None),
        ("search_code", {"query": "x", "exclude_paths": ["tests/**"]}, None),
        ("prune_memories", {"exclude_category": "kept"}, None),
        ("update_memory", {"path": "a", "old_content": "x"}, None),
    ],
)
def test_what_models_call_an_argument_means_ours(tool, arguments, ours):
    if ours is None:
        with pytest.raises(UsageError, match="there is no argument"):
            TOOLS[tool].parse_arguments(arguments)
        return
    parsed = TOOLS[tool].parse_arguments(arguments)
    assert {name: getattr(parsed, name) for name in ours} == ours


@pytest.mark.parametrize("number", ["many", "2.5", 2.5, "", []])
def test_what_is_no_whole_number_is_refused(number):
    with pytest.raises(UsageError, match="'top_k'"):
        TOOLS["search_code"].parse_arguments({"query": "x", "top_k": number})


def test_null_means_left_out(onlooker):
    assert given(onlooker, "search_code", query="add_item", source=None, top_k=None)["hits"]


def test_without_an_index_the_tool_that_makes_one_is_named(newcomer):
    for tool, arguments in (
        ("search_code", {"query": "x"}),
        ("list_sources", {}),
        ("read_file", {"path": "x.py"}),
    ):
        told = refused(newcomer, tool, **arguments)
        assert told == f"no_index: {newcomer.cwd} is not indexed — index_project indexes it"


def test_outside_of_all_sources_what_is_indexed_is_named(onlooker, tmp_path):
    elsewhere = replace(onlooker, cwd=tmp_path)
    told = refused(elsewhere, "search_code", query="add_item")
    assert told.startswith(f"no_index: {tmp_path} is not indexed — index_project indexes it; ")
    assert told.endswith('source "*" searches what is indexed: project')
    assert given(elsewhere, "search_code", query="add_item", source="*")["hits"]


def test_project_is_indexed_by_the_tool_once_and_searched(newcomer, project):
    there = replace(newcomer, cwd=project)
    assert given(there, "index_project")["source"] == "project"
    assert given(there, "search_code", query="add_item")["hits"]
    assert given(there, "index_project", path=".")["files"] > 0


def test_of_several_folders_each_that_is_not_indexed_is_said_and_indexed_by_the_next_call(
    newcomer, project, tmp_path
):
    lamp = write_other_project(tmp_path / "my lamp")
    homely = {"HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    open_here = Workspace((tmp_path / "home", project, lamp), is_known=True)
    there = replace(newcomer, workspace=open_here, environ=homely)
    told = refused(there, "search_code", query="switch_on")
    assert told == f"no_index: {project} is not indexed — index_project indexes it"
    assert given(there, "index_project")["source"] == "project"
    for _ in range(2):
        notices = given(there, "search_code", query="switch_on")["notices"]
        assert f"{lamp} is not indexed — index_project indexes it" in notices
    assert given(there, "index_project")["root"] == lamp.as_posix()
    found = given(there, "search_code", query="switch_on")
    assert found["hits"][0]["filename"] == "lamp.py"
    assert not [each for each in found["notices"] if "is not indexed" in each]
    assert given(there, "index_project", path=lamp.as_uri())["root"] == lamp.as_posix()


@pytest.mark.parametrize("path", ["/", "/etc", "..", "shop", "~", "file:///etc"])
def test_only_what_the_client_has_open_is_indexed(newcomer, project, path):
    told = refused(replace(newcomer, cwd=project), "index_project", path=path)
    assert told.startswith("path_refused: ")
    assert newcomer.codebase.registry.all() == []


def test_neither_home_nor_root_is_indexed_even_where_a_client_was_started_there(newcomer, project):
    homely = replace(newcomer, environ={"HOME": str(project / "shop")})
    for folder in (Path("/"), project, project / "shop"):
        there = replace(homely, cwd=folder)
        assert "is no project" in refused(there, "index_project")
        assert "tell the user" in refused(there, "search_code", query="x")
    assert newcomer.codebase.registry.all() == []


def test_a_tilde_is_the_home_of_the_client_in_each_argument_that_is_a_path(onlooker):
    home = onlooker.cwd.parents[1]
    homely = replace(onlooker, environ={"HOME": str(home)}, toolsets=frozenset(Toolset))
    root = "~/project"
    assert given(homely, "read_file", path=f"{root}/shop/cart.py")["filename"] == "shop/cart.py"
    assert "add_item" in text_of(call(homely, "outline", path=f"{root}/shop/cart.py"))
    for where in ({"paths": [f"{root}/shop/**"]}, {"source": root}):
        assert given(homely, "search_code", query="add_item", **where)["hits"], where


def test_file_is_read_as_it_is_now_and_by_lines(caller, project):
    (project / "new.py").write_text("\n".join(f"line{n} = {n}" for n in range(1, 101)) + "\n")
    part = given(caller, "read_file", path="new.py", offset=3, limit=2)
    assert part["end_line"] == 4
    part = given(caller, "read_file", path="new.py", start_line=3, end_line=5)
    assert (part["content"], part["total_lines"]) == ("line3 = 3\nline4 = 4\nline5 = 5", 100)
    cut = given(caller, "read_file", path="new.py", max_tokens=10)
    rest = given(caller, "read_file", path="new.py", start_line=cut["next_start_line"])
    assert (cut["content"] + "\n" + rest["content"]).count("\n") == 99
    assert rest["next_start_line"] == 0
    assert "lines 1-100" in refused(caller, "read_file", path="new.py", start_line=101)


@pytest.mark.parametrize("line_break", ["\r", "\r\n"])
def test_lines_are_read_where_search_finds_them(caller, project, line_break):
    text = line_break.join(["a = 1", "b = 2", "c = 3", "def ring_bell():", "    return 2", ""])
    (project / "bell.py").write_bytes(text.encode())
    caller.codebase.index([project], reporter=Silent())
    found = given(caller, "search_code", query="ring_bell")["hits"][0]
    assert found["location"] == "1-5"
    assert given(caller, "read_file", path="bell.py:1-5")["content"] == found["code"]


def test_a_file_of_another_project_is_said_to_be_one(caller, project, tmp_path):
    caller.codebase.index([write_other_project(tmp_path / "other")], reporter=Silent())
    foreign = "lamp.py is a file of other, not of what you work in"
    assert given(caller, "read_file", path="lamp.py")["notices"] == [foreign]
    assert not given(caller, "read_file", path="lamp.py", source="other")["notices"]
    assert not given(caller, "read_file", path="shop/cart.py")["notices"]


def test_where_the_folder_is_gone_it_is_said(caller, project):
    project.rename(project.with_name("elsewhere"))
    told = refused(caller, "read_file", path="shop/cart.py")
    shows = "search_code shows parts of what was indexed of it"
    assert told == f"not_found: {project} is not there — {shows}"


def test_absolute_path_inside_of_a_source_is_read(caller, project):
    read = given(caller, "read_file", path=str(project / "shop" / "cart.py"))
    assert (read["source"], read["filename"]) == ("project", "shop/cart.py")


WRITTEN = (
    "./shop/cart.py",
    "shop/../shop/cart.py",
    "shop\\cart.py",
    "project/shop/cart.py",
    "{project}/shop/cart.py",
    "file://{project}/shop/cart.py",
    "source://project/shop/cart.py",
)


def test_a_file_is_read_however_its_path_is_written(caller, project):
    for path in WRITTEN:
        named = path.format(project=project)
        whole = given(caller, "read_file", path=named)
        assert (whole["filename"], whole["start_line"]) == ("shop/cart.py", 1)
        for lines, where in (
            (":2", (2, whole["total_lines"])),
            ("(2,5)", (2, whole["total_lines"])),
            (":2-3", (2, 3)),
            ("#L2-L3", (2, 3)),
        ):
            part = given(caller, "read_file", path=named + lines)
            assert (part["start_line"], part["end_line"]) == where
        part = given(caller, "read_file", path=f"{named}:2-3", start_line=4, end_line=4)
        assert (part["start_line"], part["end_line"]) == (4, 4)
        for lines in ("2-3", "L2-L3"):
            part = given(caller, "read_file", path=named, start_line=lines)
            assert (part["start_line"], part["end_line"]) == (2, 3)
        assert given(caller, "read_file", path=named, start_line="2")["start_line"] == 2
        part = given(caller, "read_file", path=named, start_line=0, end_line=-1)
        assert (part["start_line"], part["end_line"]) == (1, whole["total_lines"])


def test_a_file_is_read_by_the_end_of_its_path_if_no_other_has_that(caller, project):
    part = given(caller, "read_file", path="cart.py:2-3")
    assert (part["filename"], part["start_line"], part["end_line"]) == ("shop/cart.py", 2, 3)
    assert given(caller, "read_file", path="Cart.PY")["filename"] == "shop/cart.py"
    (project / "old" / "shop").mkdir(parents=True)
    (project / "old" / "shop" / "cart.py").write_text("old = 1\n")
    caller.codebase.index([project], reporter=Silent())
    assert "there is" in refused(caller, "read_file", path="cart.py")
    assert given(caller, "read_file", path="old/shop/cart.py")["content"] == "old = 1"


def test_a_name_with_colons_and_digits_is_a_file_first(caller, project):
    (project / "log.py:2").write_text("one\ntwo\n")
    (project / "log.py").write_text("1\n2\n")
    assert given(caller, "read_file", path="log.py:2")["content"] == "one\ntwo"
    assert given(caller, "read_file", path="log.py:1-1")["content"] == "1"


def test_files_of_the_same_name_are_named_for_one_that_is_not_there(caller, project, tmp_path):
    shutil.copytree(project, tmp_path / "worktree")
    caller.codebase.index([tmp_path / "worktree"], reporter=Silent())
    assert refused(caller, "read_file", path="src/cart.py:3").endswith("there is shop/cart.py")
    told = refused(caller, "read_file", path="nothing.py")
    assert told == "not_found: there is no file 'nothing.py' — pass a path as search_code prints it"
    assert refused(caller, "read_file", path="shop/cart.rb").endswith("there is shop/cart.py")
    assert refused(caller, "read_file", path="SRC/Cart.PY").endswith("there is shop/cart.py")
    assert refused(caller, "read_file", path="shop/crat.py").endswith("there is shop/cart.py")
    told = refused(caller, "read_file", path="shop/")
    assert told.startswith("not_found: shop is a folder — name a file in it")
    assert refused(caller, "read_file", path=".").startswith("path_refused: '.' is a folder")


@pytest.mark.parametrize("path", ["a" * 300, "shop/" + "ü" * 300, "a/" * 2040 + "a"])
def test_a_path_too_long_for_a_file_is_not_there(onlooker, path):
    assert refused(onlooker, "read_file", path=path).startswith("not_found: ")
    for tool in ("get_memory", "remove_memory"):
        assert "not_found: " in refused(onlooker, tool, path=path)


def test_a_path_that_can_be_none_is_refused(onlooker):
    assert refused(onlooker, "index_project", path="a\0b").startswith("path_refused: ")


PATTERNS = (
    "./shop/cart.py",
    "shop\\*.py",
    "{project}/shop/**",
    "file://{project}/shop/**",
    "{project}",
    ".",
    "",
    "shop/*.{{py,ts}}",
    "docs/**, shop/**",
)


def test_patterns_are_taken_however_they_are_written(caller, project):
    for path in PATTERNS:
        glob = path.format(project=project)
        for globs in (glob, [glob]) if ", " not in glob else (glob,):
            assert given(caller, "search_code", query="add_item", paths=globs)["hits"], path


def test_an_absolute_pattern_leads_to_the_source_it_lies_in(caller, tmp_path):
    other = write_other_project(tmp_path / "other")
    caller.codebase.index([other], reporter=Silent())
    uri = given(caller, "search_code", query="def", source=other.name)["hits"][0]["uri"]
    for pattern in (str(other), f"{other}/**", uri):
        told = given(caller, "search_code", query="def", paths=[pattern])
        assert {hit["source"] for hit in told["hits"]} == {other.name}
        assert told["notices"][0] == f"searched {other.name}, not what you work in"
    kept = given(caller, "search_code", query="def", paths=[str(other)], source="project")
    assert kept["hits"] == []


@pytest.mark.parametrize(
    ("pattern", "nearest"), [("shpo/**", "shop/"), ("project/shop/*.py", "shop/*.py")]
)
def test_patterns_that_leave_nothing_are_pointed_at(onlooker, pattern, nearest):
    told = given(onlooker, "search_code", query="add_item", paths=[pattern])
    pointed = f"no indexed file is {pattern}: the nearest is {nearest}"
    assert (told["hits"], told["notices"][-1]) == ([], pointed)
    there = given(onlooker, "search_code", query="add_item", paths=[nearest])
    assert there["hits"]


def test_a_pattern_that_begins_with_a_source_is_looked_for_inside_that_alone(caller, tmp_path):
    (tmp_path / "tills").mkdir()
    (tmp_path / "tills" / "till.css").write_text("till { color: red }\n")
    caller.codebase.index([tmp_path / "tills"], reporter=Silent())
    for source, near in ("tills", ": the nearest is *.css"), ("project", ""):
        glob = f"{source}/*.css"
        told = given(caller, "search_code", query="till", paths=[glob], source="*")
        assert told["notices"][-1] == f"no indexed file is {glob}{near}"


def test_of_many_patterns_that_leave_nothing_only_some_are_repeated(onlooker):
    paths = [f"shpo/part_{number}/cart.py" for number in range(500)]
    text = text_of(call(onlooker, "search_code", query="add_item", paths=paths))
    assert text.startswith("note: no indexed file is shpo/part_0/cart.py")
    assert len(text) < 1000


LEADING_OUT = (
    "../outside.py",
    "../outside.py:1",
    "{outside}:1",
    "..\\outside.py",
    "file://{outside}",
    "source://project/../outside.py",
    "shop/../../outside.py",
    "{outside}",
    "link.py",
    "folder_link/outside.py",
    "shop\0/cart.py",
    "",
    ".",
    "/etc/hosts",
    "/dev/zero",
)


def test_no_path_leads_out_of_a_source(caller, project, outside):
    (project / "link.py").symlink_to(outside)
    (project / "folder_link").symlink_to(outside.parent)
    for path in LEADING_OUT:
        told = refused(caller, "read_file", path=path.format(outside=outside))
        assert told.startswith(("path_refused: ", "not_found: ")), path
        assert "SOMEBODY_ELSE" not in told, path


def test_what_is_ignored_binary_or_no_file_is_not_read(caller, project):
    (project / ".sidecarignore").write_text("private/\n")
    (project / "private").mkdir()
    (project / "private" / "notes.md").write_text("hidden\n")
    os.mkfifo(project / "pipe.py")
    told = refused(caller, "read_file", path="private/notes.md")
    reason = "ignored by private/ (.sidecarignore:1)"
    own = "open it with your own tools"
    assert told == f"not_found: private/notes.md is not indexed: {reason} — {own}"
    for path in ("logo.png", "pipe.py"):
        assert refused(caller, "read_file", path=path).startswith("path_refused: ")


def test_what_may_hold_secrets_is_left_to_the_user(caller, project):
    (project / ".env").write_text("TOKEN=1\n")
    told = refused(caller, "read_file", path=".env")
    assert told == "path_refused: .env is not indexed: may hold secrets — leave it to the user"


def test_what_a_built_in_rule_leaves_out_is_said_with_the_line_that_includes_it(caller, project):
    (project / "bin").mkdir()
    (project / "bin" / "cart.py").write_text("pass\n")
    (project / ".gitignore").write_text("private/\n")
    told = refused(caller, "read_file", path="bin/cart.py")
    assert "a line `!bin/` in the .sidecarignore at the top of the source includes it" in told
    assert "private" not in refused(caller, "read_file", path="private/cart.py").partition("—")[2]
    (project / ".sidecarignore").write_text("!bin/\n")
    assert given(caller, "read_file", path="bin/cart.py")["content"] == "pass"


def test_link_inside_of_a_source_leads_to_its_target(caller, project):
    (project / "again").symlink_to(project / "shop")
    assert given(caller, "read_file", path="again/cart.py")["filename"] == "shop/cart.py"


def test_secrets_are_masked_wherever_code_is_shown(caller, project):
    (project / "deploy.py").write_text(f"def deploy():\n    push({KEY!r})\n    restart()\n")
    caller.codebase.index([project], reporter=Silent())
    for tool, arguments in (
        ("search_code", {"query": "deploy"}),
        ("read_file", {"path": "deploy.py"}),
    ):
        result = call(caller, tool, **arguments)
        assert KEY not in result.model_dump_json()
        assert "«masked: GitHub token»" in text_of(result)
        assert "do not write these lines back" in text_of(result)


def test_a_key_of_which_a_part_is_asked_for_is_masked(caller, project):
    lines = [
        f"MIIEpAIBAAKCAQEA{number:02}cXJzdHV2d3h5ejAxMjM0NTY3ODkrL0FCQ0RFRkdI"
        for number in range(8)
    ]
    key = ["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"]
    (project / "deploy.py").write_text("\n".join(['KEY = """', *key, '"""', "after = 1\n"]))
    caller.codebase.index([project], reporter=Silent())
    for start, end in ((5, 6), (1, 4), (8, 12)):
        asked = {"path": "deploy.py", "start_line": start, "end_line": end}
        result = call(caller, "read_file", **asked)
        assert not [line for line in lines if line in result.model_dump_json()]
    assert given(caller, "read_file", path="deploy.py", start_line=13)["content"] == "after = 1"
    remembered = call(caller, "read_file", path="deploy.py", start_line=1, end_line=2)
    assert "do not write these lines back" in text_of(remembered)


def test_sources_are_listed_with_their_freshness(onlooker):
    (source,) = given(onlooker, "list_sources")["sources"]
    assert (source["name"], source["is_yours"]) == ("project", True)
    assert source["files"] > 5
    assert source["state"].startswith("scanned ")


def test_a_source_of_one_file_has_1_file(services, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n\nOne chunk.\n")
    caller = Caller(services, tmp_path, "alice", frozenset({Toolset.CODE}))
    services.codebase().index([tmp_path], reporter=Silent())
    told = text_of(call(caller, "list_sources"))
    assert f"{tmp_path.name} (yours): 1 file, " in told
    assert ", 1 chunk  " in told


def test_status_says_what_is_missing(caller):
    broken = caller.services.models
    assert isinstance(broken.version, str)
    broken.version = ""
    told = given(caller, "status")
    assert any("no model here" in notice for notice in told["notices"])
    found = given(replace(caller), "search_code", query="add_item")
    assert found["hits"]
    assert any("by keyword" in notice for notice in found["notices"])


def test_a_list_of_sources_that_was_emptied_or_damaged_is_told(caller):
    file = caller.codebase.registry._path
    file.write_bytes(b"")
    for tool, asked in (("status", {}), ("list_sources", {}), ("search_code", {"query": "total"})):
        assert "is empty: 1 source taken from" in text_of(call(caller, tool, **asked))
    file.write_bytes(b"[")
    for tool, asked in (("status", {}), ("list_sources", {}), ("search_code", {"query": "total"})):
        assert "is not a readable list" in refused(caller, tool, **asked)
