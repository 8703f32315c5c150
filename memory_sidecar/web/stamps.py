"""Modification times and sizes of files, by which a view sees whether to read them again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Stamp = tuple[int, int]
"""Modification time in ns and size in bytes; both 0 for a missing file."""


def stamps_of(files: Iterable[Path]) -> dict[str, Stamp]:
    """Return the stamp of each of `files`, by path."""
    stamps = {}
    for file in files:
        stamps[str(file)] = (0, 0)
        with suppress(OSError):
            status = file.stat()
            stamps[str(file)] = (status.st_mtime_ns, status.st_size)
    return stamps


def stamps_within(folders: Iterable[Path]) -> dict[str, Stamp]:
    """Return the stamp of each direct entry of `folders`, by path."""
    stamps = {}
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                stamps[entry.path] = (status.st_mtime_ns, status.st_size)
    return stamps
