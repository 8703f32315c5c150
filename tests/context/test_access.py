from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from memory_sidecar.context.access import accesses_of_event, accesses_of_paths, append
from memory_sidecar.context.handlers import init
from memory_sidecar.context.layout import Root
from memory_sidecar.core.errors import NotFound


@pytest.fixture
def atoms(atom):
    return [atom("EXP-001"), atom("EXP-012b"), atom("EXP-003")]


def counted(accesses):
    return [(each.file, each.tool, each.matches) for _, each in accesses]


def read(path, *, cwd="/", seen_from=""):
    event = {"tool_name": "Read", "tool_input": {"file_path": str(path)}, "cwd": str(seen_from)}
    return counted(accesses_of_event(event, cwd=Path(cwd)))


def grep(response, *, cwd, path=None, **given):
    event = {
        "tool_name": "Grep",
        "tool_input": {"pattern": "x", **({"path": str(path)} if path else {}), **given},
        "tool_response": response,
        "cwd": str(cwd),
    }
    return counted(accesses_of_event(event, cwd=Path(cwd)))


def test_a_read_counts_its_file(atoms):
    assert read(atoms[1]) == [("experiments/EXP-012b.md", "Read", None)]


def test_a_read_may_be_relative_to_where_the_agent_is(project, atoms):
    assert read("experiments/EXP-001.md", cwd=project.path)
    assert read("EXP-001.md", cwd="/", seen_from=project.path / "experiments")


def test_what_is_no_atom_counts_nothing(root, project, atoms, tmp_path):
    other = tmp_path / "elsewhere" / "experiments"
    other.mkdir(parents=True)
    (other / "EXP-001.md").write_text("no root above")
    for path in (
        project.path / "STATUS.md",
        project.path / "experiments" / "index.md",
        project.path / "experiments" / "EXP-404.md",
        other / "EXP-001.md",
        "",
    ):
        assert read(path) == []


def test_a_search_counts_each_file_once_with_its_matches(project, atoms):
    folder = project.path / "experiments"
    response = {
        "mode": "content",
        "numFiles": 2,
        "content": f"{folder}/EXP-001.md:3:first\n{folder}/EXP-001.md:9:see {atoms[2]}\n"
        f"{folder}/EXP-001.md-10-context\n{folder}/EXP-012b.md:1:x\n{folder}/EXP-404.md:1:gone\n",
    }
    assert grep(response, path=folder, cwd="/") == [
        ("experiments/EXP-001.md", "Grep", 2),
        ("experiments/EXP-012b.md", "Grep", 1),
    ]


def test_a_long_line_takes_no_time(project, atoms):
    began = time.thread_time()
    for line in (" " * 40_000 + "a", "A" * 150_000):
        assert grep(line, path=project.path, cwd="/") == [("_directory_search", "Grep", 0)]
    assert time.thread_time() - began < 5


@pytest.mark.parametrize(
    "response",
    [
        {"mode": "files_with_matches", "filenames": ["experiments/EXP-001.md"], "numFiles": 1},
        "Found 1 file\nexperiments/EXP-001.md",
        [{"type": "text", "text": "experiments/EXP-001.md:4:x"}],
        {"stdout": "EXP-001.md:4:x"},
    ],
    ids=["filenames", "text", "blocks", "below the folder that was searched"],
)
def test_a_response_may_have_several_forms(project, atoms, response):
    found = grep(response, path="experiments", cwd=project.path)
    assert found == [("experiments/EXP-001.md", "Grep", 1)]


def test_a_search_that_counts_tells_numbers(project, atoms):
    response = "experiments/EXP-001.md:7\nexperiments/EXP-003.md:0\n"
    found = grep(response, cwd=project.path, output_mode="count")
    assert found == [("experiments/EXP-001.md", "Grep", 7)]


def test_a_search_in_one_file_need_not_name_it(project, atoms):
    assert grep("4:a\n9:b\n", path=atoms[0], cwd="/") == [("experiments/EXP-001.md", "Grep", 2)]


@pytest.mark.parametrize("response", ["", "No files found", {"filenames": [], "content": ""}, None])
def test_a_search_without_hits_counts_itself(project, atoms, response):
    nothing = [("_directory_search", "Grep", 0)]
    assert grep(response, path=project.path / "experiments", cwd="/") == nothing
    assert grep(response, cwd=project.path) == nothing
    assert grep(response, path=atoms[0], cwd="/") == nothing


def test_a_search_elsewhere_counts_nothing(root, atoms, tmp_path):
    assert grep("", path=root.path, cwd="/") == []
    assert grep("", path=tmp_path, cwd="/") == []


def deep_list(depth):
    return [deep_list(depth - 1)] if depth else []


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"tool_name": "Bash", "tool_input": {"command": "cat EXP-001.md"}},
        {"tool_name": "Read"},
        {"tool_name": "Read", "tool_input": []},
        {"tool_name": "Read", "tool_input": {"file_path": ["x"]}},
        {"tool_name": "Read", "tool_input": {"file_path": "\0"}},
        {"tool_name": "Read", "tool_input": {"file_path": "x" * 9000}},
        {"tool_name": "Grep", "tool_response": "x" * 9000 + "/experiments/EXP-001.md"},
        {"tool_name": "Grep", "tool_response": deep_list(900)},
        {"tool_name": "Grep", "tool_input": {"path": 3}, "tool_response": {"a": {"b": [1, None]}}},
    ],
    ids=lambda event: str(event)[:60],
)
def test_an_event_of_another_form_counts_nothing(event, tmp_path):
    assert accesses_of_event(event, cwd=tmp_path) == []


def test_paths_count_once_a_call(atoms):
    assert len(accesses_of_paths([atoms[0], atoms[0], atoms[2]])) == 2


def test_a_path_that_is_not_there_is_an_error(atoms, tmp_path):
    with pytest.raises(NotFound):
        accesses_of_paths([atoms[0], tmp_path / "EXP-404.md"])


def test_one_root_may_be_singled_out(root, atoms, tmp_path):
    init(tmp_path / "other", project="p")
    assert accesses_of_paths(atoms, only=Root(tmp_path / "other")) == []
    assert len(accesses_of_paths(atoms, only=root)) == 3


def test_each_project_has_its_own_log(root, project, atom):
    init(root.path, project="q")
    other = root.project("q")
    paths = [atom("EXP-001"), atom("K-001", to=other)]
    append(accesses_of_paths(paths), at="2026-05-06T12:00:00.000Z")
    assert [json.loads(each.access_log.read_text()) for each in (project, other)] == [
        {"ts": "2026-05-06T12:00:00.000Z", "file": f"{file}.md", "tool": "Read"}
        for file in ("experiments/EXP-001", "knowledge/K-001")
    ]


def test_a_line_without_an_end_does_not_swallow_the_next(project, atoms):
    project.access_log.write_text('{"file": "half')
    append(accesses_of_paths(atoms[:1]), at="2026-05-06T12:00:00.000Z")
    assert json.loads(project.access_log.read_text().splitlines()[1])["tool"] == "Read"
