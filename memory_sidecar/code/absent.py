"""Explains why there is no indexed file at a path, and finds which files may be meant by it."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from memory_sidecar.code.query_names import MAX_COMPARED, is_one_typo_apart
from memory_sidecar.code.results import Why
from memory_sidecar.core.results import ListedFile
from memory_sidecar.disk.rule_files import folders_above

NO_SUCH_FILE = "there is no such file"
MAX_ALIKE = 3
MIN_MISTYPED = 3  # letters of a name, without its suffix, that may be mistyped


def reason_in(why: Why, root: Path) -> str:
    """Return why a file of the source at `root` is not indexed; "" if it is, or is not there."""
    is_unread = why.fate not in ("absent", "indexed")
    return why.reason.replace(f"({root.as_posix()}/", "(") if is_unread else ""


def suggest_alike(files: Iterable[ListedFile], meant: Collection[tuple[str, str]]) -> str:
    """Return a hint naming those of `files` that are called most like one of `meant`, or "".

    `meant`: pairs of a source and a path in it; one whose name has no suffix may be a folder's.
    Equal names come before those a typo apart, these before those with another suffix, and those
    in the same folder before others.
    """
    wanted = [(source, path, name_of(path)) for source, path in meant]
    may_be_folder = any("." not in name for _, _, name in wanted)
    known = {(file.source, file.path) for file in files}
    if may_be_folder:
        known |= {(source, above) for source, path in known for above in folders_above(path)}
    known -= {*meant, *((source, "") for source, _ in known)}
    ranks: dict[str, tuple[int, bool]] = {}  # two worktrees of a repository have the same paths
    for source, path in known:
        called = name_of(path)
        for at, other, name in wanted:
            if source == at and (unlike := _unlikeness(called, name)) is not None:
                rank = unlike, _folder_of(path) != _folder_of(other)
                ranks[path] = min(rank, ranks.get(path, rank))
    shown = ", ".join(sorted(ranks, key=lambda path: (ranks[path], path))[:MAX_ALIKE])
    return f"there is {shown}" if shown else ""


def nearest_path(starts: Iterable[str], paths: Sequence[str]) -> str:
    """Return that of `paths`, or of their folders, most like one of `starts`; "" for none."""
    folders = {path[: at + 1] for path in paths for at, letter in enumerate(path) if letter == "/"}
    known = [*sorted(folders), *paths][:MAX_COMPARED]
    for start in filter(None, starts):
        if like := get_close_matches(start, known, n=1):
            return like[0]
    return ""


def normalized(path: str) -> str:
    """Return `path` case-folded, in the same Unicode form on every system."""
    return unicodedata.normalize("NFC", path).casefold()


def name_of(path: str) -> str:
    """Return the last part of `path`, normalized."""
    return normalized(path.rpartition("/")[2])


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _unlikeness(called: str, name: str) -> int | None:
    """Return how little two names are alike, 0 for equal ones; `None` if they are not.

    Names as short as `a.py` must be equal, and only a longer one is known by its stem alone.
    """
    stem = name.partition(".")[0]
    if called == name:
        return 0
    if len(stem) < MIN_MISTYPED:
        return None
    if is_one_typo_apart(called, name):
        return 1
    return 2 if called.partition(".")[0] == stem else None
