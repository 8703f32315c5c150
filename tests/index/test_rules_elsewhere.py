"""A scan asks no rule again while none has changed, wherever the rules lie."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.results import Silent
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.index.source import ScanScope


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source inside of a repository, with another repository in it."""
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", os.fspath(tmp_path / "home" / ".config"))
    (tmp_path / "home" / ".config" / "git").mkdir(parents=True)
    root = tmp_path / "repository" / "project"
    for folder in (root.parent, root / "nested"):
        (folder / ".git" / "info").mkdir(parents=True)
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("kept.py", "late.py", "nested/late.py"):
        (root / name).write_text("VALUE = 1\n")
    return root


@pytest.fixture
def codebase(make_codebase: Callable[..., Codebase], root: Path) -> Codebase:
    codebase = make_codebase()
    codebase.index([root], reporter=Silent())
    return codebase


def indexed(codebase: Codebase) -> set[str]:
    codebase.index([], reporter=Silent())
    with codebase.data.open().reading() as connection:
        found = connection.execute("SELECT path FROM files WHERE status = ?", (FileStatus.INDEXED,))
        return {str(path) for (path,) in found}


def walks(codebase: Codebase, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that `index` asks the rules about."""
    asked: list[str] = []
    whole = IgnoreRules.paths

    def paths(self: IgnoreRules, start: str, *rest: Any, **more: Any) -> Iterator[str]:
        asked.append(start)
        yield from whole(self, start, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(IgnoreRules, "paths", paths)
        indexed(codebase)
    return asked


def test_without_a_change_no_rule_is_asked(codebase, root, monkeypatch):
    assert walks(codebase, monkeypatch) == []
    (root / "new.py").write_text("NEW = 1\n")
    assert "new.py" in indexed(codebase)


@pytest.mark.parametrize(
    ("file", "gone"),
    [
        ("repository/.gitignore", {"late.py"}),
        ("repository/.git/info/exclude", {"late.py"}),
        ("repository/project/nested/.git/info/exclude", {"nested/late.py"}),
        ("home/.config/git/ignore", {"late.py", "nested/late.py"}),
    ],
)
def test_a_rule_that_changes_elsewhere_is_followed(codebase, root, tmp_path, file, gone):
    before = indexed(codebase)
    (tmp_path / file).write_text("late.py\n")
    assert before - indexed(codebase) == gone
    (tmp_path / file).unlink()
    assert indexed(codebase) == before


@pytest.mark.parametrize("file", ["project/.gitignore", ".git/info/exclude"])
def test_a_rule_that_is_written_while_a_scan_walks_is_followed_by_the_next(
    make_codebase, root, monkeypatch, file
):
    (root / ".gitignore").write_text("nothing\n")
    whole = IgnoreRules.paths

    def paths(self: IgnoreRules, start: str, *rest: Any, **more: Any) -> Iterator[str]:
        found = [*whole(self, start, *rest, **more)]
        (root.parent / file).write_text("late.py\n")
        yield from found

    codebase = make_codebase()
    with monkeypatch.context() as patch:
        patch.setattr(IgnoreRules, "paths", paths)
        codebase.index([root], reporter=Silent())
    assert "late.py" not in indexed(codebase)


def test_a_file_that_the_configuration_of_git_names_is_one_of_rules(codebase, tmp_path):
    before = indexed(codebase)
    (tmp_path / "home" / "mine").write_text("late.py\n")
    (tmp_path / "home" / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    assert before - indexed(codebase) == {"late.py", "nested/late.py"}
    (tmp_path / "home" / "mine").write_text("kept.py\n")
    assert before - indexed(codebase) == {"kept.py"}


def test_a_repository_that_begins_inside_has_rules_of_its_own(codebase, root):
    (root.parent / ".gitignore").write_text("inner.py\n")
    (root / "deep").mkdir()
    for name in ("inner.py", "other.py"):
        (root / "deep" / name).write_text("VALUE = 1\n")
    without = indexed(codebase)
    assert "deep/inner.py" not in without
    (root / "deep" / ".git" / "info").mkdir(parents=True)
    (root / "deep" / ".git" / "info" / "exclude").write_text("other.py\n")
    assert "deep/other.py" not in indexed(codebase)


def test_what_may_find_no_change_is_imported_without_cocoindex():
    loaded = "import sys; import memory_sidecar.cli.index, memory_sidecar.agents.services"
    asked = f"{loaded}; sys.exit('cocoindex' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


@pytest.mark.parametrize("file", ["repository/.gitignore", "home/.config/git/ignore"])
def test_a_saved_file_is_asked_about_again_once_a_rule_elsewhere_has_changed(
    codebase, root, tmp_path, file, notices
):
    (source,) = codebase.data.sources()

    def save() -> bool:
        (root / "late.py").write_text("VALUE = 2\n")
        look = ScanScope(under=("late.py",))
        owner = codebase.data.owner
        codebase.data.ask(lambda said: owner.refresh(source, said, look), notices, patience_s=60)
        with codebase.data.open().reading() as connection:
            return (
                connection.execute("SELECT path FROM files WHERE path = 'late.py'").get is not None
            )

    assert save()
    (tmp_path / file).write_text("late.py\n")
    assert not save()
    (tmp_path / file).unlink()
    assert save()
