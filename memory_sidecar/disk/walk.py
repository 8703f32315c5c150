"""Scans a source: lists its files with the `lstat` of each, without opening any.

Ignored paths are left out; all other files are listed, with a reason those that are to be skipped.
Folders that could not be listed are reported, because a file counts as gone only if its folder was
listed without it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.model import Scan, SourceFile, Stamp
from memory_sidecar.core.opening import (
    escape_bytes,
    is_folder,
    is_utf8,
    real_path,
    with_separator,
)
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.read import size_limit, skip_as_secret, skip_by_name
from memory_sidecar.disk.recheck import Recheck, is_still_included
from memory_sidecar.disk.rule_files import check_root, folders_above

MAX_STARTS = 100  # as many folders to list cost about as much as a walk of 5,000 files


def walk(
    root: Path,
    *,
    max_file_bytes: int,
    excludes: tuple[str, ...] = (),
    under: Iterable[str] | None = None,
    known: Mapping[str, Stamp] | None = None,
) -> Scan:
    """Scan the source at `root`, or only what is at and below the paths `under`.

    A path in `under` is relative and may be a file, a folder, ignored or gone: the scan holds
    what a scan of everything would hold there. Folders above are read only as far as their rules
    need. With `known`, the stamps of an earlier scan, rules are not matched again for known paths
    unless a rule file of the source has changed: see `recheck`.

    Raises NotFound if `root` does not exist, PathRefused if it is no folder, cannot be listed,
    or a path in `under` leaves it, UsageError for an exclude that is no glob.
    """
    top = os.fspath(root.absolute())
    check_root(top)
    rules = IgnoreRules(top, excludes)
    collector = _Collector(top, max_file_bytes, rules.is_asked_for)
    wanted = frozenset([""]) if under is None else _outermost(under)
    if "" in wanted:
        collector.folders.append("")
        paths = rules.paths(top, collector.unreadable)
        if known and rules.can_start_below:
            recheck = Recheck(rules, known, at_most=MAX_STARTS)
            if recheck.is_enough:
                collector.add_recheck(recheck)
                paths = _below(frozenset(recheck.unknown), rules, collector.unreadable)
    elif rules.can_start_below and len(wanted) <= MAX_STARTS:
        included = {path for path in wanted if known and is_still_included(rules, known, path)}
        paths = chain(
            (with_separator(rules.root) + path for path in included),
            _below(wanted - included, rules, collector.unreadable),
        )
    else:  # many starts cost more than one walk of everything
        paths = _within(wanted, rules, collector.unreadable)
    for path in paths:
        collector.add(path)
    return collector.scan()


class _Collector:
    """Turns absolute paths into the parts of a `Scan`."""

    def __init__(self, top: str, max_file_bytes: int, is_asked_for: Callable[[str], bool]) -> None:
        self.files: list[SourceFile] = []
        self.folders: list[str] = []
        self.unreadable: list[str] = []  # absolute
        self._top = top
        self._real_top = os.path.realpath(top)
        self._max_file_bytes = max_file_bytes
        self._is_asked_for = is_asked_for

    def add(self, path: str) -> None:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return  # went away since it was listed
        except OSError:
            self.unreadable.append(path.rpartition(os.sep)[0])
            return
        relative = _relative(path, self._top)
        if not stat.S_ISDIR(status.st_mode):
            self._add_file(path, relative, status)
        elif is_utf8(relative):
            self.folders.append(relative)

    def add_recheck(self, recheck: Recheck) -> None:
        self.folders += recheck.folders
        self.unreadable += recheck.unreadable
        prefix = with_separator(self._top)
        for relative, status in recheck.files:
            self._add_file(prefix + relative, relative, status)

    def _add_file(self, path: str, relative: str, status: os.stat_result) -> None:
        self.files.append(
            SourceFile.of(
                escape_bytes(relative),
                status,
                skip_reason=self._skip_reason(path, relative, status),
                is_asked_for=is_utf8(relative) and self._is_asked_for(relative),
            )
        )

    def scan(self) -> Scan:
        return Scan(
            files=tuple(sorted(self.files, key=lambda file: file.path)),
            folders=tuple(sorted(self.folders)),
            unreadable=tuple(
                sorted({escape_bytes(_relative(path, self._top)) for path in self.unreadable})
            ),
        )

    def _skip_reason(self, path: str, relative: str, status: os.stat_result) -> str:
        if stat.S_ISLNK(status.st_mode):
            target = real_path(path)
            is_inside = with_separator(target).startswith(with_separator(self._real_top))
            return reasons.SYMBOLIC_LINK if is_inside else reasons.LINK_OUT
        if not stat.S_ISREG(status.st_mode):
            return reasons.NOT_REGULAR
        if not is_utf8(relative):
            return reasons.NAME_NOT_UTF8
        if (reason := skip_as_secret(relative)) and not self._is_asked_for(relative):
            return reason
        if reason := skip_by_name(relative.rpartition("/")[2]):
            return reason
        limit = size_limit(relative, self._max_file_bytes)
        if status.st_size > limit:
            return reasons.larger_than(limit)
        return "" if status.st_size else reasons.EMPTY


def _outermost(under: Iterable[str]) -> frozenset[str]:
    """Return the paths `under`, normalised, without those that lie below another one."""
    paths = {normalised(path) for path in under}
    return frozenset(path for path in paths if paths.isdisjoint(folders_above(path)))


def normalised(path: str) -> str:
    """Return the relative `path` with `/`. Raises PathRefused if it may leave its root."""
    parts = PurePosixPath(path.replace(os.sep, "/"))
    if parts.is_absolute() or ".." in parts.parts:
        raise PathRefused(f"{path!r} leaves its root", hint="name it relative to the root")
    return "" if parts == PurePosixPath() else str(parts)


def _below(wanted: frozenset[str], rules: IgnoreRules, unreadable: list[str]) -> Iterator[str]:
    """Yield the absolute paths at and below `wanted`, listing only the folders on the way."""
    listings: dict[str, frozenset[str]] = {}

    def is_listed(path: str) -> bool:
        folder = os.fspath(Path(path).parent)
        if folder not in listings:
            if folder != rules.root and not (is_listed(folder) and is_folder(folder)):
                listings[folder] = frozenset()
            else:
                listings[folder] = frozenset(rules.paths(folder, unreadable, max_depth=1))
        return path in listings[folder]

    for relative in wanted:
        path = with_separator(rules.root) + relative
        if is_listed(path):
            yield path
            if is_folder(path):
                yield from rules.paths(path, unreadable)


def _within(wanted: frozenset[str], rules: IgnoreRules, unreadable: list[str]) -> Iterator[str]:
    """Yield the absolute paths at and below `wanted`, by walking the whole source."""
    for path in rules.paths(rules.root, unreadable):
        relative = _relative(path, rules.root)
        if relative in wanted or not wanted.isdisjoint(folders_above(relative)):
            yield path


def _relative(path: str, top: str) -> str:
    relative = path[len(top) :].lstrip(os.sep)
    return relative if os.sep == "/" else relative.replace(os.sep, "/")
