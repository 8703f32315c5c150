"""Looks at folders from time to time, where the system does not tell of changes by itself.

Sees what `lstat` shows; a change that leaves size and times as they were is not seen. Takes at
most a twentieth of one processor, however many folders there are.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

MAX_SHARE = 0.05  # of one processor

_State = tuple[int, ...]  # differs when a file or folder has changed
_Listing = dict[str, _State] | None  # by name; None for a folder that cannot be listed


class Poll:
    """Reports changes directly inside of some folders, to the one that calls `look`."""

    def __init__(self, root: Path, report: Callable[[str], None], *, poll_ms: int) -> None:
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
            if folder not in self._seen:
                return
            before, self._seen[folder] = self._seen[folder], now
        if now == before:
            return
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
