"""Which process may change a database: the one that holds its lock, for one call or for life."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from memory_sidecar.errors import DiskFull, StoreReadOnly
from memory_sidecar.handlers.reporter import Reporter
from memory_sidecar.sqlite import named_errors


class WriterLock:
    """The lock at `path`. Any number of threads of the process that holds it share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._counting = threading.Lock()
        self._holders = 0
        self._file = FileLock(path, thread_local=False)

    @contextmanager
    def held(self, reporter: Reporter) -> Iterator[None]:
        """Hold the lock in the block; waits, with a notice, while another process has it."""
        with self._counting:
            if self._holders == 0:
                self._acquire(reporter)
            self._holders += 1
        with self._until_left():
            yield

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock in the block, which is told whether it does.

        It does not if another process has it, nor on a disk that cannot be written. Another thread
        of this process that waits for the lock keeps this one waiting, too.
        """
        with self._counting:
            if self._holders == 0 and not self._acquire_if_possible():
                has_lock = False
            else:
                self._holders += 1
                has_lock = True
        if not has_lock:
            yield False
            return
        with self._until_left():
            yield True

    @contextmanager
    def _until_left(self) -> Iterator[None]:
        try:
            yield
        finally:
            with self._counting:
                self._holders -= 1
                if self._holders == 0:
                    self._file.release()

    def _acquire_at_once(self) -> bool:
        with named_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._file.acquire(timeout=0)
            except Timeout:
                return False
        return True

    def _acquire_if_possible(self) -> bool:
        try:
            return self._acquire_at_once()
        except (StoreReadOnly, DiskFull):
            return False

    def _acquire(self, reporter: Reporter) -> None:
        if not self._acquire_at_once():
            reporter.notice(f"waiting for another process that indexes {self._path.parent.name}")
            with named_errors(self._path):
                self._file.acquire()
