"""One watched source: what was heard of it, and when its files are to be looked at again.

Debounce, retry and rescan are three deadlines; the owner's loop asks for the earliest. Events only
ever move the first of them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.errors import StoreCorrupt
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Time, about
from memory_sidecar.core.times import Clock, iso_utc
from memory_sidecar.disk.rule_files import folders_above
from memory_sidecar.disk.watch import Gathering, Settled, Watch
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.loop import BackOff
from memory_sidecar.index.report import FilesUnderWay
from memory_sidecar.index.source import Refreshed

SAVED_MS, DEBOUNCE_MS, MAX_WAIT_MS = 10, 50, 2_000
RESCAN_S = 600.0  # events are hints: a whole scan looks for what they missed


@dataclass(frozen=True, slots=True)
class LiveState:
    """How the watch of a source is doing."""

    is_current: Annotated[bool, about("nothing saved up to now waits to be indexed")]
    waiting: Annotated[int, about("files and folders that changed and are still to be looked at")]
    indexing: Annotated[FilesUnderWay | None, about("what is being indexed now")]
    refreshed_at: Annotated[Time | None, about("null: not since this process began")]
    error: Annotated[str, about("why it does not follow, or empty")]
    polled: Annotated[tuple[str, ...], about("folders that the system does not watch")]
    notice: Annotated[str, about("what to do about those")]


class Followed:
    """The watch of `source` and its deadlines. Times are those of `now_s`. Thread-safe."""

    def __init__(
        self, source: Source, *, now_s: Callable[[], float], on_due: Callable[[], None]
    ) -> None:
        """`on_due` is called when a deadline may have come nearer. At first a scan is due."""
        self.source = source
        self.error = ""
        self.refreshed_at: int | None = None
        self._now_s = now_s
        self._on_due = on_due
        self._lock = threading.Lock()
        self._gathering = Gathering(
            debounce_ms=DEBOUNCE_MS, max_wait_ms=MAX_WAIT_MS, saved_ms=SAVED_MS
        )
        self._watch = Watch(source.root, on_change=self._hear)
        self._folders: set[str] = set()
        self._is_watching = False
        self._is_looking = False
        self._back_off = BackOff()
        self._retry_at = math.inf
        self._rescan_at = 0.0

    @property
    def due_s(self) -> float:
        """When to look at the files next."""
        with self._lock:
            if self._retry_at < math.inf and self.error:
                return self._retry_at  # the disk is not asked more often because events come
            return min(self._gathering.due_s, self._retry_at, self._rescan_at)

    def state(self, indexing: FilesUnderWay | None) -> LiveState:
        with self._lock:
            waiting = self._gathering.count
            has_to_look = waiting or self._is_looking or self.refreshed_at is None
            has_to_look = has_to_look or self._watch.has_broken_off
            return LiveState(
                is_current=not has_to_look and not self.error,
                waiting=waiting,
                indexing=indexing,
                refreshed_at=iso_utc(self.refreshed_at) if self.refreshed_at else None,
                error=self.error,
                polled=self._watch.unwatched,
                notice=self._watch.limit_notice,
            )

    def rescan_soon(self) -> None:
        """Have everything looked at again: rows may have been lost."""
        with self._lock:
            self._rescan_at = self._now_s()
        self._on_due()

    def look(self) -> None:
        """Notice what no event tells."""
        if self._is_watching:
            self._watch.look()

    def close(self) -> None:
        self._watch.stop()

    # By the owner, around a pass

    def begin(self, folders: Callable[[], Collection[str]], *, everything: bool) -> Settled:
        """What to scan now: the paths that have settled, or everything. The watch comes first.

        It begins with `folders`, those of the last scan: after a restart these are nearly all.
        """
        if not self._is_watching:
            self._folders = set(folders())
            self._watch.start(self._folders)
            self._is_watching = True
        with self._lock:
            now_s = self._now_s()
            everything |= now_s >= min(self._retry_at, self._rescan_at)
            settled = self._gathering.take()
            self._is_looking = True
        return self._watch.catch_up(
            Settled(settled.paths, everything or settled.everything or self.refreshed_at is None)
        )

    def told(
        self, look: Callable[[], Refreshed], under: Collection[str] | None, *, clock: Clock
    ) -> Refreshed:
        """Do `look`, a pass over the paths `under` or over everything; remember how it ended."""
        try:
            refreshed = look()
        except (Stopped, StoreCorrupt):  # a damaged database is begun anew at once
            self._put_off()
            raise
        except Exception as error:
            self._fail(str(error) or type(error).__name__)
            raise
        self._succeed(refreshed, under, at_ms=clock())
        return refreshed

    def _succeed(self, refreshed: Refreshed, under: Collection[str] | None, *, at_ms: int) -> None:
        """The pass over `under`, or everything, is committed: watch what the scan found."""
        with self._lock:
            self._is_looking = False
            self.refreshed_at, self.error = at_ms, ""
            if under is None:
                self._rescan_at = self._now_s() + RESCAN_S
            if refreshed.files_failed:
                self._retry_at = self._now_s() + self._back_off.next_s()
            elif under is None:
                self._retry_at = math.inf
                self._back_off.reset()
        before = frozenset(self._folders)
        if under is None:
            self._folders = set(refreshed.folders)
        else:
            gone = set(under)
            self._folders = {
                each for each in before if each not in gone and gone.isdisjoint(folders_above(each))
            }
            self._folders.update(refreshed.folders)
        if under is None or self._folders != before:
            self._watch.follow(self._folders)

    def _fail(self, error: str) -> None:
        """The pass did not come to its end; everything is scanned again after a while."""
        with self._lock:
            self._is_looking = False
            self.error = error
            self._retry_at = self._now_s() + self._back_off.next_s()
            self._rescan_at = self._now_s() + RESCAN_S

    def _put_off(self) -> None:
        """The pass was ended early: it is due again."""
        with self._lock:
            self._is_looking = False
            self._rescan_at = self._now_s()

    def _hear(self, path: str, *, is_whole: bool = False) -> None:
        with self._lock:
            self._gathering.add(path, self._now_s(), is_whole=is_whole)
            if not path:  # the root is another one, or back: the failure may be over
                self._retry_at = min(self._retry_at, self._gathering.due_s)
        self._on_due()
