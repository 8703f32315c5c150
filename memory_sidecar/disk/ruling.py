"""Which rule keeps a path of a source from being looked at: its file, line and pattern.

The walk alone decides whether a path is ignored; this reads the same rules again, in the order of
`ignores`, to say why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pathspec import GitIgnoreSpec

from memory_sidecar.core.results import about
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.rule_files import OWN_FILE, folders_above, rule_text, user_excludes

BUILT_IN, EXCLUDE = "built in", "--exclude"


@dataclass(frozen=True, slots=True)
class Rule:
    """What an ignored path owes that to."""

    file: Annotated[str, about("absolute; `built in`, or `--exclude` of the source")]
    line: Annotated[int, about("from 1; 0 where it stands in no file")]
    pattern: str
    path: Annotated[str, about("what it ignores: the path, or a folder above it")]

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.pattern} ({where})"


def rule_for(root: Path, path: str, *, is_folder: bool, excludes: tuple[str, ...]) -> Rule | None:
    """The rule that ignores `path`, relative to the source at `root`, or a folder above it."""
    rules = IgnoreRules(os.fspath(root), excludes)
    above = sorted((folder for folder in folders_above(path) if folder), key=len)
    for part, part_is_folder in (*((folder, True) for folder in above), (path, is_folder)):
        if found := _of(root, part, is_folder=part_is_folder, excludes=excludes, rules=rules):
            return found
        if found := _of_git(root, part, is_folder=part_is_folder):
            return found
    return None


def _of(
    root: Path, path: str, *, is_folder: bool, excludes: tuple[str, ...], rules: IgnoreRules
) -> Rule | None:
    """The rules that no file of git holds."""
    name = PurePosixPath(path).name
    if rules.is_built_in(name, is_folder=is_folder):
        return Rule(BUILT_IN, 0, f"{name}/" if is_folder else name, path)
    globs = [glob for glob in excludes if not glob.startswith("!")]
    if (found := _last_match(globs, path, is_folder=is_folder)) and found[1]:
        return Rule(EXCLUDE, 0, globs[found[0]], path)
    if is_folder and name.endswith(".egg-info"):  # the only built-in one that is no plain name
        return Rule(BUILT_IN, 0, "*.egg-info/", path)
    own = [_place(folder, OWN_FILE, root / path) for folder in _folders(root, path)]
    return _in_files(own, path, is_folder)


def _of_git(root: Path, path: str, *, is_folder: bool) -> Rule | None:
    folders = list(_folders(root, path))
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is not None:
        folders += [folder for folder in root.parents if folder.is_relative_to(top)]
    files = [_place(folder, ".gitignore", root / path) for folder in folders]
    beside = [_place(top, ".git/info/exclude", root / path)] if top is not None else []
    own = [(*os.path.split(user_excludes()[0]), path)]
    found = (_in_files(each, path, is_folder) for each in (files, beside, own))
    return next(filter(None, found), None)


_Place = tuple[str, str, str]
"""A folder, a file of rules in it, and the path that they are asked about as they name it."""


def _place(folder: Path, name: str, whole: Path) -> _Place:
    return os.fspath(folder), name, whole.relative_to(folder).as_posix()


def _in_files(files: Iterable[_Place], path: str, is_folder: bool) -> Rule | None:
    """What the first of `files` that says anything of `path` says."""
    for folder, name, inside in files:
        lines = rule_text(folder, name).splitlines()
        match = _last_match(lines, inside, is_folder=is_folder)
        if match is not None:
            index, ignores = match
            file = os.fspath(Path(folder) / name)
            return Rule(file, index + 1, lines[index].strip(), path) if ignores else None
    return None


def _folders(root: Path, path: str) -> Iterator[Path]:
    """Those that may hold rules for `path`, innermost first, up to the source's own."""
    for folder in PurePosixPath(path).parents:
        yield root / folder


def _last_match(lines: list[str], path: str, *, is_folder: bool) -> tuple[int, bool] | None:
    """The index of the line that decides on `path`, and whether it ignores it."""
    if not lines:
        return None
    found = GitIgnoreSpec.from_lines(lines).check_file(f"{path}/" if is_folder else path)
    if found.include is None or found.index is None:
        return None
    return found.index, found.include
