"""Keeps the sources of one database up to date for as long as the process lives.

Each source has a thread that waits for its watch, scans what the watch points at, and lets the
flow index what the scan found. One more thread gives new chunks their vectors. Everything waits
on a queue or an event: with nothing to do, nothing runs.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from memory_sidecar.clock import Clock
from memory_sidecar.errors import ModelError, NotFound, SidecarError
from memory_sidecar.flows.document import Stopped
from memory_sidecar.flows.engine import BEAT_S
from memory_sidecar.flows.source import Progress, Refreshed
from memory_sidecar.handlers.activity import VECTORS, Failure
from memory_sidecar.handlers.follower import LiveState
from memory_sidecar.handlers.index import Index
from memory_sidecar.handlers.reporter import Silent
from memory_sidecar.handlers.resident import return_free, trim
from memory_sidecar.sources.registry import Source
from memory_sidecar.sources.watch import Settled, Watch

BEGIN_AT_LATEST_S = 1.0  # leaves the processors to the first question
RESCAN_S = 600.0  # events are hints: a whole scan looks for what they missed
RETRY_FIRST_S, RETRY_LONGEST_S = 5.0, 300.0

_log = logging.getLogger(__name__)

EVERYTHING = Settled(paths=frozenset(), everything=True)


class Live:
    """Watches every source of `index` between `start` and `close`."""

    def __init__(
        self, index: Index[Any], *, clock: Clock, begin: threading.Event | None = None
    ) -> None:
        """Waits a moment for `begin`, unless somebody needs it at once."""
        self._index = index
        self._begin = begin or _begun()
        self._clock = clock
        self._sources: dict[str, _LiveSource] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._is_open = threading.Event()  # the database is ours to change
        self._wake = threading.Event()  # there are new chunks, or it is time to stop
        self._said = ""  # the last problem with the model, logged once
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)

    def start(self) -> None:
        """Begin with every source that is registered; returns at once."""
        self._index.live = self
        self._thread.start()

    def follow(self, source: Source) -> None:
        """Watch `source` from now on; nothing changes if it is watched already, as it is now."""
        with self._lock:
            if not self._is_open.is_set() or self._stop.is_set():
                return
            before = self._sources.get(source.name)
            if before is not None and before.source == source and not before.is_over:
                return
            live = _LiveSource(source, self._index, self._clock, self._wake.set)
            self._sources[source.name] = live
        if before is not None:
            before.close()
        live.start()

    def index(self, source: Source, *, full: bool, progress: Progress) -> Refreshed:
        """As `Follower.index`. Whoever stops waiting leaves it to us."""
        self._begin.set()
        while not self._is_open.wait(BEAT_S):
            progress(0, 0)
        self.follow(source)
        with self._lock:
            live = self._sources.get(source.name)
        if live is None:
            raise _unwatched(source)
        asked = live.ask_for(EVERYTHING, full=full)
        while not wait([asked], timeout=BEAT_S).done:
            under_way = self._index.activity.files(source.name)
            progress(*(under_way.done, under_way.total) if under_way else (0, 0))
        try:
            return asked.result()
        except Stopped as error:
            raise _unwatched(source) from error

    def forget(self, name: str) -> None:
        """Watch the source called `name` no longer."""
        with self._lock:
            live = self._sources.pop(name, None)
        if live is not None:
            live.close()
        self._index.activity.went_well(name)

    def look_again(self) -> None:
        """Scan every source once more: rows may have been lost."""
        with self._lock:
            for live in self._sources.values():
                live.ask_for(EVERYTHING)

    def embed_soon(self) -> None:
        """Give the rows that wait for vectors theirs, without being waited for."""
        self._wake.set()

    def states(self) -> list[LiveState]:
        with self._lock:
            return [live.state for live in self._sources.values()]

    def wait_fresh(self, *, timeout_ms: int) -> bool:
        """A barrier: whether every save before this call is indexed within `timeout_ms`.

        Asks the disk, not the watch, whose events may still be on their way.
        """
        deadline = time.monotonic() + timeout_ms / 1000
        self._begin.set()
        if not self._is_open.wait(timeout_ms / 1000):
            return False
        for source in self._index.sources():
            self.follow(source)
        with self._lock:
            sources = list(self._sources.values())
        asked = [live.ask_for(EVERYTHING, recheck=True) for live in sources]
        done, late = wait(asked, timeout=max(deadline - time.monotonic(), 0))
        return not late and all(each.exception() is None for each in done)

    def close(self) -> None:
        """Stop watching. What is being indexed is left where it is: the next one goes on."""
        self._index.live = None
        self._stop.set()
        self._begin.set()
        self._wake.set()
        self._index.stop()
        self._thread.join()

    def _run(self) -> None:
        """Hold the database for as long as its sources are watched, and embed behind them."""
        self._begin.wait(BEGIN_AT_LATEST_S)
        try:
            with self._index.kept_open(_Logged()):
                self._is_open.set()
                for source in self._index.sources():
                    self.follow(source)
                self._wake.set()
                while not self._stop.is_set():
                    self._wake.wait()
                    self._wake.clear()
                    self._embed()
                with self._lock:
                    sources, self._sources = list(self._sources.values()), {}
                for live in sources:
                    live.close()
        except SidecarError as error:
            _log.error("sources are not watched: %s; %s", error.message, error.hint)

    def _embed(self) -> None:
        try:
            embedded = self._index.recovering(
                lambda: self._index.embed(Silent(), stop=self._stop), _Logged()
            )
            self._said = ""
            self._index.activity.went_well(VECTORS)
            if embedded:
                trim()
        except ModelError as error:
            if error.message != self._said:
                self._said = error.message
                self._index.activity.failed(VECTORS, Failure(self._clock(), error.message))
                _log.warning("no vectors: %s; %s", error.message, error.hint)
        except Exception as error:  # the thread must outlive whatever one batch meets
            self._index.activity.failed(VECTORS, Failure(self._clock(), str(error)))
            _log.exception("vectors are left for later")


def _begun() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


class _Logged(Silent):
    """A reporter for what nobody waits for."""

    def notice(self, text: str) -> None:
        _log.info("%s", text)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A scan that somebody wants, and where its outcome goes."""

    settled: Settled
    full: bool = False  # read every file again
    recheck: bool = False  # it is enough to be quick about everything, see `SourceFlow.refresh`
    done: Future[Refreshed] = field(default_factory=Future)


class _LiveSource:
    """One source: its watch, and the thread that answers it."""

    def __init__(
        self, source: Source, index: Index[Any], clock: Clock, on_indexed: Callable[[], None]
    ) -> None:
        self.source = source
        self._index = index
        self._clock = clock
        self._on_indexed = on_indexed
        self._asked: queue.Queue[_Asked | None] = queue.Queue()
        self._folders: set[str] = set()
        self._retry_s = 0.0
        self._rescan_at = time.monotonic() + RESCAN_S
        self._state = LiveState(source.name, False, 0, None, None, "", (), "")
        self.is_over = False  # nothing that is asked for will be answered any more
        self._watch = Watch(source.root, on_settled=self._hear)
        self._thread = threading.Thread(target=self._run, name=f"live {source.name}", daemon=True)

    @property
    def state(self) -> LiveState:
        waiting = [each.settled for each in list(self._asked.queue) if each is not None]
        return replace(
            self._state,
            is_current=self._state.is_current and not waiting,
            waiting=sum(len(settled.paths) or 1 for settled in waiting),
            indexing=self._index.activity.files(self.source.name),
            polled=self._watch.unwatched,
            notice=self._watch.limit_notice,
        )

    def start(self) -> None:
        self.ask_for(EVERYTHING, recheck=True)
        self._thread.start()

    def close(self) -> None:
        self._asked.put(None)
        self._thread.join()

    def ask_for(
        self, settled: Settled, *, full: bool = False, recheck: bool = False
    ) -> Future[Refreshed]:
        """Have `settled` scanned; the future is done when what the scan found is indexed."""
        asked = _Asked(settled, full, recheck)
        self._state = replace(self._state, is_current=False)
        self._asked.put(asked)
        if self.is_over:
            self._give_up_rest()
        return asked.done

    def _hear(self, settled: Settled) -> None:
        self.ask_for(settled)

    def _run(self) -> None:
        # The watch comes before the scan, so that no save falls between them. It begins with the
        # folders of the last scan: after a restart that is nearly all of them.
        try:
            self._folders = self._index.recovering(
                lambda: self._index.known_folders(self.source), _Logged()
            )
            self._watch.start(self._folders)
            while asked := self._next():
                self._answer(asked)
        except Exception as error:
            _log.exception("%s is not watched any more", self.source.name)
            self._state = replace(self._state, error=f"it is not watched any more: {error}")
        finally:
            self._watch.stop()
            self.is_over = True
            self._give_up_rest()

    def _give_up_rest(self) -> None:
        """What was asked for before `is_over` was set is found here, or there, or by both."""
        with suppress(queue.Empty):
            while True:
                if asked := self._asked.get_nowait():
                    _give_up([asked])

    def _next(self) -> list[_Asked]:
        """Everything that has been asked for by now; waits for the first of it. Nothing: end."""
        left_s = max(self._rescan_at - time.monotonic(), 0.0)
        try:
            asked = [self._asked.get(timeout=min(self._retry_s or left_s, left_s))]
        except queue.Empty:
            asked = [_Asked(EVERYTHING)]
        while not self._asked.empty():
            asked.append(self._asked.get_nowait())
        known = [each for each in asked if each is not None]
        if len(known) < len(asked):
            _give_up(known)
            return []
        return known

    def _answer(self, asked: Sequence[_Asked]) -> None:
        whole = [each for each in asked if each.settled.everything]
        under = None if whole else frozenset[str]().union(*(each.settled.paths for each in asked))
        recheck = bool(whole) and all(each.recheck for each in whole)
        if whole and not recheck:
            self._rescan_at = time.monotonic() + RESCAN_S
        try:
            refreshed = self._index.recovering(
                lambda: self._index.refresh(
                    self.source, under=under, full=any(each.full for each in asked), recheck=recheck
                ),
                _Logged(),
            )
        except Stopped:
            _give_up(asked)
            return
        except Exception as error:  # the thread must outlive whatever one refresh meets
            self._note(error)
            for each in asked:
                each.done.set_exception(error)
            return
        self._follow_folders(refreshed.folders, under)
        if refreshed.files_failed:
            self._back_off()
        elif under is None:
            self._retry_s = 0.0
        self._state = replace(self._state, is_current=True, refreshed_at=self._clock(), error="")
        self._index.activity.went_well(self.source.name)
        for each in asked:
            each.done.set_result(refreshed)
        if refreshed.chunks_indexed:
            self._on_indexed()
        if whole:
            return_free()  # of every file a little was in memory

    def _note(self, error: Exception) -> None:
        """Remember what went wrong, say it once, and try again later."""
        expected = isinstance(error, SidecarError)
        message = str(error) or type(error).__name__
        if message != self._state.error:
            _log.warning("%s: %s", self.source.name, message, exc_info=not expected)
        self._state = replace(self._state, error=message)
        failure = Failure(self._clock(), f"{self.source.name}: {message}")
        self._index.activity.failed(self.source.name, failure)
        self._back_off()

    def _back_off(self) -> None:
        self._retry_s = min(max(self._retry_s * 2, RETRY_FIRST_S), RETRY_LONGEST_S)

    def _follow_folders(self, scanned: Iterable[str], under: Iterable[str] | None) -> None:
        """Watch the folders that a scan found, and none that it found gone or ignored."""
        before = frozenset(self._folders)
        if under is None:
            self._folders = set(scanned)
        else:
            for path in under:
                inside = path + "/"
                self._folders -= {f for f in before if f == path or f.startswith(inside)}
            self._folders.update(scanned)
        # After a whole scan in any case: a folder above the root may have been renamed, which no
        # event tells.
        if under is None or self._folders != before:
            self._watch.follow(self._folders)


def _unwatched(source: Source) -> NotFound:
    return NotFound(
        f"{source.name} is not watched any more", hint="see `memory-sidecar source list`"
    )


def _give_up(asked: Iterable[_Asked]) -> None:
    for each in asked:
        each.done.set_exception(Stopped("the pass was ended early"))
