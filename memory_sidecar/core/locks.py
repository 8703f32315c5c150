"""Locks between processes that change the same files; the system releases those of dead ones."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memory_sidecar.core.atomic import sweep
from memory_sidecar.core.errors import CannotWrite, StoreBusy
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors

PATIENCE_S = 10.0  # changing a few files takes milliseconds
MAX_NOTE_BYTES = 4096
_POLL_S = 0.002
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def naming_lack_of_locks(file: Path) -> Iterator[None]:
    """Raise CannotWrite where the file system of `file` turns out to have no locks."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise CannotWrite(
            f"{file.parent} is on a file system without locks ({error.strerror})",
            hint="name a folder on another one with --data-dir; on NFS, start its lock service",
        ) from error


def require_locks(file: Path, descriptor: int) -> None:
    """Raise CannotWrite, OSError where `descriptor`, which is open at `file`, cannot be locked."""
    if sys.platform != "win32":
        import fcntl

        with naming_lack_of_locks(file):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # on macOS and NFS it excludes the other kind
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # SQLite's are of this kind


@contextmanager
def hold_lock(
    tree: Tree, file: Path, *, what: str, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Hold the lock `file`, which lies in our own `tree` and is made if missing, for the block.

    Raises StoreBusy if another process holds it for `patience_s`: "`what` being changed by …".
    """
    with named_errors(file):
        os.close(tree.open(file, os.O_RDWR | os.O_CREAT))
        lock = FileLock(file, timeout=patience_s, poll_interval=_POLL_S, fallback_to_soft=False)
        try:
            with naming_lack_of_locks(file):
                lock.acquire()
        except Timeout as error:
            text = f"{what} being changed by another process"
            raise StoreBusy(text, hint="try again") from error
    try:
        yield
    finally:
        lock.release()


class WriterLock:
    """The lock that a process holds while it writes to a database, with a note of who holds it.

    `acquire` never waits: the caller decides how often, and how long, to try.
    """

    def __init__(self, path: Path, *, data_dir: Path, tree: Tree | None = None) -> None:
        """`data_dir` goes into the note for other processes.

        No link below `tree`, by default the folder of `path`, is followed on the way to the file.
        """
        self._path = path
        self._tree = tree or Tree(path.parent, is_own=True)
        self._note = f"process {os.getpid()}, data directory {data_dir}"
        self._file = FileLock(path, thread_local=False, fallback_to_soft=False)
        self._changing = threading.Lock()  # guards `_file`, which counts this process's holders
        self._has_swept = False

    def acquire(self) -> bool:
        """Try to take the lock; return whether this process holds it now.

        Raises StoreReadOnly, DiskFull, StoreError.
        """
        with self._changing, named_errors(self._path):
            self._tree.make(self._path.parent)
            try:
                with naming_lack_of_locks(self._path):
                    self._file.acquire(timeout=0)
            except Timeout:
                return False
        with suppress(OSError):  # the lock holds without its note, too
            self._write_note(self._note)
        if not self._has_swept:
            self._has_swept = True
            sweep(self._tree, self._path.parent)
        return True

    def release(self) -> None:
        with self._changing:
            if self._file.lock_counter == 1:  # else other code of this process still holds it
                with suppress(OSError):
                    self._write_note("")
            self._file.release()

    def holder(self) -> str:
        """Return a description of the process that holds the lock, for messages."""
        with suppress(OSError), self._path.open("rb") as file:
            note = file.read(MAX_NOTE_BYTES).decode("utf-8", "replace")
            if note:
                return note
        return "another process"

    def _write_note(self, note: str) -> None:
        flags = os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self._path, flags)
        try:
            os.write(descriptor, note.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
