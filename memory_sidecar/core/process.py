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
from collections.abc import Callable
from pathlib import Path

from memory_sidecar.core.errors import OutOfFiles, is_out_of_files

INDEXING = 5  # of a nice 0 to 19
EMBEDDING = 10  # and reading files in other processes

SWITCH_INTERVAL_S = 0.001  # a query takes Python's lock from what works in the background
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


def limit_arenas() -> None:
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


def require_descriptors(count: int) -> None:
    """Raises OutOfFiles where fewer than `count` files more may be opened.

    For what cannot be tried again in this process, or says something else, where it fails midway.
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
    """Have this thread, and those that it starts, wait for whatever is less nice."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        given = os.getpriority(os.PRIO_PROCESS, thread)
        os.setpriority(os.PRIO_PROCESS, thread, max(given, niceness))


def lower_process_priority(niceness: int) -> None:
    """The same for a whole process, where a system has it for those."""
    if sys.platform != "win32":
        os.nice(max(niceness - os.nice(0), 0))  # the parent process may be nice already
