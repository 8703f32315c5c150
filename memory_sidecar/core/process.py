"""The cores, memory, priority and open files of this process.

When processors are busy, queries run first, then indexing, then embedding. Threads have priorities
of their own on Linux only: each has a niceness, which threads that it starts inherit. Niceness only
rises, since lowering it takes rights that a user does not have.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from memory_sidecar.core.errors import OutOfFiles, StoreError, is_out_of_files

if sys.platform != "win32":
    import resource

INDEXING = 5  # niceness, 0 to 19
EMBEDDING = 10  # niceness, also of the processes that read files

SWITCH_INTERVAL_S = 0.001  # so that a query soon gets the GIL from background work
MAX_ARENAS = 2
MAX_DATA_BYTES = 4 << 30  # stacks of threads included; a million chunks take less than 1 GiB
MAX_STACK_BYTES = 16 << 20  # of a thread, under that limit: some 30 run, and usually have 8 MiB
LEAST_ADDRESSES_KIB = 2_000_000  # the state of an agent alone takes 1,000,000 of them
LEAST_DATA_KIB = 400_000
MAX_FILES = 4096
GARBAGE_THRESHOLD = 20_000  # new objects; most work here makes many, and leaves no cycles behind
_M_ARENA_MAX = -8  # https://man7.org/linux/man-pages/man3/mallopt.3.html


def available_cores() -> int:
    """Count the cores for this process; a container or `taskset` may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def process_memory_bytes() -> int:
    """Return the memory that this process holds, in bytes."""
    import psutil  # here, since it takes 40 ms and few commands need it

    held: int = psutil.Process().memory_info().rss
    return held


def collect_seldom() -> None:
    """Let garbage be looked for at GARBAGE_THRESHOLD, not at 700 new objects as by default."""
    gc.set_threshold(GARBAGE_THRESHOLD)


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
    No limit is set if `ulimit -s` gives threads stacks so large that these alone would reach it.
    """
    mallopt = _libc("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, MAX_ARENAS)
    if sys.platform == "linux":
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        stack, _ = resource.getrlimit(resource.RLIMIT_STACK)  # without a limit, 2 MiB a thread
        if stack <= MAX_STACK_BYTES and not 0 <= soft <= MAX_DATA_BYTES:  # negative: none
            resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, hard))


def require_memory() -> None:
    """Raise StoreError if a limit leaves this process less memory than any work takes. Linux only.

    Libraries meet such a limit anywhere: some are then said to be broken, some end the process.
    """
    if sys.platform == "linux":
        for limit, option, least_kib in (
            (resource.RLIMIT_AS, "v", LEAST_ADDRESSES_KIB),
            (resource.RLIMIT_DATA, "d", LEAST_DATA_KIB),
        ):
            allowed, _ = resource.getrlimit(limit)
            if 0 <= allowed < least_kib << 10:  # negative: none
                raise StoreError(
                    f"`ulimit -{option}` allows only {allowed >> 10:,} KiB of memory",
                    hint=f"raise it to {least_kib} or more",
                )


def limit_addresses(most: int) -> None:
    """Limit the address space of this process to `most` bytes for good, or keep a lower limit.

    On Linux only: macOS refuses such a limit.
    """
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = most if hard == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


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


def lower_process_priority() -> None:
    """Raise the niceness of this process to EMBEDDING; does nothing on Windows."""
    if sys.platform != "win32":
        os.nice(max(EMBEDDING - os.nice(0), 0))  # the parent process may be nice already
