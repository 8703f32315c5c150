"""What the files of rules say of a path, and the exclude file of a submodule in the walk.

The git directory that the file `.git` of a submodule names is its own. The crate that walks asks
every such file for the one that a worktree shares, and finds no exclude file where that is missing.
So what it lets through is asked about once more here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from memory_sidecar.disk.rule_files import OWN_FILE, excludes_of_submodule, rule_text

Place = tuple[str, str, str]
"""A folder, a file of rules in it, and the path that they are asked about as they name it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a line of a file of rules says of a path."""

    file: str
    line: int  # from 1
    pattern: str
    ignores: bool


def said(places: Iterable[Place], *, is_folder: bool) -> Said | None:
    """By the first of `places` that says anything of its path."""
    for folder, name, path in places:
        lines = rule_text(folder, name).splitlines()
        if match := last_match(lines, path, is_folder=is_folder):
            index, ignores = match
            return Said(f"{folder}{os.sep}{name}", index + 1, lines[index].strip(), ignores)
    return None


def last_match(lines: list[str], path: str, *, is_folder: bool) -> tuple[int, bool] | None:
    """The index of the line that decides on `path`, and whether it ignores it."""
    if not lines:
        return None
    found = GitIgnoreSpec.from_lines(lines).check_file(f"{path}/" if is_folder else path)
    if found.include is None or found.index is None:
        return None
    return found.index, found.include


def place(folder: Path, name: str, path: Path) -> Place:
    return os.fspath(folder), name, path.relative_to(folder).as_posix()


def up_to(top: Path, path: Path) -> Iterator[Path]:
    """The folders that `path` lies in, innermost first, up to `top`."""
    for folder in path.parents:
        yield folder
        if folder == top:
            return


def repository_top(folder: Path) -> Path | None:
    """The nearest at or above `folder` that holds a repository."""
    folders = (folder, *folder.parents)
    return next((each for each in folders if os.access(each / ".git", os.F_OK)), None)


class Submodules:
    """Tells of one walk, which shows a folder before what lies in it, what they leave out."""

    def __init__(self, root: str, start: str) -> None:
        """`start` is where the walk begins, in the source at `root`."""
        self._root = root
        top = repository_top(Path(start))
        self._of = {start: None if top is None else _excludes_of(os.fspath(top))}

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        excludes = self._of.get(path.rpartition(os.sep)[0])
        leaves_out = excludes is not None and self._are_obeyed(excludes, path, is_folder)
        if is_folder and leaves_out:
            self._of[path] = _EVERYTHING
        elif is_folder:
            is_top = os.path.lexists(f"{path}{os.sep}.git")
            self._of[path] = _excludes_of(path) if is_top else excludes
        return leaves_out

    def _are_obeyed(self, excludes: _Excludes, path: str, is_folder: bool) -> bool:
        if excludes is _EVERYTHING:
            return True
        top, whole = Path(excludes.top), Path(path)
        inside = whole.relative_to(top).as_posix()
        match = last_match(excludes.lines, inside, is_folder=is_folder)
        if match is None or not match[1]:
            return False
        # Nothing stronger ignores it, as the walk shows it, but it may be allowed.
        stronger = [place(each, OWN_FILE, whole) for each in up_to(Path(self._root), whole)]
        stronger += [place(each, ".gitignore", whole) for each in up_to(top, whole)]
        return said(stronger, is_folder=is_folder) is None


@dataclass(frozen=True, slots=True)
class _Excludes:
    """The lines of a submodule's exclude file."""

    top: str
    lines: list[str]


_EVERYTHING = _Excludes("", [])


def _excludes_of(top: str) -> _Excludes | None:
    """`None` where there are none, or the crate finds them."""
    file = excludes_of_submodule(top)
    lines = rule_text(*os.path.split(file)).splitlines() if file else []
    return _Excludes(top, lines) if lines else None
