"""Scans a source again by an earlier scan, matching ignore rules only for paths that are new.

Matching rules is most of the cost of a walk. While no rule file of the source has changed, a path
that was not ignored is not ignored now. The caller checks the rules outside of the source
(`rules_elsewhere`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from memory_sidecar.core.model import SourceFile, Stamp
from memory_sidecar.core.opening import is_folder
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.rule_files import RULE_NAMES, folders_above, folders_of, rules_above

_OF_LINK: Stamp = (-1, -1, -1)
_CLOCK_NS = 10_000_000  # the one that stamps files ticks this slowly


class Recheck:
    """The files that exist now, found by listing every folder that holds files of `known`.

    Paths are relative to the source with `/`, but for `unreadable`, which are absolute.
    """

    def __init__(self, rules: IgnoreRules, known: Mapping[str, Stamp], *, at_most: int) -> None:
        """`known` are the stamps of an earlier walk by path; gives up at `at_most` unknown ones."""
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
        """Whether the result can be used; else rules have changed, or too much is new: walk."""
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
                    self.unknown.append(path)  # what that means is known to the walk
            waiting += self.folders[known_folders:]
            self._are_rules_new |= len(self.unknown) > at_most

    def _classify(self, path: str, entry: os.DirEntry[str]) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and path in self._known_folders:
            self.folders.append(path)
        elif path in self._known and not is_folder:
            status = entry.stat(follow_symlinks=False)
            # Of a link the stamp tells nothing about the rules that it leads to.
            is_link = stat.S_ISLNK(status.st_mode)
            if path in self._rule_files and not is_link and self._known[path] == _stamp(status):
                self._rule_files.remove(path)
            self.files.append((path, status))
        elif entry.name in RULE_NAMES:
            self._are_rules_new = True
        elif not self._rules.built_in_rule(entry.name, is_folder=is_folder):
            self.unknown.append(path)


def is_still_included(rules: IgnoreRules, known: Mapping[str, Stamp], path: str) -> bool:
    """Whether an earlier walk found `path`, and no rule file above it in the source has changed.

    `known` are the stamps of that walk for `path` and for `rules_above` it. Always False for a path
    in a repository below the root, which has rules of its own.
    """
    return (
        path in known
        and path.rpartition("/")[2] not in RULE_NAMES
        and not Path(_absolute(rules, path)).is_dir()
        and all(is_folder(_absolute(rules, folder)) for folder in folders_above(path))
        and not any(
            os.path.lexists(f"{_absolute(rules, folder)}{os.sep}.git")
            for folder in folders_above(path)
            if folder
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
    return _OF_LINK if stat.S_ISLNK(status.st_mode) else _stamp(status)


def _absolute(rules: IgnoreRules, path: str) -> str:
    return f"{rules.root}{os.sep}{path}" if path else rules.root


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
