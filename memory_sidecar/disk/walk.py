"""Scans a source: lists its files with the `lstat` of each, without opening any.

Ignored paths are left out; all other files are listed, those to be skipped with a reason.
Folders that could not be listed are reported, because a file counts as gone only if its folder was
listed without it.

Matching rules is most of the cost of a walk. While no rule file of the source has changed since an
earlier scan, a path that was not ignored is not ignored now, and rules are matched only for paths
that are new: see `Recheck`. The caller checks the rules outside of the source (`rules_elsewhere`).
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path, PurePosixPath

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.model import Scan, SourceFile, Stamp, stamp_of
from memory_sidecar.core.opening import escape_bytes, is_folder, is_utf8, real_path, with_separator
from memory_sidecar.disk.ignores import IgnoreRules, is_left_out
from memory_sidecar.disk.read import size_limit, skip_as_secret, skip_by_name
from memory_sidecar.disk.roots import check_root
from memory_sidecar.disk.rule_files import RULE_NAMES, folders_above, folders_of, rules_above

_OF_LINK: Stamp = (-1, -1, -1)
_CLOCK_NS = 10_000_000  # the clock that stamps files ticks this slowly
MAX_STARTS = 100  # listing so many folders costs about as much as walking 5,000 files


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
    unless a rule file of the source has changed.

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
        # On a case-insensitive file system, a renamed file is still found by its old name. If two
        # names differ in case alone, only a listing tells which one the file has.
        named = Counter(map(str.casefold, wanted))
        included = {
            path
            for path in wanted
            if known and named[path.casefold()] == 1 and is_still_included(rules, known, path)
        }
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


class Recheck:
    """The files that exist now, found by listing every folder that holds files of `known`.

    Paths are relative to the source with `/`, but for `unreadable`, which are absolute.
    """

    def __init__(self, rules: IgnoreRules, known: Mapping[str, Stamp], *, at_most: int) -> None:
        """`known`: the stamps of an earlier walk. Gives up beyond `at_most` unknown ones."""
        self.files: list[tuple[str, os.stat_result]] = []
        self.folders: list[str] = []
        self.unreadable: list[str] = []
        self.unknown: list[str] = []  # new, or ignored; nothing below them was looked at
        self._rules = rules
        self._known = known
        self._known_folders = folders_of(known)
        self._rule_files = {path for path in known if path.rpartition("/")[2] in RULE_NAMES}
        self._are_rules_new = False
        self._list_folders(at_most)

    @property
    def is_enough(self) -> bool:
        """Whether the result can be used: no rules have changed, and not too much is new."""
        return not self._are_rules_new and not self._rule_files

    def _list_folders(self, at_most: int) -> None:
        waiting = [""]
        while waiting and not self._are_rules_new:
            folder = waiting.pop()
            known_folders = len(self.folders)
            absolute = _absolute(self._rules, folder)
            try:
                with os.scandir(absolute) as listing:
                    entries = list(listing)
            except (FileNotFoundError, NotADirectoryError):
                continue  # went away since it was listed
            except OSError:
                self.unreadable.append(absolute)
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                try:
                    self._classify(path, entry)
                except OSError:
                    self.unknown.append(path)  # the walk decides what that means
            waiting += self.folders[known_folders:]
            self._are_rules_new |= len(self.unknown) > at_most

    def _classify(self, path: str, entry: os.DirEntry[str]) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and path in self._known_folders and not is_left_out(entry.path):
            self.folders.append(path)
        elif path in self._known and not is_folder:
            status = entry.stat(follow_symlinks=False)
            # The stamp of a link tells nothing about the rules that it leads to.
            is_link = stat.S_ISLNK(status.st_mode)
            if path in self._rule_files and not is_link and self._known[path] == stamp_of(status):
                self._rule_files.remove(path)
            self.files.append((path, status))
        elif entry.name in RULE_NAMES:
            self._are_rules_new = True
        elif not self._rules.built_in_rule(entry.name, is_folder=is_folder):
            self.unknown.append(path)


def is_still_included(rules: IgnoreRules, known: Mapping[str, Stamp], path: str) -> bool:
    """Whether an earlier walk found `path`, and no rule file above it in the source has changed.

    `known` are the stamps of that walk for `path` and for `rules_above` it. Always False for a path
    in a repository below the root, which has rules of its own, and in a folder of a data directory.
    """
    return (
        path in known
        and path.rpartition("/")[2] not in RULE_NAMES
        and not os.path.isdir(_absolute(rules, path))  # noqa: PTH112  it never raises
        and all(is_folder(_absolute(rules, folder)) for folder in folders_above(path))
        and not any(
            os.path.lexists(f"{absolute}{os.sep}.git") or is_left_out(absolute)
            for absolute in (_absolute(rules, folder) for folder in folders_above(path) if folder)
        )
        and all(known.get(rule) == _stamp_at(rules, rule) for rule in rules_above([path]))
    )


def were_rules_written(files: Iterable[SourceFile], since_ns: int) -> bool:
    """Whether a rule file among `files` was written since `since_ns`, when the scan began."""
    return any(
        file.ctime_ns >= since_ns - _CLOCK_NS and file.path.rpartition("/")[2] in RULE_NAMES
        for file in files
    )


def _stamp_at(rules: IgnoreRules, path: str) -> Stamp | None:
    """Return the stamp of a file, `_OF_LINK` for a link, and `None` if there is neither."""
    try:
        status = os.lstat(_absolute(rules, path))
    except OSError:
        return None
    return _OF_LINK if stat.S_ISLNK(status.st_mode) else stamp_of(status)


def _absolute(rules: IgnoreRules, path: str) -> str:
    return f"{rules.root}{os.sep}{path}" if path else rules.root
