"""Runs the work of one database in one thread at a time, under the writer's lock.

Requests of callers come first, background work follows. The thread exists while there is work: a
daemon starts one; elsewhere it is the thread of a caller, which then also runs the requests of
other callers. Every wait here ends: patience with another process that holds the lock is limited,
and closing ends everything.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from memory_sidecar.core.errors import StoreBusy, StoreReadOnly
from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.requests import BEAT_S, Relay, Request, Requests, Urgency, more_urgent

LOCK_POLL_S = 0.05
LOCK_RETRY_S = 1.0  # between attempts while no caller waits
RETRY_FIRST_S, RETRY_LONGEST_S = 5.0, 300.0

T = TypeVar("T")


class BackOff:
    """Exponential back-off between retries, from RETRY_FIRST_S to RETRY_LONGEST_S."""

    def __init__(self) -> None:
        self._pause_s = 0.0

    def next_s(self) -> float:
        self._pause_s = min(max(self._pause_s * 2, RETRY_FIRST_S), RETRY_LONGEST_S)
        return self._pause_s

    def reset(self) -> None:
        self._pause_s = 0.0


class Loop:
    """The loop of one owner: serves requests, then does what is due. Thread-safe."""

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
        """Times are seconds on the clock `now_s`; `due_s` returns when background work is due.

        `do_due` does one piece of it, `note` is called with its failures. Every piece of work runs
        as `around(work, reporter)`, which calls `work` and may recover from its errors.
        """
        self.problem = ""  # why no work can be done at the moment; "" for none
        self.is_closing = threading.Event()
        self._lock = lock
        self._name = name
        self._due_s = due_s
        self._do_due = do_due
        self._note = note
        self._around = around
        self._now_s = now_s
        self._queue = Requests()
        self._urgency = Urgency.IDLE  # of the work that runs now
        self._late_at_s = math.inf  # from when on no caller waits for that work any more
        self._progress: tuple[str, int, int] | None = None  # of the work that runs now
        self._state = threading.Condition()  # guards `_runner`
        self._runner: threading.Thread | None = None
        self._wake: Callable[[], None] | None = None  # None: callers run the loop themselves
        self._forward: Callable[[], None] = lambda: None  # reports to the caller that runs the loop
        self._back_off = BackOff()
        self._not_before_s = 0.0  # when background work may go on, after a failure

    # Called by threads that want work done

    def ask(
        self,
        work: Callable[[Reporter], T],
        reporter: Reporter,
        *,
        urgency: Urgency,
        patience_s: float,
        is_redundant: Callable[[], bool] = lambda: False,
    ) -> T | None:
        """Run `work` in its turn, wait for it and return its result, or raise what it raised.

        While another process holds the lock, waits up to `patience_s` before it raises StoreBusy,
        and returns None as soon as `is_redundant()`, for example because that process did the work.
        Raises what `reporter` raises; the work goes on then, unless this thread was running it.
        Raises Stopped when the loop is closed.
        """
        if self._runner is threading.current_thread():
            result: T = self._around(work, reporter)
            return result
        relay = Relay()
        patience_until_s = self._now_s() + patience_s
        request = Request(
            lambda: self._around(work, relay), urgency, patience_until_s, is_redundant
        )
        has_noticed = False

        def forward() -> None:
            nonlocal has_noticed
            relay.forward(reporter)
            if self.problem and not has_noticed:
                has_noticed = True
                reporter.notice(f"waiting: {self.problem}")

        try:
            self._put(request, forward)
            while not wait([request.done], timeout=BEAT_S).done:
                forward()
                if (ahead := self._progress) and not request.done.running():
                    reporter.progress(*ahead)
        except BaseException:
            request.done.cancel()
            raise
        relay.forward(reporter)
        answer: T | None = request.done.result()
        return answer

    def ask_soon(
        self, work: Callable[[], Any], *, urgency: Urgency, key: str, wait_s: float = math.inf
    ) -> Future[Any]:
        """Queue `work` and return its future; it fails while another process holds the lock.

        Where a request with the same `key` waits already, returns the future of that one. The
        caller waits for `wait_s`.
        """
        now_s, run = self._now_s(), partial(self._around, lambda _: work(), Silent())
        request = Request(run, urgency, now_s, key=key, late_at_s=now_s + wait_s)
        return self._put(request, lambda: None)

    def share_progress(self, stage: str, done: int, total: int) -> None:
        """Show the progress of the running work to the callers who wait for it to end.

        The caller of the work itself hears of it from its own reporter.
        """
        self._progress = (stage, done, total)
        self._forward()

    # Running

    @property
    def runs_in_background(self) -> bool:
        """Whether the loop runs in threads of its own, and does what is due."""
        return self._wake is not None

    def run_in_background(self, wake: Callable[[], None]) -> None:
        """Run in threads of its own from now on, and call `wake` when `due_s` may have changed."""
        self._wake = wake

    def wake(self) -> None:
        """Call what `run_in_background` was given, as `due_s` may have changed."""
        if (wake := self._wake) is not None:
            wake()

    @property
    def is_running(self) -> bool:
        return self._runner is not None

    def other_writer(self) -> str:
        """Name the other process that holds the writer's lock now, "" for none."""
        if self.is_running:
            return ""
        with suppress(StoreReadOnly):  # where no other process can write either
            if not self._lock.acquire():
                return self._lock.holder()
            self._lock.release()
        return ""

    @property
    def due_s(self) -> float:
        """When to call `begin` next; infinite while a thread runs, since that does what is due."""
        if self._runner is not None or self.is_closing.is_set():
            return math.inf
        return max(self._due_s(), self._not_before_s)

    def begin(self, *, anew: bool = False) -> None:
        """Start a thread that does what is due, unless one runs; `anew`: also after a failure."""
        with self._state:
            if anew:
                self._not_before_s = 0.0
            if not self.is_closing.is_set():
                self._begin()

    def stop(self) -> None:
        """Have the loop end soon; requests that wait fail with Stopped."""
        self.is_closing.set()

    def close(self, *, until_s: float) -> bool:
        """Stop, wait until `until_s` for the work to end, and return whether it has.

        If so, the loop can be used again.
        """
        self.stop()
        left_s = min(max(until_s - self._now_s(), 0.0), threading.TIMEOUT_MAX)
        with self._state:  # not `join`: a caller's thread lives on after it has run the loop
            myself = threading.current_thread()
            if not self._state.wait_for(lambda: self._runner in (None, myself), left_s):
                return False
        self._queue.fail_all(_closed())
        self._wake = None
        self.is_closing.clear()
        return True

    def serve(self, *, during: Urgency | None = None) -> bool:
        """Run the queued requests that are more urgent than `during`, by default the running work.

        Returns whether there were any. Long work calls this between two of its slices.
        """
        has_served = False
        while not self.is_closing.is_set():
            is_late = self._now_s() >= self._late_at_s
            urgency = self._urgency if during is None else during
            request = self._queue.take(more_urgent(urgency, is_late=is_late))
            if request is None:
                break
            with self._working_at(request.urgency, late_at_s=request.late_at_s):
                request.run()
            has_served = True
        return has_served

    def _put(self, request: Request, forward: Callable[[], None]) -> Future[Any]:
        """Queue `request` and see that a thread runs the loop: this one, outside of a daemon.

        Meanwhile `forward` is called to pass on to the caller what its request has reported.
        """
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
            self._forward = forward
            try:
                self._run()
            finally:
                self._forward = lambda: None
        return request.done

    def _begin(self) -> None:
        if self._runner is None:
            runner = threading.Thread(target=self._run, name=self._name, daemon=True)
            runner.start()  # may fail, at the system's limit of threads
            self._runner = runner

    def _run(self) -> None:
        """Run in this thread until no work is left."""
        try:
            while not self._has_ended():
                try:
                    self._work_locked()
                except Exception as error:
                    self._fail(error)
                    self._queue.fail_all(error)
        except BaseException as error:
            with self._state:  # else what is queued in between would wait for ever
                self._queue.fail_all(error)
                self._end()
            raise
        self.wake()

    def _has_ended(self) -> bool:
        """Return whether no work is left; if so, also note that no thread runs the loop."""
        with self._state:
            if self.is_closing.is_set():
                self._queue.fail_all(_closed())
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

    def _work_locked(self) -> None:
        """Do all work there is under the writer's lock; wait for it as long as callers wait."""
        while not self._lock.acquire():
            self.problem = f"{self._lock.holder()} holds the writer's lock of {self._name}"
            if self.is_closing.is_set():
                return
            hint = "wait for it to finish, or see `memory-sidecar status`"
            self._queue.fail_impatient(self._now_s(), StoreBusy(self.problem, hint=hint))
            if not self._queue:
                self._not_before_s = self._now_s() + LOCK_RETRY_S
                return
            self._forward()
            self.is_closing.wait(LOCK_POLL_S)
        self.problem = ""
        try:
            while not self.is_closing.is_set() and self._work_once():
                pass
        finally:
            self._lock.release()

    def _work_once(self) -> bool:
        """Serve the requests, else do one piece of background work; False where there is none."""
        if self.serve():
            return True
        if not self._is_due():
            return False
        try:
            with self._working_at(Urgency.BACKGROUND):
                self._around(lambda _: self._do_due(), Silent())
            self._back_off.reset()
        except Stopped:
            pass
        except Exception as error:  # the loop must outlive a failure of one piece of work
            self._fail(error)
        return True

    @contextmanager
    def _working_at(self, urgency: Urgency, *, late_at_s: float = math.inf) -> Iterator[None]:
        """Mark the block as work of this urgency; it may lie within less urgent work."""
        around = self._urgency, self._late_at_s, self._progress
        self._urgency, self._late_at_s, self._progress = urgency, late_at_s, None
        try:
            yield
        finally:
            self._urgency, self._late_at_s, self._progress = around

    def _fail(self, error: Exception) -> None:
        self._not_before_s = self._now_s() + self._back_off.next_s()
        self._note(error)


def _closed() -> Stopped:
    return Stopped("the database is being closed")
