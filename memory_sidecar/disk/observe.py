"""The system's own notice of changes, behind one small interface.

Linux watches folder by folder, so that an ignored one costs nothing; elsewhere the system watches
a whole tree at once. Each is imported where it is used: watchdog takes longer than all the rest.
"""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
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


# https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
_TABLE = "/proc/self/mountinfo"
_ESCAPES = {ord(letter): f"\\{ord(letter):03o}" for letter in " \t\n\\"}


def mounted_in(root: Path) -> str:
    """What is mounted below `root`, on Linux: the folder that a mount covers hears of nothing."""
    inside = " " + f"{root}/".translate(_ESCAPES)
    return "".join(line for line in _MOUNTS.lines() if inside in line)


class _Mounts:
    """The system's table of mounts, read again once the system says that it is another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: TextIOWrapper | None = None
        self._lines: tuple[str, ...] = ()

    def lines(self) -> tuple[str, ...]:
        if sys.platform != "linux":
            return ()
        with self._lock, suppress(OSError):
            if self._file is None:
                self._file = Path(_TABLE).open(errors="surrogateescape")  # noqa: SIM115
                self._changed = select.poll()
                self._changed.register(self._file, select.POLLPRI)
            elif not self._changed.poll(0):
                return self._lines
            self._file.seek(0)
            self._lines = tuple(self._file)
        return self._lines


_MOUNTS = _Mounts()
