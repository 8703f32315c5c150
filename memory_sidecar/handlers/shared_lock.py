"""A lock that many threads may share, or one alone may hold."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Whoever wants it alone waits for those who share it, and new ones wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharing = 0
        self._waiting = 0  # for having it alone
        self._owner: int | None = None
        self._depth = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Not by a thread that shares it already; the one that has it alone may."""
        if self._owner == threading.get_ident():
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: self._owner is None and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Not by a thread that shares it; the one that has it alone may once more."""
        if self._owner != threading.get_ident():
            with self._changed:
                self._waiting += 1
                self._changed.wait_for(lambda: self._owner is None and not self._sharing)
                self._waiting -= 1
                self._owner = threading.get_ident()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                with self._changed:
                    self._owner = None
                    self._changed.notify_all()
