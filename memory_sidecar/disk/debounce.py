"""Turns single changes into settled batches. Reads no files.

A batch is due when nothing has changed for `debounce_ms`, and at the latest `max_wait_ms` after
its first change, so that a file that is written without a pause does not hold up the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_PATHS = 2_000  # beyond, comparing the whole source costs less than looking up every path


@dataclass(frozen=True, slots=True)
class Settled:
    """What to compare with the disk again, now that it has settled.

    `paths` are files and folders relative to the source, with `/`, some of which may be gone. The
    root is never among them: with `everything` the whole source is meant, and `paths` are empty.
    """

    paths: frozenset[str]
    everything: bool


class Gathering:
    """Changes that have not settled yet. Pure: the caller says how late it is, in seconds."""

    def __init__(self, *, debounce_ms: int, max_wait_ms: int) -> None:
        self._debounce_s = debounce_ms / 1000
        self._max_wait_s = max_wait_ms / 1000
        self._paths: set[str] = set()
        self._is_everything = False
        self._first_s = 0.0
        self._last_s = 0.0

    @property
    def is_empty(self) -> bool:
        return not self._paths and not self._is_everything

    @property
    def count(self) -> int:
        """How many paths wait; 1 where everything does."""
        return len(self._paths) or int(self._is_everything)

    @property
    def due_s(self) -> float:
        """When what is gathered so far has settled, if nothing more comes; infinite for nothing."""
        if self.is_empty:
            return math.inf
        return min(self._last_s + self._debounce_s, self._first_s + self._max_wait_s)

    def add(self, path: str, now_s: float) -> None:
        """Note that `path` changed; "" stands for everything."""
        if self.is_empty:
            self._first_s = now_s
        self._last_s = now_s
        if self._is_everything:
            return
        self._paths.add(path)
        if not path or len(self._paths) > MAX_PATHS:
            self._is_everything = True
            self._paths.clear()

    def take(self) -> Settled:
        """What was gathered; nothing is left."""
        settled = Settled(paths=frozenset(self._paths), everything=self._is_everything)
        self._paths.clear()
        self._is_everything = False
        return settled
