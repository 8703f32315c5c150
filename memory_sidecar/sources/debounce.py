"""Turns single changes into settled batches. Reads no files.

A batch is due when nothing has changed for `debounce_ms`, and at the latest `max_wait_ms` after
its first change, so that a file that is written without a pause does not hold up the others.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_PATHS = 2_000  # beyond, comparing the whole source costs less than looking up every path

_log = logging.getLogger(__name__)


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
    def due_s(self) -> float:
        """When what is gathered so far has settled, if nothing more comes."""
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


class Debounce:
    """A thread that hands over what has settled, one batch after the other.

    Changes that come while `on_settled` runs go into the next batch. An error of `on_settled` is
    logged and costs that batch only.
    """

    def __init__(
        self, on_settled: Callable[[Settled], None], *, debounce_ms: int, max_wait_ms: int
    ) -> None:
        self._on_settled = on_settled
        self._gathering = Gathering(debounce_ms=debounce_ms, max_wait_ms=max_wait_ms)
        self._changed = threading.Condition()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="settle", daemon=True)
        self._thread.start()

    def add(self, path: str) -> None:
        """Note that `path` changed; "" stands for everything. Any thread may call this."""
        with self._changed:
            was_empty = self._gathering.is_empty
            self._gathering.add(path, time.monotonic())
            if was_empty:  # later changes only move the deadline that the thread sleeps towards
                self._changed.notify()

    def stop(self) -> None:
        """Wait for the batch being handed over, and drop what has not settled."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (settled := self._next()) is not None:
            try:
                self._on_settled(settled)
            except Exception:
                _log.exception("what settled could not be handled")

    def _next(self) -> Settled | None:
        with self._changed:
            while not self._is_stopped:
                if self._gathering.is_empty:
                    self._changed.wait()
                elif (left_s := self._gathering.due_s - time.monotonic()) > 0:
                    self._changed.wait(left_s)
                else:
                    return self._gathering.take()
        return None
