"""Whether the package on disk is still the one that this process runs.

`git pull` in a checkout replaces it under a running daemon, which would then mix old modules with
newly imported ones.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
LOOK_EVERY_S = 2.0


class OwnCode:
    """Remembers the modules of `package` as of its creation; the server asks `is_replaced`."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self._package = package
        self._began = _stamps(os.fspath(package))
        self._looked_at = time.monotonic()
        self._is_replaced = False

    @property
    def is_replaced(self) -> bool:
        """Whether any module has changed since. Looks at most every LOOK_EVERY_S."""
        if not self._is_replaced and time.monotonic() - self._looked_at > LOOK_EVERY_S:
            self._is_replaced = _stamps(os.fspath(self._package)) != self._began
            self._looked_at = time.monotonic()
        return self._is_replaced


def _stamps(folder: str) -> set[tuple[str, int, int]]:
    """Return path, size and mtime of each module below `folder`. Takes a client's millisecond."""
    found = set()
    # An entry, or all of it, is being replaced, or was removed, as by an upgrade to another Python.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.add((entry.path, status.st_size, status.st_mtime_ns))
                elif entry.is_dir() and entry.name != "__pycache__":
                    found |= _stamps(entry.path)
    return found
