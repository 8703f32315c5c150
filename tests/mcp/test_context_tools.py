"""The tools about a dense-context root, which a host has to ask for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory_sidecar.context.handlers import init
from memory_sidecar.mcp.caller import Caller, Toolset
from tests.mcp.talk import call, given, refused
from tests.mcp.test_server import CONTEXT_NAMES, NAMES, listed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    init(tmp_path / "context", project="mill")
    return tmp_path / "context"


@pytest.fixture
def writer(newcomer: Caller, root: Path) -> Caller:
    """Somebody who works in the root, and is offered the tools about it."""
    return replace(newcomer, cwd=root, toolsets=frozenset({Toolset.CONTEXT}))


def test_they_are_offered_to_who_asks_for_them_alone(newcomer, writer):
    assert set(listed(newcomer)) == NAMES
    assert set(listed(writer)) == CONTEXT_NAMES | {"status"}
    reading = set(listed(replace(writer, is_read_only=True)))
    assert reading == {"list_atoms", "check_context", "list_tasks", "status"}
    every = replace(newcomer, is_structured=False, toolsets=frozenset(Toolset))
    tools = [t.model_dump_json(by_alias=True, exclude_none=True) for t in listed(every).values()]
    assert sum(map(len, tools)) <= 14_500


def test_an_atom_is_written_listed_and_counted(writer, root):
    made = given(writer, "write_atom", kind="experiment", summary="Pools of 8 to 64", tags=["pool"])
    assert (made["id"], made["project"]) == ("EXP-001", "mill")
    assert "Pools of 8 to 64" in Path(made["path"]).read_text()
    path = Path(made["path"]).relative_to(root).as_posix()
    assert given(writer, "count_reads", paths=[path])["files"] == ["mill/experiments/EXP-001.md"]
    found = given(writer, "list_atoms")
    assert [(each["id"], each["refs"]) for each in found["atoms"]] == [("EXP-001", 1)]
    assert given(writer, "list_atoms", hot=True)["atoms"] == []
    written = given(writer, "regenerate_context")["written"]
    assert "projects/mill/experiments/index.md" in written
    assert given(writer, "regenerate_context")["written"] == []


@pytest.mark.parametrize("whose", ["shared", "own"])
def test_a_written_atom_is_found_by_the_next_search(writer, root, whose):
    agent = writer.services.agent(writer.agent if whose == "own" else "shared")
    agent.register(root)
    searcher = replace(writer, toolsets=frozenset({Toolset.MEMORIES}))
    assert given(searcher, "search_memories", query="pools")["memories"] == []  # compares all files
    made = given(writer, "write_atom", kind="experiment", summary="Pools of 8 to 64")
    (found,) = given(searcher, "search_memories", query="pools")["memories"]
    assert made["path"].endswith(found["path"].partition("/")[2])


def test_what_is_wrong_is_found_with_its_line(writer, root):
    tried = given(writer, "write_atom", kind="experiment", summary="Pools of 8 to 64")
    given(writer, "write_atom", kind="knowledge", summary="A pool of 32", evidence=["EXP-001"])
    Path(tried["path"]).unlink()
    found = given(writer, "check_context", project="mill", rules=["evidence", "link"])["findings"]
    assert [each["file"] for each in found] == ["projects/mill/knowledge/K-001.md"]
    assert "there is no rule" in refused(writer, "check_context", rules=["nonsense"])
    (root / "projects/mill/TASKS.yaml").write_text("- id: T-1\n  text: Grind\n  status: open\n")
    assert [each["text"] for each in given(writer, "list_tasks")["tasks"]] == ["Grind"]


def test_nothing_outside_of_the_root_is_counted(writer, tmp_path):
    other = init(tmp_path / "other", project="mill")
    atom = tmp_path / "other/projects/mill/experiments/EXP-001.md"
    atom.write_text("---\nid: EXP-001\n---\n")
    assert other
    for path in ("../other/projects/mill/experiments/EXP-001.md", str(atom)):
        assert given(writer, "count_reads", paths=[path])["files"] == []
    assert not (tmp_path / "other/projects/mill/access.jsonl").exists()


def test_where_there_is_no_root_a_person_is_to_make_one(newcomer):
    lost = replace(newcomer, toolsets=frozenset({Toolset.CONTEXT}))
    said = refused(lost, "list_atoms")
    assert said.startswith("not_found: no dense-context root at")
    assert "MEMORY_SIDECAR_CONTEXT or the setting context_root" in said  # `mcp` has no --root
    assert "tell the user" in said


def test_a_secret_is_not_written(writer):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert "secret_refused" in refused(writer, "write_atom", kind="pattern", summary=f"Use {key}")
    assert call(writer, "list_atoms").structured_content["total"] == 0
