from __future__ import annotations

import pytest

from memory_sidecar.context.handlers import find_root, init
from memory_sidecar.context.layout import (
    Project,
    Root,
    is_root,
    is_unfilled,
    make_project,
    make_root,
    root_around,
)
from memory_sidecar.core.errors import NotFound, UsageError
from memory_sidecar.core.projects import record_trust
from memory_sidecar.core.settings import Settings


def shape(path):
    return sorted(each.relative_to(path).as_posix() for each in path.rglob("*"))


def test_a_new_root_has_its_shape(tmp_path):
    made = init(tmp_path / "root", project=None)
    assert is_root(tmp_path / "root")
    assert shape(tmp_path / "root") == [
        *("CORTEX.md", "OVERVIEW.md", "decisions", "ideas", "projects", "scans", "user"),
        "user/USER.md",
    ]
    assert {path.name for path in made} == {"CORTEX.md", "OVERVIEW.md", "USER.md"}


def test_a_new_project_has_its_shape(project):
    assert shape(project.path) == [
        *("CORTEX.md", "ISSUES.md", "STATUS.md", "TASKS.yaml", "_meta"),
        *("_meta/access-counts.json", "_meta/access-log.jsonl", "decisions"),
        *("experiments", "experiments/index.md", "knowledge", "knowledge/index.md"),
        *("mission.md", "patterns", "patterns/index.md", "roadmap.md", "tasks-archive.md"),
    ]
    assert "# p\n" in (project.path / "CORTEX.md").read_text()


def test_what_is_there_stays_as_it_is(root, project):
    (project.path / "mission.md").write_text("ours")
    (project.path / "roadmap.md").unlink()
    assert [root.shown(path) for path in init(root.path, project="p")] == ["projects/p/roadmap.md"]
    assert (project.path / "mission.md").read_text() == "ours"


def test_a_folder_with_other_files_becomes_a_root(tmp_path):
    (tmp_path / "CORTEX.md").write_text("# Mine\n")
    (tmp_path / "notes.md").write_text("# Notes on it\n")
    init(tmp_path, project=None)
    text = (tmp_path / "CORTEX.md").read_text()
    assert text.startswith("# Mine\n\n## Files\n")
    assert "- `notes.md`: Notes on it\n" in text


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", ".git", "x" * 65, "a b", "ä"])
def test_a_project_cannot_be_called_anything(tmp_path, name):
    with pytest.raises(UsageError) as refused:
        init(tmp_path / "root", project=name)
    assert "a letter or digit first" in refused.value.hint
    assert not (tmp_path / "root").exists()


def test_a_project_may_be_called_by_a_number(tmp_path):
    init(tmp_path / "root", project="7up")
    assert (tmp_path / "root" / "projects" / "7up").is_dir()


def test_a_file_cannot_become_a_root(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        init(tmp_path / "file", project=None)


def test_a_root_is_found_upwards(root, project):
    deep = project.path / "experiments"
    assert root_around(deep) == root
    assert root.project_around(deep) == project
    assert root.project_around(root.path) is None
    assert root_around(root.path.parent) is None


def test_the_project_around_is_found_in_a_root_that_a_link_names(root, project, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(root.path)
    assert Root(link).project_around(project.path) == Project(Root(link), project.name)
    assert root.project_around(link / "projects" / project.name) == project


def test_what_is_named_comes_before_what_lies_around(root, tmp_path):
    for name in ("option", "variable", "setting"):
        init(tmp_path / name, project=None)
    (tmp_path / "memory-sidecar.toml").write_text('context_root = "setting"\n')
    trusting = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    record_trust(str(tmp_path), True, trusting)
    variable = {"MEMORY_SIDECAR_CONTEXT": "variable"}
    deep = root.path / "projects"
    assert found(tmp_path / "option", tmp_path, variable) == "option"
    assert found(None, tmp_path, variable) == "variable"
    assert found(None, deep, trusting) == "setting"
    assert found(None, deep, {}) == "root"


def found(option, cwd, environ):
    return find_root(option, cwd=cwd, environ=environ).path.name


def test_no_root_is_an_error_that_says_what_to_do(tmp_path):
    for option in (None, tmp_path):
        with pytest.raises(NotFound) as caught:
            find_root(option, cwd=tmp_path, environ={})
        assert "context init" in caught.value.hint


def test_an_unknown_project_is_an_error_that_names_the_known_ones(root):
    with pytest.raises(NotFound) as caught:
        root.project("q")
    assert "p;" in caught.value.hint
    with pytest.raises(UsageError):
        Root(root.path).project("../p")


def test_nothing_is_on_unless_it_is_set():
    settings = Settings()
    assert not settings.context_regen
    assert not settings.context_commit
    assert not settings.context_count_reads


def test_every_page_that_init_makes_is_unfilled_until_something_is_said_in_it(tmp_path):
    made = make_root(Root(tmp_path)) + make_project(Project(Root(tmp_path), "p"))
    for page in (path for path in made if path.suffix == ".md"):
        text = page.read_text("utf-8")
        for path in (page.relative_to(tmp_path).as_posix(), page.as_posix()):
            assert is_unfilled(path, text)
            listed = text.replace("<!-- context:files -->", "<!-- context:files -->\n- `x.md`")
            assert is_unfilled(path, listed.replace("\n", "\r\n"))
            assert not is_unfilled(path, text + "\nIt is for shops.\n")
    assert not is_unfilled("projects/p/other.md", "")
    assert not is_unfilled("STATUS.md", "")
