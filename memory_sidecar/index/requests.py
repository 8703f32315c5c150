"""What callers ask of an owner, in the order in which it is done."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from memory_sidecar.core.results import Reporter

BEAT_S = 0.1  # between two looks at whether the caller still waits


class Urgency(IntEnum):
    """What is done first."""

    SHORT = 0  # takes milliseconds, and a caller waits
    BARRIER = 1  # brings earlier saves, and a caller waits, with a deadline
    ASKED = 2  # may take long, and a caller waits
    ITSELF = 3  # no caller waits
    NOTHING = 4  # of a loop that rests: whatever is asked for comes before


@dataclass(eq=False, slots=True)
class Request:
    """Something to do for a caller, who waits for `done` or went away."""

    work: Callable[[], Any]
    urgency: Urgency
    patience_until_s: float  # how long to wait for another process that holds the writer's lock
    is_needless: Callable[[], bool] = lambda: False  # that process may have done it meanwhile
    key: str = ""  # one of several that wait under the same key is enough
    done: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        if self.done.set_running_or_notify_cancel():
            try:
                result = self.work()
            except BaseException as error:
                self.done.set_exception(error)
            else:
                self.done.set_result(result)

    def end(self, error: BaseException | None) -> None:
        """Finish the request undone: with `error`, or without one because it became needless."""
        if self.done.set_running_or_notify_cancel():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)


class Requests:
    """The queue. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def put(self, request: Request) -> Request:
        """The request that waits now: `request`, or one with its key."""
        with self._lock:
            for each in self._waiting:
                if request.key and each.key == request.key:
                    return each
            self._waiting.append(request)
            return request

    def take(self, *, before: Urgency) -> Request | None:
        """The most urgent request, if it is more urgent than `before`."""
        with self._lock:
            first = min(self._waiting, key=lambda each: each.urgency, default=None)
            if first is None or first.urgency >= before:
                return None
            self._waiting.remove(first)
            return first

    def end_all(self, error: BaseException) -> None:
        """Give `error` to all that wait."""
        for request in self._take_all():
            request.end(error)

    def end_impatient(self, now_s: float, error: Exception) -> None:
        """Give `error` to those whose patience is over, and end what became needless."""
        for request in self._take_all():
            if request.is_needless():
                request.end(None)
            elif now_s >= request.patience_until_s:
                request.end(error)
            elif not request.done.cancelled():
                self.put(request)

    def _take_all(self) -> list[Request]:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        return waiting


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
