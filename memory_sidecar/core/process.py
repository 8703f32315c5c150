"""What this process takes of the machine: memory that it gives back, and its place in the queue.

Where the processor is short, queries go first, then what indexes, then what embeds. Threads are
told apart on Linux alone: there each has a niceness of its own, and hands it on to those that it
starts. It never goes down again: that takes rights a user does not have.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

INDEXING = 5  # of a nice 0 to 19
EMBEDDING = 10  # and reading files in other processes

MAX_ARENAS = 2
MAX_FILES = 4096
_M_ARENA_MAX = -8  # https://man7.org/linux/man-pages/man3/mallopt.3.html


def resident_bytes() -> int | None:
    """What is in memory; `None` where the system does not tell without help."""
    if sys.platform != "linux":
        return None
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def return_free() -> None:
    """Find what no object holds any more, and hand it back to the system."""
    gc.collect()
    trim()


def trim() -> None:
    """Hand freed memory back to the system, which glibc does not do by itself."""
    malloc_trim = _libc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def keep_few_arenas() -> None:
    """Have threads share what they allocate from; to be called before there are any.

    By default glibc gives many threads a heap of their own, and each keeps its peak for ever.
    """
    mallopt = _libc("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, MAX_ARENAS)


def allow_many_files() -> None:
    """Raise a shell's limit, 256 on macOS, as far as may be: each source and agent takes some."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
        if 0 <= soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _libc(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def go_behind(niceness: int) -> None:
    """Have this thread, and those that it starts, wait for whatever is less nice."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        given = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, max(given, niceness))


def put_process_behind(niceness: int) -> None:
    """The same for a whole process, where a system has it for those."""
    if sys.platform != "win32":
        os.nice(max(niceness - os.nice(0), 0))  # the parent process may be nice already


PATIENCE_S = 0.06  # for which a gate is closed at most: twice what a query takes
CLOSINGS_SAVED = 10  # of that length, after as long a time without any


class QueryGate:
    """Closed while queries are under way, for those who can wait. Queries wait for no other one.

    It is closed for `patience_s` at a time at most, and in the long run for half of the time:
    steady questions must not keep what waits from ever being done.
    """

    def __init__(
        self, *, patience_s: float = PATIENCE_S, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.listeners: list[Callable[[bool], None]] = []  # told that it closes, or opens early
        self._patience_s = patience_s
        self._now_s = now_s
        self._changed = threading.Condition()
        self._queries = 0
        self._saved_s = self._most_saved_s = CLOSINGS_SAVED * patience_s  # it may be closed for
        self._closed_at_s = self._opens_at_s = now_s()

    @contextmanager
    def query(self) -> Iterator[None]:
        """Holds the gate closed for the length of the block."""
        with self._changed:
            self._queries += 1
            if self._queries == 1:
                self._close()
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                if not self._queries and (now_s := self._now_s()) < self._opens_at_s:
                    self._opens_at_s = now_s
                    self._changed.notify_all()
                    self._tell(is_closed=False)

    def pass_through(self) -> None:
        """Return once no query is under way, or after a while: there may always be another one."""
        with self._changed:
            while (left_s := self._opens_at_s - self._now_s()) > 0:
                self._changed.wait(left_s)

    def _close(self) -> None:
        now_s = self._now_s()
        spent_s, since_s = self._opens_at_s - self._closed_at_s, now_s - self._opens_at_s
        self._saved_s = min(self._saved_s - spent_s + since_s, self._most_saved_s)
        self._closed_at_s = self._opens_at_s = now_s
        if self._saved_s >= self._patience_s:
            self._opens_at_s += self._patience_s
            self._tell(is_closed=True)

    def _tell(self, *, is_closed: bool) -> None:
        for listener in set(self.listeners):
            listener(is_closed)
