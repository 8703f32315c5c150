"""A lock that the system takes back when its holder dies, however that happens.

Children of the holder do not inherit it: the file is closed when another program is executed.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass

from memory_sidecar.daemon.address import SAFELY, is_own_file

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

CLOCK_STEP_S = 2.0  # by which a corrected clock may move the start of a process
_NAME_AT = 1  # the first byte is what Windows locks, and lets no process read
_NAME_BYTES = 100


class ProcessLock:
    """The lock on the file `path`, which is made if missing and never removed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None

    def acquire(self) -> bool:
        """Whether this process has the lock now; does not wait. Raises OSError."""
        if self._fd is not None:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | SAFELY, 0o600)
        try:
            if not is_own_file(fd):
                raise PermissionError(f"{self.path} is not a file of this user")
            if _lock(fd):
                self._fd, fd = fd, -1
        finally:
            if fd >= 0:
                os.close(fd)
        return self._fd is not None

    def sign(self) -> None:
        """Write into the locked file who holds it, for `holder`. Raises OSError."""
        assert self._fd is not None
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, _NAME_AT, os.SEEK_SET)
        pid = os.getpid()
        os.write(self._fd, f"{pid} {_starts_s(pid)[0]}\n".encode())

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is locked still is the one that others would lock."""
        if self._fd is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), os.stat(self.path))
        except OSError:
            return False

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that signed a lock. Its number alone may be another's by now."""

    pid: int
    started_at_s: float  # one of `_starts_s`

    @property
    def is_alive(self) -> bool:
        return any(abs(each - self.started_at_s) < CLOCK_STEP_S for each in _starts_s(self.pid))

    def kill(self, *, wait_s: float) -> bool:
        """Whether it has ended, within `wait_s`."""
        import psutil

        with suppress(psutil.Error):  # it has ended, or is not ours
            process = psutil.Process(self.pid)
            if self.is_alive:
                process.kill()
                process.wait(wait_s)
        return not self.is_alive


def is_locked(path: str) -> bool:
    """Whether any process holds the lock `path`. Makes none."""
    if not os.path.exists(path):
        return False
    lock = ProcessLock(path)
    try:
        return not lock.acquire()
    except OSError:  # it went meanwhile
        return False
    finally:
        lock.release()


def holder(path: str) -> Holder | None:
    """Who signed the lock `path` and is still alive; `None` where no process is known to."""
    try:
        fd = os.open(path, os.O_RDONLY | SAFELY)
    except (OSError, ValueError):
        return None
    try:
        os.lseek(fd, _NAME_AT, os.SEEK_SET)
        pid, started_at_s = os.read(fd, _NAME_BYTES).split()
        signed = Holder(int(pid), float(started_at_s))
    except (OSError, ValueError):
        return None
    finally:
        os.close(fd)
    return signed if signed.is_alive else None


def _lock(fd: int) -> bool:
    """Whether no other process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _starts_s(pid: int) -> tuple[float, ...]:
    """When the process began, as `sign` writes it, and as earlier versions did; () for none.

    On Linux since the machine began: the Unix time is computed from that, and so becomes another
    when the clock is set, as on a board without one that learns the time from the network.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return ()
        machine_began_s = psutil.boot_time()
        began_s = float(process.create_time())
    except (psutil.Error, ValueError, OverflowError):
        return ()
    return (began_s - machine_began_s, began_s) if sys.platform == "linux" else (began_s,)
