"""Who goes first where the processor is short: queries, then what indexes, then what embeds.

For threads and on Linux alone, where a thread has a niceness of its own and hands it on to those
that it starts. It never goes down again: that takes rights a user does not have.
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
