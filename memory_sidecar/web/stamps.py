"""When files were written, and how large they are: what a view asks before it reads them again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Stamp = tuple[int, int]
"""Time in ns, size in bytes; both 0 for what is not there."""


def stamps_of(files: Iterable[Path]) -> dict[str, Stamp]:
    """The stamp of each of `files`, by its path."""
    stamps = {}
    for file in files:
        stamps[str(file)] = (0, 0)
        with suppress(OSError):
            status = file.stat()
            stamps[str(file)] = (status.st_mtime_ns, status.st_size)
    return stamps


def stamps_within(folders: Iterable[Path]) -> dict[str, Stamp]:
    """The stamp of each entry of `folders`, by its path; what lies deeper has none."""
    stamps = {}
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                stamps[entry.path] = (status.st_mtime_ns, status.st_size)
    return stamps
