"""Whether the package on disk is still the one that this process runs.

`git pull` in a checkout replaces it under a daemon, which would go on with some modules of before
and import others as they are now.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
LOOK_EVERY_S = 2.0


class OwnCode:
    """The modules of `package` as they are when this is made."""

    def __init__(self, package: Path = PACKAGE) -> None:
        self._package = package
        self._began = _stamps(os.fspath(package))
        self._looked_at = time.monotonic()
        self._is_replaced = False

    @property
    def is_replaced(self) -> bool:
        """Whether any of them is another by now; what is LOOK_EVERY_S old still counts."""
        if not self._is_replaced and time.monotonic() - self._looked_at > LOOK_EVERY_S:
            self._is_replaced = _stamps(os.fspath(self._package)) != self._began
            self._looked_at = time.monotonic()
        return self._is_replaced


def _stamps(folder: str) -> set[tuple[str, int, int]]:
    """Path, size and time of each module below `folder`. A client waits the millisecond."""
    found = set()
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # it is being replaced right now
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    found.add((entry.path, status.st_size, status.st_mtime_ns))
                elif entry.is_dir() and entry.name != "__pycache__":
                    found |= _stamps(entry.path)
    return found
