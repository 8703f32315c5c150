"""The system's own notice of changes, behind one small interface.

Linux watches folder by folder, so that an ignored one costs nothing; elsewhere the system watches
a whole tree at once. Each is imported where it is used: watchdog takes longer than all the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

Report = Callable[[str], None]
"""Takes the path, relative to the root with `/`, that may have changed; "" for everything."""


class Observer(Protocol):
    """Reports changes directly inside of the folders that were added, on a thread of its own."""

    @property
    def is_reliable(self) -> bool:
        """False once events were lost, the root went away or a thread died: open another then."""

    @property
    def folders(self) -> frozenset[str]:
        """Those being observed, without such as were renamed or deleted since."""

    def add(self, folder: str) -> None:
        """Observe `folder`, relative to the root with `/`. Raises OSError where that is refused."""

    def discard(self, folder: str) -> None:
        """Observe `folder` no longer."""

    def close(self) -> None:
        """Report nothing more, and wait until all threads have ended."""


def open_observer(root: Path, report: Report) -> Observer:
    """The best observer for this system. Raises OSError where the system's limit is reached."""
    if sys.platform == "linux":
        from memory_sidecar.disk.inotify import InotifyObserver

        return InotifyObserver(root, report)
    from memory_sidecar.disk.tree_observer import TreeObserver

    return TreeObserver(root, report)
