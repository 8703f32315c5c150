"""Files of ignore rules that a walk may open: no device, no FIFO, none without end.

A link is followed within its own source only. The rules of a worktree or a submodule lie where its
file `.git` says.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.opening import FileRefused, Tree

OWN_FILE = ".sidecarignore"

RULE_FILES = frozenset({".gitignore", OWN_FILE})
"""Names of the files that say what is ignored in their folder, and below."""

MAX_RULES_BYTES = 1 << 20
MAX_RULES = 10_000  # of the costliest kind they take 120 MB
_UNCHECKED_BYTES = 8192  # too short for that
_POINTER_BYTES = 4096

_GIT = ".git"


def check_rules(folder: str, root: str) -> None:
    """Raise PathRefused unless the rules in `folder`, of the source at `root`, can be read."""
    for name in RULE_FILES:
        _check(f"{folder}{os.sep}{name}", within=root)
    git = f"{folder}{os.sep}{_GIT}"
    try:
        is_pointer = stat.S_ISREG(os.stat(git).st_mode)
    except OSError:
        return
    _check(os.path.join(_pointed_to(folder) if is_pointer else git, "info", "exclude"))


def check_rules_above(root: str) -> None:
    """The same for every folder above `root`."""
    for folder in Path(root).parents:
        check_rules(os.fspath(folder), os.fspath(folder))


def _check(path: str, *, within: str = "") -> None:
    """`within` is the folder that a link must not lead out of."""
    try:
        status = os.lstat(path)
    except OSError:
        return  # the walk cannot open it either
    if stat.S_ISLNK(status.st_mode):
        real = os.path.realpath(path)
        if within and not Path(real).is_relative_to(os.path.realpath(within)):
            raise _refused(path, reasons.LINK_OUT)
        _check(real)
    elif stat.S_ISREG(status.st_mode):
        if status.st_size > _UNCHECKED_BYTES:
            _check_content(path)
    elif not stat.S_ISDIR(status.st_mode):
        raise _refused(path, reasons.NOT_REGULAR)


def _check_content(path: str) -> None:
    folder, name = os.path.split(path)
    try:
        rules = Tree(folder).read(name, MAX_RULES_BYTES).count(b"\n")
    except FileRefused as refusal:
        raise _refused(path, refusal.reason) from refusal
    except OSError:
        return
    if rules > MAX_RULES:
        raise _refused(path, f"more than {MAX_RULES:,} rules")


def _pointed_to(folder: str) -> str:
    """The git directory that the file `.git` in `folder` names, or the one that it shares."""
    git = _content(folder, _GIT)
    git = os.path.join(folder, git.removeprefix("gitdir:").strip())
    shared = _content(git, "commondir")
    return os.path.join(git, shared.strip())


def _content(folder: str, name: str) -> str:
    """Of a file that holds one path; "" where there is none."""
    try:
        return os.fsdecode(Tree(folder).read(name, _POINTER_BYTES))
    except FileRefused as refusal:
        raise _refused(f"{folder}{os.sep}{name}", refusal.reason) from refusal
    except (OSError, ValueError):
        return ""


def _refused(path: str, reason: str) -> PathRefused:
    return PathRefused(
        f"{path} cannot be followed: {reason}", hint="put a file of rules there, or take it away"
    )
