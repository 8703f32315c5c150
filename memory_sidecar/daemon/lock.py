"""A lock that the system releases when its holder dies, however that happens.

Child processes do not inherit it: the file is closed when another program is executed.
"""

from __future__ import annotations

import errno
import math
import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from memory_sidecar.daemon.address import SAFELY, is_own_file

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_LOCKED = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # by another process
CLOCK_STEP_S = 2.0  # setting the clock may move the start of a process by so much
_NAME_AT = 1  # Windows locks the first byte, and lets no process read it
_NAME_BYTES = 100


class ProcessLock:
    """A lock on the file `path`, which is created if missing and never removed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None

    def acquire(self) -> bool:
        """Try to take the lock at once; returns whether this process has it. Raises OSError."""
        if self._fd is not None:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | SAFELY, 0o600)
        try:
            if not is_own_file(fd):
                raise PermissionError(f"{self.path} is not a file of this user")
            if _try_lock(fd):
                self._fd, fd = fd, -1
        finally:
            if fd >= 0:
                os.close(fd)
        return self._fd is not None

    def sign(self) -> None:
        """Write this process into the locked file, for `find_holder`. Raises OSError."""
        assert self._fd is not None
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, _NAME_AT, os.SEEK_SET)
        pid = os.getpid()
        os.write(self._fd, f"{pid} {_start_time_s(pid)}\n".encode())

    @property
    def is_in_place(self) -> bool:
        """Whether the locked file is still the one at `path`, which others would lock."""
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError as error:
            return not is_gone(error)

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def is_gone(error: OSError) -> bool:
    """Whether `error` says that a file is gone; a disk that fails for a moment says nothing."""
    return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that signed a lock, with its start time, since a pid may be reused."""

    pid: int
    started_at_s: float  # see `_start_time_s`

    @property
    def is_alive(self) -> bool:
        return abs(_start_time_s(self.pid) - self.started_at_s) < CLOCK_STEP_S

    def kill(self, *, wait_s: float) -> bool:
        """Kill the process and wait up to `wait_s`; returns whether it has ended."""
        import psutil

        with suppress(psutil.Error):  # it has ended, or belongs to another user
            process = psutil.Process(self.pid)
            if self.is_alive:
                process.kill()
                process.wait(wait_s)
        return not self.is_alive


def is_locked(path: str) -> bool:
    """Whether any process holds the lock `path`. Creates no file."""
    if not os.path.exists(path):
        return False
    lock = ProcessLock(path)
    try:
        return not lock.acquire()
    except OSError:  # it was removed in the meantime
        return False
    finally:
        lock.release()


def find_holder(path: str) -> Holder | None:
    """Return the living process that signed the lock `path`; `None` if none is known."""
    signed = read_signature(path)
    return signed if signed is not None and signed.is_alive else None


def read_signature(path: str) -> Holder | None:
    """Return the process that signed the lock `path` last; `None` if none is known.

    The process may have ended, or be unknown to this system, for example in another container.
    """
    try:
        fd = os.open(path, os.O_RDONLY | SAFELY)
    except (OSError, ValueError):
        return None
    try:
        os.lseek(fd, _NAME_AT, os.SEEK_SET)
        pid, started_at_s = os.read(fd, _NAME_BYTES).split()
        return Holder(int(pid), float(started_at_s))
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)


def _try_lock(fd: int) -> bool:
    """Try to lock the open file; returns whether no other process has it.

    Raises OSError where the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED:
            return False
        raise
    return True


def _start_time_s(pid: int) -> float:
    """Return when the process `pid` started, in Unix time, or on Linux since boot; NaN if it ended.

    Linux computes Unix time from the time since boot, so that it changes when the clock is set, as
    on a board without a clock that gets the time from the network.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return math.nan
        machine_began_s = psutil.boot_time()
        began_s = float(process.create_time())
    except (psutil.Error, ValueError, OverflowError):
        return math.nan
    return began_s - machine_began_s if sys.platform == "linux" else began_s
