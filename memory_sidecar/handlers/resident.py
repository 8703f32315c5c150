"""How much of the machine this process takes, and giving back what it does not use."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path


def resident_bytes() -> int | None:
    """What is in memory; `None` where the system does not tell without help."""
    if sys.platform != "linux":
        return None
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def return_free() -> None:
    """Hand freed memory back to the system, which glibc does not do by itself."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
