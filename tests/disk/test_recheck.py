"""A walk that knows what an earlier one found sees what a walk of everything would see."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_sidecar.core.model import Scan
from memory_sidecar.disk import walk as walk_module
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.walk import walk

Write = Callable[..., None]
LIMIT = 1 << 20


@pytest.fixture(params=["in a repository", "outside of one"])
def tree(request: pytest.FixtureRequest, root: Path, write: Write) -> Path:
    if request.param == "in a repository":
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    write("a.py", "pkg/b.py", "pkg/deep/c.py", "docs/readme.md", "docs/state/store.md")
    write(".gitignore", text="*.log\nsecret/\n")
    write("pkg/.gitignore", text="local.py\n")
    return root


def rewalk(root: Path, change: Callable[[], object]) -> tuple[Scan, Scan]:
    """What a recheck and a whole walk see after `change`."""
    known = {file.path: file.stamp for file in walk(root, max_file_bytes=LIMIT).files}
    change()
    return walk(root, max_file_bytes=LIMIT, known=known), walk(root, max_file_bytes=LIMIT)


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda root: None,
    "a saved file": lambda root: (root / "pkg/b.py").write_text("changed = 1\n"),
    "a new file": lambda root: (root / "pkg/deep/new.py").write_text("x = 1\n"),
    "a new file that is ignored": lambda root: (root / "pkg/local.py").write_text("x = 1\n"),
    "an ignored folder": lambda root: _write(root / "pkg/secret/key.py"),
    "a folder left out by its name": lambda root: _write(root / "pkg/node_modules/x.js"),
    "new folders": lambda root: _write(root / "pkg/new/er/file.py"),
    "an empty folder": lambda root: (root / "pkg/empty").mkdir(),
    "a file whose name is not UTF-8": lambda root: (root / "pkg/\udcff.py").touch(),
    "a folder whose name is not UTF-8": lambda root: _write(root / "d\udcff/in/x.py"),
    "a deleted file": lambda root: (root / "pkg/deep/c.py").unlink(),
    "a renamed folder": lambda root: (root / "pkg/deep").rename(root / "docs/deep"),
    "a folder in place of a file": lambda root: _swap_in_folder(root / "a.py"),
    "a link in place of a folder": lambda root: _swap_in_link(root / "docs"),
    "a changed rule": lambda root: (root / "pkg/.gitignore").write_text("deep/\n"),
    "a rule that is gone": lambda root: (root / ".gitignore").unlink(),
    "a rule of a folder's own": lambda root: (root / "docs/.sidecarignore").write_text("*.md\n"),
    "a data directory around": lambda root: (root / "docs/codebase.sqlite").touch(),
    "a folder let through": lambda root: _let_through(root, "dist"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_sees_what_a_whole_walk_sees_after(tree, change):
    quick, whole = rewalk(tree, lambda: CHANGES[change](tree))
    assert quick == whole


@pytest.mark.parametrize("change", CHANGES)
def test_a_walk_of_a_part_sees_the_same_of_it(tree, change):
    known = {file.path: file.stamp for file in walk(tree, max_file_bytes=LIMIT).files}
    CHANGES[change](tree)
    now = {file.path for file in walk(tree, max_file_bytes=LIMIT).files}
    for path in {*known, *now, "pkg", "pkg/local.py", "docs"}:
        part = walk(tree, max_file_bytes=LIMIT, under=[path], known=known)
        assert part == walk(tree, max_file_bytes=LIMIT, under=[path])


def test_a_saved_file_is_found_without_listing_what_lies_beside(tree, monkeypatch):
    known = {file.path: file.stamp for file in walk(tree, max_file_bytes=LIMIT).files}

    def paths(*_: object, **__: object) -> None:
        pytest.fail("asked the rules")

    monkeypatch.setattr(IgnoreRules, "paths", paths)
    part = walk(tree, max_file_bytes=LIMIT, under=["pkg/deep/c.py"], known=known)
    assert [file.path for file in part.files] == ["pkg/deep/c.py"]


def test_a_file_whose_name_changed_in_case_alone_has_its_new_name(tree, monkeypatch):
    known = {file.path: file.stamp for file in walk(tree, max_file_bytes=LIMIT).files}
    (tree / "pkg/b.py").rename(tree / "pkg/B.py")
    lstat = os.lstat

    def of_any_case(path: str | Path) -> os.stat_result:  # as macOS and Windows look names up
        return lstat(str(path).replace("/b.py", "/B.py"))

    monkeypatch.setattr(os, "lstat", of_any_case)
    scan = walk(tree, max_file_bytes=LIMIT, under={"pkg/b.py", "pkg/B.py"}, known=known)
    assert [file.path for file in scan.files] == ["pkg/B.py"]


def test_an_unreadable_folder_is_named(tree):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    quick, whole = rewalk(tree, lambda: (tree / "pkg/deep").chmod(0o000))
    (tree / "pkg/deep").chmod(0o755)
    assert quick.unreadable == whole.unreadable == ("pkg/deep",)


def test_many_new_files_are_all_seen(tree):
    def add() -> None:
        for number in range(2 * walk_module.MAX_STARTS):
            (tree / f"pkg/new{number}.py").write_text("x = 1\n")

    quick, whole = rewalk(tree, add)
    assert quick == whole
    assert len(quick.files) > walk_module.MAX_STARTS


def test_rules_that_hold_already_are_not_asked(tree):
    """The price of being quick: a rule from outside of the source waits for a whole walk."""
    exclude = tree / ".git/info/exclude"
    if not exclude.parent.is_dir():
        pytest.skip("it has no rules from outside")
    quick, whole = rewalk(tree, lambda: exclude.write_text("docs/\n"))
    assert "docs/readme.md" in {file.path for file in quick.files}
    assert "docs/readme.md" not in {file.path for file in whole.files}


def test_rules_behind_a_link_are_always_asked(tree):
    (tree / "docs" / "ignored.txt").write_text("nothing\n")
    (tree / "docs" / ".gitignore").symlink_to("ignored.txt")
    quick, whole = rewalk(tree, lambda: (tree / "docs" / "ignored.txt").write_text("*.md\n"))
    assert quick == whole
    assert "docs/readme.md" not in {file.path for file in quick.files}


def test_rules_above_a_source_without_a_repository_are_not_its_own(root, write):
    write("proj/pkg/a.py", "proj/pkg/b.log")
    write(".gitignore", text="*.log\n")
    part = walk(root / "proj", max_file_bytes=LIMIT, under=["pkg/b.log"])
    assert [file.path for file in part.files] == ["pkg/b.log"]


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("x = 1\n")


def _let_through(root: Path, folder: str) -> None:
    _write(root / folder / "x.py")
    (root / ".sidecarignore").write_text(f"!{folder}/\n")


def _swap_in_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside.py").write_text("x = 1\n")


def _swap_in_link(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")
