"""The interface of observers of the file system's events, and polling where there are none.

`inotify` implements it on Linux, folder by folder, so that ignored folders cost nothing;
`tree_observer` elsewhere, where the system watches whole trees.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path
from typing import Protocol


class Report(Protocol):
    """A function that is called with changes."""

    def __call__(self, path: str, *, is_whole: bool = False) -> None:
        """Take a `path`, relative to the root with `/`, that may have changed; "" is everything.

        `is_whole`: the writer has closed, moved or removed the file, so that it can be read now.
        """


class Observer(Protocol):
    """Reports changes directly inside of the added folders, on a thread of its own."""

    @property
    def is_reliable(self) -> bool:
        """False once events were lost, the root is gone or a thread died; then open a new one."""

    @property
    def folders(self) -> frozenset[str]:
        """The observed folders, without those that were renamed or deleted since."""

    def add(self, folder: str) -> None:
        """Observe `folder`, relative to the root with `/`. Raises OSError if the system refuses."""

    def discard(self, folder: str) -> None:
        """Stop observing `folder`."""

    def close(self) -> None:
        """Stop reporting, and end the threads that no other observer needs."""


MAX_SHARE = 0.05  # of one processor

_State = tuple[int, ...]  # differs when a file or folder has changed
_Listing = dict[str, _State] | None  # by name; None for a folder that cannot be listed


class Poll:
    """Polls folders for changes directly inside of them, in the thread that calls `look`."""

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
        """Poll these `folders` from now on, and no others."""
        with self._lock:
            if folders == self._seen.keys():
                return
            self._seen = {
                folder: self._seen[folder] if folder in self._seen else self._list(folder)
                for folder in sorted(folders)
            }

    def look(self) -> None:
        """List every folder and report changes, unless `poll_ms` or MAX_SHARE forbid it yet."""
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
            # A file vanished during the listing: the next one will show that.
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
