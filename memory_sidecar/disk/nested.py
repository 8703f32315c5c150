"""Leaves out of a walk what the submodules' exclude files ignore, and worktrees of the repository.

The `ignore` crate takes every file `.git` for that of a worktree, which shares a git directory. It
finds no exclude file for a submodule, whose git directory is its own. So each path that the crate
lets through is matched with those excludes here.

A worktree of the source's own repository, as coding agents add them below it, is left out: it holds
the same files again, and an agent that works in it indexes it as a source of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.disk.rule_files import (
    OWN_FILE,
    excludes_of_submodule,
    find_rule_line,
    folders_up_to,
    last_match,
    repository_top,
    rule_place,
    rule_text,
    shared_git_dir,
    worktrees_git_dir,
)


class Nested:
    """Decides for one walk, which visits a folder before its files, what these rules leave out."""

    def __init__(self, root: str, start: str) -> None:
        """`start` is where the walk begins, in the source at `root`."""
        self._root = root
        self._worktrees_git_dir = worktrees_git_dir(root)
        top = repository_top(Path(start))
        self._excludes_by_folder = {start: None if top is None else _excludes_of(os.fspath(top))}

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Whether to leave the absolute `path` out of the walk; remembers it for what is inside."""
        excludes = self._excludes_by_folder.get(path.rpartition(os.sep)[0])
        leaves_out = excludes is not None and self._is_ignored(excludes, path, is_folder)
        is_top = is_folder and not leaves_out and os.path.lexists(f"{path}{os.sep}.git")
        if is_top and self._worktrees_git_dir and shared_git_dir(path) == self._worktrees_git_dir:
            leaves_out = True
        if is_folder and leaves_out:
            self._excludes_by_folder[path] = _EVERYTHING
        elif is_folder:
            self._excludes_by_folder[path] = _excludes_of(path) if is_top else excludes
        return leaves_out

    def _is_ignored(self, excludes: _Excludes, path: str, is_folder: bool) -> bool:
        if excludes is _EVERYTHING:
            return True
        top, whole = Path(excludes.top), Path(path)
        inside = whole.relative_to(top).as_posix()
        match = last_match(excludes.lines, inside, is_folder=is_folder)
        if match is None or not match[1]:
            return False
        # No stronger rule ignores it, or the walk would not visit it; but one may allow it.
        stronger = [
            rule_place(each, OWN_FILE, whole) for each in folders_up_to(Path(self._root), whole)
        ]
        stronger += [rule_place(each, ".gitignore", whole) for each in folders_up_to(top, whole)]
        return find_rule_line(stronger, is_folder=is_folder) is None


def worktree_around(root: Path, path: Path) -> Path | None:
    """Return the left-out worktree at or around `path` within the source at `root`, if any."""
    if path == root or not (own := worktrees_git_dir(os.fspath(root))):
        return None
    return next(
        (
            folder
            for folder in (path, *path.parents)[: len(path.relative_to(root).parts)]
            if shared_git_dir(os.fspath(folder)) == own
        ),
        None,
    )


@dataclass(frozen=True, slots=True)
class _Excludes:
    """The lines of a submodule's exclude file."""

    top: str
    lines: list[str]


_EVERYTHING = _Excludes("", [])


def _excludes_of(top: str) -> _Excludes | None:
    """Return the excludes that the crate misses at `top`; `None` for none."""
    file = excludes_of_submodule(top)
    lines = rule_text(*os.path.split(file)).splitlines() if file else []
    return _Excludes(top, lines) if lines else None
