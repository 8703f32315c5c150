"""Notices changed files by their stamps, and caches what was made of files until they change."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from memory_sidecar.core.model import stamp_of

T = TypeVar("T")

Stamp = tuple[int, ...]
"""Size in bytes and mtime in ns of a file; both 0 for a missing one.

Without its ctime: SQLite changes the owner of a log as it opens it, if run by root.
"""


def stamps_of(files: Iterable[Path]) -> dict[str, Stamp]:
    """Return the stamp of each of `files`, by path."""
    stamps: dict[str, Stamp] = {}
    for file in files:
        stamps[str(file)] = (0, 0)
        with suppress(OSError):
            stamps[str(file)] = stamp_of(file.stat())[:2]
    return stamps


def stamps_within(folders: Iterable[Path]) -> dict[str, Stamp]:
    """Return the stamp of each direct entry of `folders`, by path."""
    stamps: dict[str, Stamp] = {}
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                stamps[entry.path] = stamp_of(entry.stat(follow_symlinks=False))[:2]
    return stamps


class StampedCache(Generic[T]):
    """Values by key, each kept while the files that it was made of have the same stamps.

    Thread-safe.
    """

    def __init__(self, most: int) -> None:
        """`most`: how many keys are kept; one more makes the cache forget them all."""
        self._most = most
        self._known: dict[Hashable, tuple[object, T]] = {}

    def find(self, key: Hashable, stamp: object) -> T | None:
        """Return the value that was kept under `key` with the same `stamp`; None without one."""
        known = self._known.get(key)
        return known[1] if known is not None and known[0] == stamp else None

    def keep(self, key: Hashable, stamp: object, value: T) -> T:
        """Keep `value` under `key`, and return it."""
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = (stamp, value)
        return value
