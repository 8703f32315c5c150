"""What work tells of itself: a handler to the caller who waits for it, an index to `status`."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from memory_sidecar.core.results import WEAK_ALONE, Time


class Reporter(Protocol):
    """Notices and progress. Neither is part of a result."""

    def notice(self, text: str) -> None:
        """One line that the caller should see: what is missing, and what to do."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` in `stage`, from any thread; of 0 where that is not known."""


class Silent:
    """Drops everything."""

    def notice(self, text: str) -> None: ...

    def progress(self, stage: str, done: int, total: int) -> None: ...


class Judged(Protocol):
    """A hit that says whether it is weak."""

    @property
    def is_weak(self) -> bool: ...


def tell_weak(hits: Sequence[Judged], reporter: Reporter) -> None:
    """Say to who reads `hits`, best first, that not even the first is a good one."""
    if hits and hits[0].is_weak:
        reporter.notice(WEAK_ALONE)


class Relay:
    """Keeps what a request says in the owner's thread until the thread of its caller asks."""

    def __init__(self) -> None:
        self._notices: deque[str] = deque()
        self._progress: tuple[str, int, int] | None = None

    def notice(self, text: str) -> None:
        self._notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._progress = (stage, done, total)

    def tell(self, reporter: Reporter) -> None:
        """Pass on what was heard. What `reporter` raises ends the waiting."""
        while self._notices:
            reporter.notice(self._notices.popleft())
        if self._progress is not None:
            reporter.progress(*self._progress)


WINDOW_S = 10.0  # a pace is taken over so long
VECTORS = "vectors of all sources"  # with blanks, as no source is called
DATABASE = "the database as a whole"


@dataclass(frozen=True, slots=True)
class FilesUnderWay:
    """A pass over a source."""

    files_done: int
    files_total: int
    files_per_second: float
    seconds_left: float | None

    @classmethod
    def of(cls, done: int, total: int, per_second: float) -> FilesUnderWay:
        return cls(done, total, round(per_second, 1), seconds_left(total - done, per_second))


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and when."""

    at: Time
    message: str


class Pace:
    """How much is done in a second, lately. Thread-safe."""

    def __init__(self, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._began_s = now_s()
        self._steps: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> None:
        with self._lock:
            now_s = self._now_s()
            if not self._recent(now_s):
                self._began_s = now_s  # after a pause it begins anew
            self._steps.append((now_s, count))

    @property
    def per_second(self) -> float:
        """0 when nothing was done lately."""
        with self._lock:
            now_s = self._now_s()
            done = sum(count for _, count in self._recent(now_s))
            return done / max(min(now_s - self._began_s, WINDOW_S), 1.0)

    def _recent(self, now_s: float) -> deque[tuple[float, int]]:
        while self._steps and self._steps[0][0] < now_s - WINDOW_S:
            self._steps.popleft()
        return self._steps


class Activity:
    """Kept by an index, asked by `status`. Thread-safe."""

    def __init__(self) -> None:
        self.vectors = Pace()
        self._failures: dict[str, Failure] = {}
        self._passes: dict[str, _Pass] = {}

    def failed(self, what: str, failure: Failure) -> None:
        """Keep what went wrong with `what`, a source or VECTORS, until that goes well."""
        self._failures[what] = failure

    def went_well(self, what: str) -> None:
        """Nothing is wrong with `what` any more, or no caller wants it."""
        self._failures.pop(what, None)

    @property
    def last_failure(self) -> Failure | None:
        """The latest of those that are not over."""
        return max(list(self._failures.values()), key=lambda each: each.at, default=None)

    @contextmanager
    def indexing(self, source: str) -> Iterator[Callable[[int, int], None]]:
        """Around a pass over `source`, which reports to what it is given: files done, and to do."""
        each = self._passes[source] = _Pass()
        try:
            yield each.report
        finally:
            self._passes.pop(source, None)

    def files(self, source: str) -> FilesUnderWay | None:
        """`None` when no pass over `source` has found anything to do."""
        each = self._passes.get(source)
        if each is None or not each.total:
            return None
        return FilesUnderWay.of(each.done, each.total, each.pace.per_second)


class _Pass:
    def __init__(self) -> None:
        self.done = self.total = 0
        self.pace = Pace()

    def report(self, done: int, total: int) -> None:
        if done > self.done:
            self.pace.add(done - self.done)
        self.done, self.total = done, total


def seconds_left(count: int, per_second: float) -> float | None:
    """`None` where nothing moves."""
    return round(count / per_second, 1) if per_second else None
