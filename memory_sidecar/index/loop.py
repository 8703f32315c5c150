"""One thread at a time, under the writer's lock: what callers ask for first, then what is due.

The thread is there while there is something to do: in a daemon one of its own, else that of the
caller, who then does what other callers ask as well. No wait here is without an end: patience with
another process that holds the lock is limited, and closing ends everything.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from memory_sidecar.core.errors import StoreBusy
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.requests import BEAT_S, Relay, Request, Requests, Urgency

LOCK_POLL_S = 0.05
LOCK_RETRY_S = 1.0  # where no caller waits
RETRY_FIRST_S, RETRY_LONGEST_S = 5.0, 300.0

T = TypeVar("T")


class BackOff:
    """How long to pause after one failure after the other."""

    def __init__(self) -> None:
        self._pause_s = 0.0

    def next_s(self) -> float:
        self._pause_s = min(max(self._pause_s * 2, RETRY_FIRST_S), RETRY_LONGEST_S)
        return self._pause_s

    def reset(self) -> None:
        self._pause_s = 0.0


class Loop:
    """Serves requests, and does by itself what is due. Thread-safe."""

    def __init__(
        self,
        lock: WriterLock,
        *,
        name: str,
        due_s: Callable[[], float],
        do_due: Callable[[], None],
        note: Callable[[Exception], None],
        around: Callable[[Callable[[Reporter], Any], Reporter], Any],
        now_s: Callable[[], float],
    ) -> None:
        """`due_s` is when there is something to do, as `now_s` counts; `note` hears of failures.

        `around` is given every piece of work, with the reporter to tell, and does it.
        """
        self.problem = ""  # why nothing can be done at the moment
        self.is_closing = threading.Event()
        self._lock = lock
        self._name = name
        self._due_s = due_s
        self._do_due = do_due
        self._note = note
        self._around = around
        self._now_s = now_s
        self._queue = Requests()
        self._urgency = Urgency.NOTHING  # of what runs
        self._progress: tuple[str, int, int] | None = None  # the same
        self._state = threading.Condition()  # of who runs
        self._runner: threading.Thread | None = None
        self._wake: Callable[[], None] | None = None  # None: callers run the loop themselves
        self._tell: Callable[[], None] = lambda: None
        self._back_off = BackOff()
        self._not_before_s = 0.0  # for what no caller waits for

    # Asking

    def ask(
        self,
        work: Callable[[Reporter], T],
        reporter: Reporter,
        *,
        urgency: Urgency,
        patience_s: float,
        wait_s: float = math.inf,
        is_needless: Callable[[], bool] = lambda: False,
    ) -> T | None:
        """Have `work` done in its turn and return what it returns; raises what it raises.

        While another process holds the lock, waits up to `patience_s` before it raises StoreBusy,
        and returns None as soon as the work `is_needless`. Raises TimeoutError after `wait_s`, and
        what `reporter` raises; the work goes on then, unless this thread was doing it. Raises
        Stopped when the loop is closed.
        """
        if self._runner is threading.current_thread():
            result: T = self._around(work, reporter)
            return result
        relay = Relay()
        patience_until_s = self._now_s() + patience_s
        request = Request(lambda: self._around(work, relay), urgency, patience_until_s, is_needless)
        try:
            self._put(request, lambda: relay.tell(reporter))
            has_said, until_s = False, self._now_s() + wait_s
            while not wait([request.done], timeout=BEAT_S).done and self._now_s() < until_s:
                relay.tell(reporter)
                if (before := self._progress) and not request.done.running():
                    reporter.progress(*before)
                if self.problem and not has_said:
                    has_said = True
                    reporter.notice(f"waiting: {self.problem}")
        except BaseException:
            request.done.cancel()
            raise
        relay.tell(reporter)
        if not request.done.done():
            raise TimeoutError(f"not done after {wait_s:.0f} s")
        answer: T | None = request.done.result()
        return answer

    def ask_soon(self, work: Callable[[], Any], *, urgency: Urgency, key: str) -> Future[Any]:
        """As `ask`, for a caller that need not wait. Fails while another process has the lock.

        One of several that wait under the same `key` is enough.
        """
        request = Request(
            lambda: self._around(lambda _: work(), Silent()), urgency, self._now_s(), key=key
        )
        return self._put(request, lambda: None)

    def tell(self, stage: str, done: int, total: int) -> None:
        """Tell how far it is what runs: callers who wait behind it, and that one whose thread runs.

        What its own caller hears comes by its reporter.
        """
        self._progress = (stage, done, total)
        self._tell()

    # Running

    @property
    def is_tended(self) -> bool:
        return self._wake is not None

    def tend(self, wake: Callable[[], None]) -> None:
        """Run in threads from now on, and call `wake` where `due_s` may have become another."""
        self._wake = wake

    @property
    def is_running(self) -> bool:
        return self._runner is not None

    def other_writer(self) -> str:
        """The other process that may change the database at this moment, "" for none."""
        if self.is_running:
            return ""
        if not self._lock.acquire():
            return self._lock.holder()
        self._lock.release()
        return ""

    @property
    def due_s(self) -> float:
        """When to `begin` next; infinite while it runs, since it sees to that itself."""
        if self._runner is not None or self.is_closing.is_set():
            return math.inf
        return max(self._due_s(), self._not_before_s)

    def begin(self) -> None:
        """Do in a thread what is due."""
        with self._state:
            if not self.is_closing.is_set():
                self._begin()

    def stop(self) -> None:
        """End soon. Who waits is told."""
        self.is_closing.set()

    def close(self, *, until_s: float) -> bool:
        """`stop`, and wait until `until_s`; whether it has ended. It can be used again then."""
        self.stop()
        left_s = min(max(until_s - self._now_s(), 0.0), threading.TIMEOUT_MAX)
        with self._state:  # a caller's thread lives on: it has ended when it no longer runs this
            myself = threading.current_thread()
            if not self._state.wait_for(lambda: self._runner in (None, myself), left_s):
                return False
        self._queue.end_all(_closed())
        self._wake = None
        self.is_closing.clear()
        return True

    def serve(self) -> bool:
        """Do what is asked for and more urgent than what runs here; whether there was any.

        For what takes long, between two slices of it.
        """
        has_served = False
        while not self.is_closing.is_set() and (request := self._queue.take(before=self._urgency)):
            with self._doing(request.urgency):
                request.run()
            has_served = True
        return has_served

    def _put(self, request: Request, tell: Callable[[], None]) -> Future[Any]:
        with self._state:
            if self.is_closing.is_set():
                raise _closed()
            request = self._queue.put(request)
            is_mine = self._wake is None and self._runner is None
            if is_mine:
                self._runner = threading.current_thread()
            elif self._wake is not None:
                self._begin()
        if is_mine:
            self._tell = tell
            try:
                self._run()
            finally:
                self._tell = lambda: None
        return request.done

    def _begin(self) -> None:
        if self._runner is None:
            runner = threading.Thread(target=self._run, name=self._name, daemon=True)
            runner.start()  # the system may give none
            self._runner = runner

    def _run(self) -> None:
        try:
            while not self._is_over():
                try:
                    self._take_turns()
                except Exception as error:
                    self._fail(error)
                    self._queue.end_all(error)
        except BaseException as error:
            self._queue.end_all(error)
            with self._state:
                self._end()
            raise
        wake = self._wake
        if wake is not None:
            wake()

    def _is_over(self) -> bool:
        with self._state:
            if self.is_closing.is_set():
                self._queue.end_all(_closed())
            elif self._queue or self._is_due():
                return False
            self._end()
            return True

    def _end(self) -> None:
        self._runner = None
        self._state.notify_all()

    def _is_due(self) -> bool:
        now_s = self._now_s()
        return self._wake is not None and max(self._due_s(), self._not_before_s) <= now_s

    def _take_turns(self) -> None:
        while not self._lock.acquire():
            self.problem = f"{self._lock.holder()} holds the writer's lock of {self._name}"
            if self.is_closing.is_set():
                return
            hint = "wait for it to finish, or see `memory-sidecar status`"
            self._queue.end_impatient(self._now_s(), StoreBusy(self.problem, hint=hint))
            if not self._queue:
                self._not_before_s = self._now_s() + LOCK_RETRY_S
                return
            self._tell()
            self.is_closing.wait(LOCK_POLL_S)
        self.problem = ""
        try:
            while not self.is_closing.is_set() and self._turn():
                pass
        finally:
            self._lock.release()

    def _turn(self) -> bool:
        """Do the most urgent thing; False when nothing is to be done now."""
        if self.serve():
            return True
        if not self._is_due():
            return False
        try:
            with self._doing(Urgency.ITSELF):
                self._around(lambda _: self._do_due(), Silent())
            self._back_off.reset()
        except Stopped:
            pass
        except Exception as error:  # the loop must outlive whatever one turn meets
            self._fail(error)
        return True

    @contextmanager
    def _doing(self, urgency: Urgency) -> Iterator[None]:
        around = self._urgency, self._progress
        self._urgency, self._progress = urgency, None
        try:
            yield
        finally:
            self._urgency, self._progress = around

    def _fail(self, error: Exception) -> None:
        self._not_before_s = self._now_s() + self._back_off.next_s()
        self._note(error)


def _closed() -> Stopped:
    return Stopped("the database is being closed")
