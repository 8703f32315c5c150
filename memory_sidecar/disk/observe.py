"""The system's own notice of changes, behind one small interface, and polling in its place.

Linux watches folder by folder, so that an ignored one costs nothing; elsewhere the system watches
a whole tree at once (`inotify`, `tree_observer`).
"""

from __future__ import annotations

import os
import select
import stat
import sys
import threading
import time
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Protocol


class Report(Protocol):
    """Hears of changes."""

    def __call__(self, path: str, *, is_whole: bool = False) -> None:
        """`path`, relative to the root with `/`, may have changed; "" for everything.

        `is_whole` where the writer has closed it, or moved or removed it: it may be read as it is.
        """


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


MAX_SHARE = 0.05  # of one processor

_State = tuple[int, ...]  # differs when a file or folder has changed
_Listing = dict[str, _State] | None  # by name; None for a folder that cannot be listed


class Poll:
    """Reports changes directly inside of some folders, to the one that calls `look`."""

    def __init__(self, root: Path, report: Report, *, poll_ms: int) -> None:
        """`report` gets paths relative to `root`, with `/`; "" for the root itself."""
        self._root = root
        self._report = report
        self._poll_s = poll_ms / 1000
        self._seen: dict[str, _Listing] = {}
        self._lock = threading.Lock()
        self._due_s = 0.0

    @property
    def folders(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._seen)

    def follow(self, folders: frozenset[str]) -> None:
        """Poll these from now on, and no others."""
        with self._lock:
            if folders == self._seen.keys():
                return
            self._seen = {
                folder: self._seen[folder] if folder in self._seen else self._list(folder)
                for folder in sorted(folders)
            }

    def look(self) -> None:
        """Look at every folder and report what changed, if `poll_ms` have passed since the last."""
        started_s = time.monotonic()
        if started_s < self._due_s:
            return
        for folder in self.folders:
            self._compare(folder)
        now_s = time.monotonic()
        self._due_s = now_s + max(self._poll_s, (now_s - started_s) / MAX_SHARE)

    def _compare(self, folder: str) -> None:
        now = self._list(folder)
        with self._lock:
            if folder not in self._seen or now == self._seen[folder]:
                return
            before, self._seen[folder] = self._seen[folder], now
        if now is None or before is None:
            self._report(folder)
            return
        for name in now.keys() | before.keys():
            if now.get(name) != before.get(name):
                self._report(f"{folder}/{name}" if folder else name)

    def _list(self, folder: str) -> _Listing:
        listing: dict[str, _State] = {}
        try:
            with os.scandir(self._root / folder) as entries:
                for entry in entries:
                    listing[entry.name] = _state(entry)
        except FileNotFoundError:
            # Of a file that went away while we looked, the next listing will tell.
            return listing if (self._root / folder).is_dir() else None
        except OSError:
            return None
        return listing


def _state(entry: os.DirEntry[str]) -> _State:
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        # What it holds is polled on its own, or is ignored.
        return status.st_mode, status.st_ino
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_mode, status.st_ino, status.st_size, *times


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
