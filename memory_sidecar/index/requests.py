"""The requests that callers make of an owner, and the queue that orders them."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from memory_sidecar.core.results import Reporter

BEAT_S = 0.1  # how often a waiting thread calls back: for progress, or to give up


class Urgency(IntEnum):
    """The order in which work is done: the lowest value first."""

    SHORT = 0  # takes milliseconds, and a caller waits
    BARRIER = 1  # indexes earlier saves, for a caller who waits with a deadline
    LONG = 2  # may take long, and a caller waits
    VECTORS = 3  # takes longest, and a caller waits: for the vectors of rows that are there already
    BACKGROUND = 4  # no caller waits
    IDLE = 5  # of a loop without work: every request comes before it


def more_urgent(urgency: Urgency, *, is_late: bool) -> set[Urgency]:
    """Return which requests come between two slices of work of this `urgency`.

    A barrier that `is_late` lets LONG ones in, too, but no other barrier, which would begin the
    same pass again within the running one.
    """
    found = {each for each in Urgency if each < urgency}
    return found | {Urgency.LONG} if is_late and urgency is Urgency.BARRIER else found


@dataclass(eq=False, slots=True)
class Request:
    """Work for a caller, who waits for `done`, or cancels it and goes away."""

    work: Callable[[], Any]
    urgency: Urgency
    patience_until_s: float  # until when to wait for another process to release the writer's lock
    is_redundant: Callable[[], bool] = lambda: False  # whether that process has done the work
    key: str = ""  # of several requests with one key, only the first is queued; "" for none
    late_at_s: float = math.inf  # from when on no caller waits for it any more
    done: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        """Do the work and settle `done`, unless the caller has cancelled it."""
        if self.done.set_running_or_notify_cancel():
            try:
                result = self.work()
            except BaseException as error:
                self.done.set_exception(error)
            else:
                self.done.set_result(result)

    def finish_undone(self, error: BaseException | None) -> None:
        """Settle `done` without doing the work: with `error`, or with None for redundant work."""
        if self.done.set_running_or_notify_cancel():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)


class Requests:
    """The queue of requests to one loop. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, request: Request) -> Request:
        """Queue `request` and return it, or the queued one that has the same key."""
        with self._lock:
            for each in self._waiting:
                if request.key and each.key == request.key:
                    each.late_at_s = max(each.late_at_s, request.late_at_s)
                    return each
            self._waiting.append(request)
            return request

    def take(self, urgencies: Collection[Urgency]) -> Request | None:
        """Remove and return the most urgent request that has one of the `urgencies`."""
        with self._lock:
            wanted = (each for each in self._waiting if each.urgency in urgencies)
            first = min(wanted, key=lambda each: each.urgency, default=None)
            if first is not None:
                self._waiting.remove(first)
            return first

    def fail_all(self, error: BaseException) -> None:
        """Fail every queued request with `error`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for request in waiting:
            request.finish_undone(error)

    def fail_impatient(self, now_s: float, error: Exception) -> None:
        """Fail requests whose patience has run out with `error`; finish redundant ones."""
        for request in tuple(self._waiting):
            is_redundant = request.is_redundant()
            if is_redundant or now_s >= request.patience_until_s or request.done.cancelled():
                with self._lock:
                    is_mine = request in self._waiting  # else another thread closes the loop
                    if is_mine:
                        self._waiting.remove(request)
                if is_mine:
                    request.finish_undone(None if is_redundant else error)


class Relay:
    """The reporter of a request: keeps its notices and progress until its caller's thread asks.

    So a caller's reporter is only ever called in the thread of that caller.
    """

    waits = True

    def __init__(self) -> None:
        self._notices: deque[str] = deque()
        self._progress: tuple[str, int, int] | None = None

    def notice(self, text: str) -> None:
        self._notices.append(text)

    def progress(self, stage: str, done: int, total: int) -> None:
        self._progress = (stage, done, total)

    def forward(self, reporter: Reporter) -> None:
        """Pass the notices and the latest progress on to `reporter`; raises what that raises."""
        while self._notices:
            reporter.notice(self._notices.popleft())
        if self._progress is not None:
            reporter.progress(*self._progress)
