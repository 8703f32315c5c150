"""Where the git repository of a folder keeps its objects, and at which commit it is.

Read from a few small files, without git and without its configuration, so that nothing a repository
names is run or followed. A `.git` that is a file counts only for what git itself makes of it: a
worktree, which its repository knows of, or a submodule, which lies inside of the one above.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.core.opening import Tree

_POINTER_BYTES = 4096
_PACKED_REFS_BYTES = 8 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"refs/(?:(?!\.\.)[\w.+/@-])+")


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository around a folder."""

    objects: Path
    head: str  # the commit it is at, 40 hexadecimal digits
    inside: str  # the folder, relative to the top of the working tree: "" or "src/app"


def repository_around(folder: Path) -> Repository | None:
    """That of the nearest `.git` at or above `folder`; `None` without one, or without a commit."""
    for top in (folder, *folder.parents):
        if os.path.lexists(top / ".git"):
            break
    else:
        return None
    try:
        git = _git_folder(top)
        if git is None:
            return None
        shared = _content(git, "commondir")
        common = Path(os.path.realpath(git / shared)) if shared else git
        head = _head(git, common)
    except (OSError, ValueError):
        return None
    inside = folder.relative_to(top).as_posix()
    return Repository(common / "objects", head, "" if inside == "." else inside) if head else None


def _git_folder(top: Path) -> Path | None:
    git = top / ".git"
    if git.is_symlink():
        return None
    if git.is_dir():
        return git
    named = _content(top, ".git")
    if not named.startswith("gitdir:"):
        return None
    pointed = Path(os.path.realpath(top / named.removeprefix("gitdir:").strip()))
    back = _content(pointed, "gitdir")
    is_worktree = bool(back) and os.path.realpath(pointed / back) == os.path.realpath(git)
    is_submodule = any(pointed.is_relative_to(each / ".git" / "modules") for each in top.parents)
    return pointed if is_worktree or is_submodule else None


def _head(git: Path, common: Path) -> str:
    """The commit that HEAD names, "" for none."""
    text = _content(git, "HEAD")
    if not text.startswith("ref:"):
        return text if _COMMIT.fullmatch(text) else ""
    branch = text.removeprefix("ref:").strip()
    if not _BRANCH.fullmatch(branch):
        return ""
    found = _content(common, branch) or _packed(common, branch)
    return found if _COMMIT.fullmatch(found) else ""


def _packed(common: Path, branch: str) -> str:
    try:
        lines = Tree(common).read("packed-refs", _PACKED_REFS_BYTES).decode("ascii", "replace")
    except FileNotFoundError:
        return ""
    for line in lines.splitlines():
        commit, _, name = line.partition(" ")
        if name == branch:
            return commit
    return ""


def _content(folder: Path, name: str) -> str:
    """Of a file that holds one line; "" where there is none."""
    try:
        return os.fsdecode(Tree(folder).read(name, _POINTER_BYTES)).strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
