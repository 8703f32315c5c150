"""One thread that looks after all databases of a process while no call does.

It has an owner begin when something is due there, notices what no event tells (another folder in
the place of a root, changes in folders that cannot be watched), and gives back what idles:
connections, the memory of vectors and models, and what the allocator kept.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.process import return_free, trim
from memory_sidecar.index.database import Database
from memory_sidecar.index.followed import Followed
from memory_sidecar.index.owner import Owner

BEGIN_AT_LATEST_S = 1.0  # leaves the processors to the first question
LOOK_EVERY_S = 1.0
FOLLOW_EVERY_S = 5.0  # tried, while what is registered cannot be read
MAX_AT_ONCE = 3  # owners with a first index or vectors to make; changes and callers wait for none
REST_AFTER_S = 30.0  # unused, a database gives its connections back
TRIM_EVERY_S = 30.0  # where owners work without a pause
LOOKING = 2  # threads; each of them can be held by a disk that does not answer
UNLOAD_AFTER_S = 300.0  # unused, the memory of its vectors, too

_log = logging.getLogger(__name__)


class Tending:
    """Tends the databases it is given, from `start` to `close`."""

    def __init__(self, *, begin: threading.Event | None = None) -> None:
        """Waits a moment for `begin`; what callers ask for is done before."""
        self._begin = begin
        self._owners: dict[Database[Any], Owner[Any]] = {}
        self._unfollowed: list[Database[Any]] = []
        self._chores: list[_Chore] = []
        self._looks = _Looks()
        self._lock = threading.Lock()  # of the databases
        self._woken = threading.Event()
        self._is_closed = False
        self._has_worked = False
        self._is_new = False
        self._thread = threading.Thread(target=self._run, name="tending", daemon=True)

    def tend(self, database: Database[Any]) -> None:
        """Watch its sources from now on, and do in threads what it has to do."""
        with self._lock:
            if self._is_closed or database in self._owners:
                return
            owner = self._owners[database] = database.owner
            self._unfollowed.append(database)
            self._is_new = True
        owner.tend(self.wake)
        self.wake()

    def every(self, seconds: float, work: Callable[[], object]) -> None:
        """Do `work`, which takes milliseconds, every so many seconds. Before `start`."""
        self._chores.append(_Chore(seconds, work, time.monotonic() + seconds))

    def start(self) -> None:
        self.every(LOOK_EVERY_S, self._look)
        self.every(FOLLOW_EVERY_S, self._follow)
        self.every(TRIM_EVERY_S, self._trim)
        self._thread.start()

    def wake(self) -> None:
        """Something may be due earlier than it was. Any thread may call this."""
        self._woken.set()

    def close(self, *, until_s: float) -> None:
        """End all owners, until `until_s` at the latest; what they have committed stays."""
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
        self._looks.end()

    def _run(self) -> None:
        if self._begin is not None:
            self._begin.wait(BEGIN_AT_LATEST_S)
        while not self._is_closed:
            due_s = min((chore.due_s for chore in self._chores), default=math.inf)
            try:
                if self._is_new:
                    self._is_new = False
                    self._follow()
                due_s = min(due_s, self._begin_what_is_due())
                self._do_chores()
            except Exception:  # it must outlive whatever one database meets
                _log.exception("tending goes on")
            self._woken.wait(max(due_s - time.monotonic(), 0.0))
            self._woken.clear()

    def _begin_what_is_due(self) -> float:
        """Have owners begin; returns when the next one is due, if none wakes us before."""
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
                each.refreshed_at and each.due_s <= now_s for each in owner.followed()
            ):
                owner.loop.begin()
                running += 1
        return next_s

    def _do_chores(self) -> None:
        for chore in self._chores:
            if time.monotonic() >= chore.due_s:
                chore.due_s = time.monotonic() + chore.seconds
                chore.work()

    def _follow(self) -> None:
        """What is registered, of the databases that came since it was last possible."""
        with self._lock:
            unfollowed, self._unfollowed = self._unfollowed, []
        for database in unfollowed:
            try:
                for source in database.sources():
                    database.owner.follow(source)
            except (SidecarError, OSError) as error:
                database.owner.note(error)
                self._unfollowed.append(database)

    def _look(self) -> None:
        """At roots, and at what idles."""
        owners = self._all()
        self._looks.begin([each for owner in owners.values() for each in owner.followed()])
        for database in owners:
            unused_s = time.monotonic() - database.file.used_at_s
            if unused_s >= REST_AFTER_S:
                database.file.rest()
            if UNLOAD_AFTER_S <= unused_s < UNLOAD_AFTER_S + 2 * LOOK_EVERY_S:
                database.file.unload()
        if self._has_worked and not any(each.loop.is_running for each in owners.values()):
            self._has_worked = False
            return_free()  # of every file a little was in memory

    def _trim(self) -> None:
        if self._has_worked:
            trim()

    def _all(self) -> dict[Database[Any], Owner[Any]]:
        with self._lock:
            return dict(self._owners)


class _Looks:
    """Looks at roots in threads of its own: a mount that hangs keeps none but its own look waiting.

    Where `LOOKING` of them hang, no root is looked at; events and scans go on.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKING, thread_name_prefix="looking")
        self._under_way: dict[Followed, Future[None]] = {}

    def begin(self, followed: Sequence[Followed]) -> None:
        """Look at each once more, unless it is still being looked at."""
        under_way = {each: look for each, look in self._under_way.items() if not look.done()}
        for each in followed:
            if each not in under_way:
                under_way[each] = self._threads.submit(self._look, each)
        self._under_way = under_way

    def end(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _look(followed: Followed) -> None:
        try:
            followed.look()
        except Exception:
            _log.exception("%s is looked at again later", followed.source.root)


@dataclass(slots=True)
class _Chore:
    seconds: float  # from one time to the next
    work: Callable[[], object]
    due_s: float
