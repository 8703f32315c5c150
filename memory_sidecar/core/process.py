"""The memory, priority and open files of this process, and the log of what makes it crash.

When processors are busy, queries run first, then indexing, then embedding. Threads have priorities
of their own on Linux only: each has a niceness, which threads that it starts inherit. Niceness only
rises, since lowering it takes rights that a user does not have.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.errors import OutOfFiles, is_out_of_files
from memory_sidecar.core.opening import Tree

if sys.platform != "win32":
    import resource

INDEXING = 5  # niceness, 0 to 19
EMBEDDING = 10  # niceness, also of the processes that read files

SWITCH_INTERVAL_S = 0.001  # so that a query soon gets Python's lock from background work
MAX_ARENAS = 2
MAX_DATA_BYTES = 4 << 30  # stacks of threads included; a million chunks take less than 1 GiB
MAX_STACK_BYTES = 16 << 20  # of a thread, under that limit: some 30 run, and usually have 8 MiB
MAX_FILES = 4096
_M_ARENA_MAX = -8  # https://man7.org/linux/man-pages/man3/mallopt.3.html


def resident_bytes() -> int | None:
    """Return the resident memory of this process in bytes; `None` except on Linux."""
    if sys.platform != "linux":
        return None
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def return_free() -> None:
    """Collect garbage, then return freed memory to the system."""
    gc.collect()
    trim()


def trim() -> None:
    """Return freed memory to the system, which glibc does not do by itself."""
    malloc_trim = _libc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def limit_memory() -> None:
    """Limit the heaps of glibc to MAX_ARENAS, and on Linux all memory to MAX_DATA_BYTES.

    Call it before any thread is started. By default glibc gives many threads a heap of their own,
    each of which keeps its peak size. Some texts make a grammar take gigabytes within one step: at
    the limit this process ends, as at any crash of a grammar, before the machine is out of memory.
    There is none where `ulimit -s` gives threads such stacks that these alone would reach it.
    """
    mallopt = _libc("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, MAX_ARENAS)
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        stack, _ = resource.getrlimit(resource.RLIMIT_STACK)  # of a thread 2 MiB, if there is none
        if stack <= MAX_STACK_BYTES and not 0 <= soft <= MAX_DATA_BYTES:  # negative: none
            resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, hard))


def lift_memory_limit(child: int) -> None:
    """Let the process `child`, another program, have as much memory as its user allows."""
    if sys.platform == "linux":
        with suppress(OSError):  # it has ended
            soft, hard = resource.prlimit(child, resource.RLIMIT_DATA)
            if soft == MAX_DATA_BYTES:
                resource.prlimit(child, resource.RLIMIT_DATA, (hard, hard))


def allow_many_files() -> None:
    """Raise the limit of open files (256 on macOS) to MAX_FILES, or as far as allowed."""
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
        if 0 <= soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def require_descriptors(count: int) -> None:
    """Raise OutOfFiles unless `count` more files can be opened.

    Call it before work that cannot be retried, or raises a misleading error, if it fails midway.
    """
    opened: list[int] = []
    try:
        while len(opened) < count:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        if is_out_of_files(error):
            raise OutOfFiles from error
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _libc(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def lower_thread_priority(niceness: int) -> None:
    """Raise the niceness of this thread, and of those it starts, to `niceness`. Linux only."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        given = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, max(given, niceness))


def lower_process_priority(niceness: int) -> None:
    """Raise the niceness of this process to `niceness`; does nothing on Windows."""
    if sys.platform != "win32":
        os.nice(max(niceness - os.nice(0), 0))  # the parent process may be nice already


MAX_CRASHES = 3
_MAX_BYTES = 1 << 20
_DIGEST_BYTES = 16

_log = logging.getLogger(__name__)


class CrashLog:
    """Remembers which work was running when the process died, so that none can kill it for ever.

    A grammar or library that crashes on a file, or on a question, ends the whole process, and the
    next process would begin with the same file. So risky work is noted in a slot of a small file (a
    write to the page cache, which survives a crash of the process) and cleared afterwards. A key
    that is still there at the next start is a suspect; after three crashes without a success
    between them it is barred. Best effort: where the disk refuses, nothing is counted.

    A key is any text that identifies a piece of work, such as a path with its size and times.
    Thread-safe.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Open the log called `name` in `folder`, which one process uses, until `close`."""
        self._tree = Tree(folder, is_own=True)
        self._counts_file = f"{name}-crashes.json"
        self._lock = threading.Lock()
        self._used: set[int] = set()
        self._counts: dict[str, int] = {}
        self._slots: int | None = None
        self.suspects = 0  # how many keys were under way when the last process died
        try:
            self._slots = self._tree.open(name, os.O_RDWR | os.O_CREAT)
            self._count_suspects(self._slots)
        except OSError as error:
            _log.warning("crashes are not counted in %s: %s", folder / name, error)

    def is_barred(self, key: str) -> bool:
        """Whether `key` was under way at three crashes, and not done in between."""
        return self._counts.get(_digest(key), 0) >= MAX_CRASHES

    @contextmanager
    def under_way(self, key: str) -> Iterator[None]:
        """Note `key` during the block, which may crash the process."""
        digest = _digest(key)
        with self._lock:
            slot = next(number for number in range(len(self._used) + 1) if number not in self._used)
            self._used.add(slot)
            self._write(slot, bytes.fromhex(digest))
        try:
            yield
        finally:
            with self._lock:
                self._write(slot, bytes(_DIGEST_BYTES))
                self._used.remove(slot)
            self.reset(key)

    def reset(self, key: str) -> None:
        """Forget the crashes of `key`, which was done without one."""
        with self._lock:
            if self._counts.pop(_digest(key), None) is not None:
                self._save()

    def count_crash(self, key: str) -> None:
        """Count a crash of a worker process that was busy with `key` alone."""
        digest = _digest(key)
        with self._lock:
            self._counts[digest] = self._counts.get(digest, 0) + 1
            self._save()

    def close(self) -> None:
        """End properly: no key stays a suspect; barred ones stay barred."""
        with self._lock:
            slots, self._slots = self._slots, None
            if slots is not None:
                with suppress(OSError):
                    os.ftruncate(slots, 0)
                os.close(slots)

    def _count_suspects(self, slots: int) -> None:
        """Add a crash to each key that was under way."""
        before = self._read_counts()
        content = os.read(slots, _MAX_BYTES)
        digests = (content[at : at + _DIGEST_BYTES] for at in range(0, len(content), _DIGEST_BYTES))
        suspects = {digest.hex() for digest in digests if any(digest)}
        self._counts = before | {key: before.get(key, 0) + 1 for key in suspects}
        self.suspects = len(suspects)
        if self._counts != before:
            self._save()
        os.ftruncate(slots, 0)  # only once their counts are saved

    def _read_counts(self) -> dict[str, int]:
        try:
            counts = json.loads(self._tree.read(self._counts_file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):  # missing, truncated or damaged
            return {}
        pairs = counts.items() if isinstance(counts, dict) else ()
        return {key: count for key, count in pairs if type(count) is int}

    def _write(self, slot: int, digest: bytes) -> None:
        if self._slots is not None:
            with suppress(OSError):
                os.lseek(self._slots, slot * _DIGEST_BYTES, os.SEEK_SET)
                os.write(self._slots, digest)

    def _save(self) -> None:
        with suppress(OSError):
            replace_file(self._tree, self._counts_file, json.dumps(self._counts).encode())


def _digest(key: str) -> str:
    return hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()
