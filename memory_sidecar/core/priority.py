"""Who goes first where the processor is short: queries, then what indexes, then what embeds.

Threads are told apart on Linux alone: there each has a niceness of its own, and hands it on to
those that it starts. It never goes down again: that takes rights a user does not have.
"""

from __future__ import annotations

import os
import sys
import threading

INDEXING = 5  # of a nice 0 to 19
EMBEDDING = 10  # and reading files in other processes


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
