"""The background thread of a daemon, which looks after all its databases.

It starts the loop of an owner when something is due there, polls for changes that cause no event (a
replaced root, folders that cannot be watched), and releases idle connections, idle vectors, and
memory that the allocator has kept.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from memory_sidecar.core.process import return_free, trim
from memory_sidecar.index.database import Database
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.watched import WatchedSource

BEGIN_AT_LATEST_S = 1.0  # until then the first question has the processors to itself
POLL_EVERY_S = 1.0
WATCH_EVERY_S = 5.0  # between attempts to read the registered sources, where that failed
MAX_AT_ONCE = 3  # owners that index for the first time or embed; changes and requests never wait
REST_AFTER_S = 30.0  # an unused database closes its connections
TRIM_EVERY_S = 30.0  # while owners work without a pause
POLL_THREADS = 2  # each may be blocked by a disk that does not answer
UNLOAD_AFTER_S = 300.0  # an unused database drops its vectors from memory, too

_log = logging.getLogger(__name__)


class Scheduler:
    """Watches and schedules the databases that were added, from `start` to `close`."""

    def __init__(self, *, begin: threading.Event | None = None) -> None:
        """Scheduling begins when `begin` is set, or after BEGIN_AT_LATEST_S; None: at once."""
        self._begin = begin
        self._owners: dict[Database[Any], Owner[Any]] = {}
        self._unwatched: list[Database[Any]] = []  # their sources are not watched yet
        self._chores: list[_Chore] = []
        self._pollers = ThreadPoolExecutor(POLL_THREADS, thread_name_prefix="polling")
        self._polls: dict[WatchedSource, Future[None]] = {}  # by source, the last poll of it
        self._lock = threading.Lock()  # guards `_owners`
        self._woken = threading.Event()
        self._is_closed = False
        self._has_worked = False
        self._is_new = False
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)

    def add(self, database: Database[Any]) -> None:
        """Watch the sources of `database`, and have its owner work in threads, from now on."""
        with self._lock:
            if self._is_closed or database in self._owners:
                return
            owner = self._owners[database] = database.owner
            self._unwatched.append(database)
            self._is_new = True
        owner.loop.run_in_background(self.wake)
        self.wake()

    def every(self, seconds: float, work: Callable[[], object]) -> None:
        """Call `work`, which takes milliseconds, every `seconds`. Only before `start`."""
        self._chores.append(_Chore(seconds, work, time.monotonic() + seconds))

    def start(self) -> None:
        self.every(POLL_EVERY_S, self._poll)
        self.every(WATCH_EVERY_S, self._watch)
        self.every(TRIM_EVERY_S, self._trim)
        self._thread.start()

    def wake(self) -> None:
        """Look for due work again, as a deadline may be nearer. Any thread may call this."""
        self._woken.set()

    def close(self, *, until_s: float) -> None:
        """Close all databases, waiting until `until_s` at most; what is committed stays."""
        with self._lock:
            self._is_closed = True
            owners = dict(self._owners)
        self.wake()
        for owner in owners.values():
            owner.stop()
        for database in owners:
            if not database.close(until_s=until_s):
                _log.warning("%s was left in the middle of something", database.paths.db)
        if self._thread.is_alive():
            self._thread.join(max(until_s - time.monotonic(), 0.0))
        self._pollers.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        if self._begin is not None:
            self._begin.wait(BEGIN_AT_LATEST_S)
        while not self._is_closed:
            due_s = math.inf
            try:
                if self._is_new:
                    self._is_new = False
                    self._watch()
                self._do_chores()
                due_s = self._start_due_owners()
            except Exception:  # the thread must outlive a failure of one database
                _log.exception("the scheduler goes on")
            due_s = min(due_s, *(chore.due_s for chore in self._chores))
            self._woken.wait(max(due_s - time.monotonic(), 0.0))
            self._woken.clear()

    def _start_due_owners(self) -> float:
        """Start the loops of owners that have work due; return when the next one is due."""
        now_s = time.monotonic()
        owners = self._all().values()
        running = sum(owner.loop.is_running for owner in owners)
        self._has_worked |= running > 0
        next_s = math.inf
        due = [(owner.loop.due_s, owner) for owner in owners]
        for due_s, owner in sorted(due, key=lambda each: each[0]):
            if due_s > now_s:
                next_s = min(next_s, due_s)
            elif running < MAX_AT_ONCE or any(
                each.refreshed_at and each.due_s <= now_s for each in owner.watched_sources()
            ):
                owner.loop.begin()
                running += 1
        return next_s

    def _do_chores(self) -> None:
        for chore in self._chores:
            if time.monotonic() >= chore.due_s:
                chore.due_s = time.monotonic() + chore.seconds
                chore.work()

    def _watch(self) -> None:
        """Watch the registered sources of new databases, and of those whose last attempt failed."""
        for database in list(self._unwatched):
            try:
                database.owner.watch(*database.sources())
            except Exception as error:  # the others are to be watched all the same
                database.owner.note(error)
            else:
                self._unwatched.remove(database)

    def _poll(self) -> None:
        """Poll the watched sources whose last poll has ended, and release what idle databases hold.

        Polls run in threads of their own, so that a mount that hangs blocks no other source. If
        POLL_THREADS mounts hang, no source is polled any more; events and scans go on.
        """
        owners = self._all()
        self._polls = {each: poll for each, poll in self._polls.items() if not poll.done()}
        for owner in owners.values():
            for each in owner.watched_sources():
                if each not in self._polls:
                    self._polls[each] = self._pollers.submit(_poll_source, each)
        for database in owners:
            unused_s = time.monotonic() - database.file.used_at_s
            if unused_s >= UNLOAD_AFTER_S:
                database.file.unload()
            elif unused_s >= REST_AFTER_S:
                database.file.rest()
        if self._has_worked and not any(each.loop.is_running for each in owners.values()):
            self._has_worked = False
            return_free()  # a pass leaves garbage of every file in memory

    def _trim(self) -> None:
        if self._has_worked:
            trim()

    def _all(self) -> dict[Database[Any], Owner[Any]]:
        with self._lock:
            return dict(self._owners)


def _poll_source(watched: WatchedSource) -> None:
    try:
        watched.poll()
    except Exception:
        _log.exception("%s is polled again later", watched.source.root)


@dataclass(slots=True)
class _Chore:
    seconds: float  # from one time to the next
    work: Callable[[], object]
    due_s: float
