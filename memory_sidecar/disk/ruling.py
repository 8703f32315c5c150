"""Finds the rule that ignores a path of a source: its file, line and pattern.

Only the walk decides whether a path is ignored. This module reads the same rules again, in the
order that `ignores` describes, to explain that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated

from memory_sidecar.core.results import about
from memory_sidecar.disk.ignores import IgnoreRules, is_left_out, is_own_folder, worktree_around
from memory_sidecar.disk.rule_files import (
    OWN_FILE,
    RulePlace,
    find_rule_line,
    folders_above,
    folders_up_to,
    git_excludes,
    last_match,
    repository_top,
    rule_place,
    user_excludes,
)

BUILT_IN, EXCLUDE, SETTING = "built in", "--exclude", "the setting excludes"
WORKTREE = "a worktree of the same repository"
OWN_FOLDER = "a data directory"
GIT_FOLDER = "a bare repository"

Excludes = Mapping[str, Sequence[str]]
"""Globs as in a `.gitignore` at the root of the source, by what excludes them: EXCLUDE, SETTING."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule that ignores a path."""

    file: Annotated[str, about("absolute; or `built in`, `--exclude`, what it is instead")]
    line: Annotated[int, about("from 1; 0 where it stands in no file")]
    pattern: str
    path: Annotated[str, about("what it ignores: the path, or a folder above it")]

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.pattern} ({where})"


def rule_for(root: Path, path: str, *, is_folder: bool, excludes: Excludes) -> Rule | None:
    """Return the rule that ignores `path`, relative to `root`, or a folder above it, if any."""
    rules = IgnoreRules(os.fspath(root), tuple(chain.from_iterable(excludes.values())))
    above = sorted((folder for folder in folders_above(path) if folder), key=len)
    for part, part_is_folder in (*((folder, True) for folder in above), (path, is_folder)):
        if found := _own_rule(root, part, is_folder=part_is_folder, excludes=excludes, rules=rules):
            return found
        if part_is_folder and is_left_out(folder := os.fspath(root / part)):
            what = OWN_FOLDER if is_own_folder(folder) else GIT_FOLDER
            return Rule(what, 0, f"{PurePosixPath(part).name}/", part)
        if found := _git_rule(root, part, is_folder=part_is_folder):
            return found
    if worktree := worktree_around(root, root / path):
        inside = worktree.relative_to(root).as_posix()
        return Rule(WORKTREE, 0, f"{inside}/", inside)
    return None


def _own_rule(
    root: Path, path: str, *, is_folder: bool, excludes: Excludes, rules: IgnoreRules
) -> Rule | None:
    """Return the built-in rule, exclude or line of a `.sidecarignore` that ignores `path`."""
    name = PurePosixPath(path).name
    if built_in := rules.built_in_rule(name, is_folder=is_folder):
        return Rule(BUILT_IN, 0, built_in, path)
    for by, given in excludes.items():
        globs = [glob for glob in given if not glob.startswith("!")]
        if (found := last_match(globs, path, is_folder=is_folder)) and found[1]:
            return Rule(by, 0, globs[found[0]], path)
    if is_folder and name.endswith(".egg-info"):  # a built-in glob of folders
        return Rule(BUILT_IN, 0, "*.egg-info/", path)
    whole = root / path
    return _first_rule(
        (rule_place(each, OWN_FILE, whole) for each in folders_up_to(root, whole)), path, is_folder
    )


def _git_rule(root: Path, path: str, *, is_folder: bool) -> Rule | None:
    """Return the line of a `.gitignore` or an exclude file of git that ignores `path`."""
    whole = root / path
    top = repository_top(whole.parent)
    places = [rule_place(each, ".gitignore", whole) for each in folders_up_to(top or root, whole)]
    if top is not None and (beside := git_excludes(os.fspath(top))):
        places.append((*os.path.split(os.path.realpath(beside)), whole.relative_to(top).as_posix()))
    places.append((*os.path.split(user_excludes()[0]), path))
    return _first_rule(places, path, is_folder)


def _first_rule(places: Iterable[RulePlace], path: str, is_folder: bool) -> Rule | None:
    found = find_rule_line(places, is_folder=is_folder)
    return Rule(found.file, found.line, found.pattern, path) if found and found.ignores else None
