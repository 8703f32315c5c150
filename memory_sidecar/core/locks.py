"""Locks between processes that change the same files. The system takes them back from the dead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from memory_sidecar.core.errors import StoreBusy
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.sqlite import named_errors

_POLL_S = 0.002


@contextmanager
def locked(tree: Tree, file: Path, *, timeout_s: float, what: str) -> Iterator[None]:
    """Hold the lock `file` of our own `tree`, which is made if missing.

    Raises StoreBusy where another process holds it for longer, told as `what` being changed.
    """
    with named_errors(file):
        os.close(tree.open(file, os.O_RDWR | os.O_CREAT))
        lock = FileLock(file, timeout=timeout_s, poll_interval=_POLL_S)
        try:
            lock.acquire()
        except Timeout as error:
            text = f"{what} being changed by another process"
            raise StoreBusy(text, hint="try again") from error
    try:
        yield
    finally:
        lock.release()
