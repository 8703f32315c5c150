"""Lets queries go first: every indexing thread asks here before each step."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 0.5


class QueryGate:
    """Closed while at least one query is under way. Queries never wait for each other."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._queries = 0

    @contextmanager
    def query(self) -> Iterator[None]:
        """Holds the gate closed for the length of the block."""
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def pass_through(self) -> None:
        """Return once no query is under way, or after a while: there may always be another one."""
        with self._changed:
            self._changed.wait_for(lambda: self._queries == 0, self._patience_s)
