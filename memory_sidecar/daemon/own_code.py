"""Whether the package on disk is still the one that this process runs.

`git pull` in a checkout, or an upgrade, replaces it under a running daemon, which would then mix
old modules with newly imported ones.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
LOOK_EVERY_S = 2.0


class OwnCode:
    """Remembers the modules of `package` as of its creation. Used by one thread."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self._package = os.fspath(package)
        self._began = _stamps(self._package)
        self._seen, self._has_settled = self._began, True
        self._folders = {Path(path).parent for path, _, _ in self._began}
        self._changes = self._folder_times()
        self._looked_at = time.monotonic()
        self._is_replaced = False

    @property
    def is_replaced(self) -> bool:
        """Whether any module has changed since.

        New, removed and renamed files are noticed at once; files that were written in place, as
        some editors do, within LOOK_EVERY_S.
        """
        if not self._is_replaced and (self._is_due or self._has_moved):
            self._look()
        return self._is_replaced

    @property
    def is_replaced_whole(self) -> bool:
        """Whether the code is replaced, and no module has changed any more for LOOK_EVERY_S.

        An idle process may ask every second: files written in place are left to `is_replaced`.
        """
        if self._is_due if self._is_replaced else self._has_moved:
            self._look()
        return self._is_replaced and self._has_settled

    @property
    def _is_due(self) -> bool:
        return time.monotonic() - self._looked_at > LOOK_EVERY_S

    @property
    def _has_moved(self) -> bool:
        """Whether an entry of a folder came, went or was renamed since the last look."""
        return self._folder_times() != self._changes

    def _look(self) -> None:
        before, self._seen = self._seen, _stamps(self._package)
        self._has_settled = self._seen == before
        self._is_replaced = self._is_replaced or self._seen != self._began
        self._changes = self._folder_times()
        self._looked_at = time.monotonic()

    def _folder_times(self) -> dict[Path, int]:
        """Return the mtime in ns of each folder that still exists. Takes 0.1 ms."""
        found = {}
        for folder in self._folders:
            with suppress(OSError):
                found[folder] = folder.stat().st_mtime_ns
        return found


def _stamps(folder: str) -> set[tuple[str, int, int]]:
    """Return path, size and mtime of each module below `folder`. Takes two milliseconds."""
    found = set()
    # An entry or the whole folder may be gone, as while an upgrade replaces it.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.add((entry.path, status.st_size, status.st_mtime_ns))
                elif entry.is_dir() and entry.name != "__pycache__":
                    found |= _stamps(entry.path)
    return found
