"""One watched source: the changes reported for it, and when its next pass is due.

It has three deadlines, debounce, retry and rescan; the owner's loop waits for the earliest. Events
of the file system only ever move the debounce.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.errors import StoreCorrupt, as_sidecar_error
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Time, about, name_first, pluralize
from memory_sidecar.core.times import Clock, iso_utc
from memory_sidecar.core.visible import abridge
from memory_sidecar.disk.rule_files import folders_above
from memory_sidecar.disk.watch import EVERYTHING, Debouncer, Watch
from memory_sidecar.index.document import Builder, Stopped
from memory_sidecar.index.loop import BackOff
from memory_sidecar.index.report import FilesUnderWay
from memory_sidecar.index.source import PassResult

SAVED_MS, DEBOUNCE_MS, MAX_WAIT_MS = 10, 50, 2_000
RULES_S = 5.0  # between two looks at what lies outside of the source; each takes 0.5 ms
WORTH_SAYING = 20  # files left: fewer are indexed before the answer is read
RESCANNED = "being rescanned"
SHOWN_UNREADABLE = 3
RESCAN_S = 600.0  # events are hints: a scan of the whole source finds what they missed


@dataclass(frozen=True, slots=True)
class LiveState:
    """How current a watched source is, as `status` shows it."""

    is_current: Annotated[bool, about("nothing saved up to now waits to be indexed")]
    waiting: Annotated[int, about("files and new folders that are still to be looked at")]
    is_rescanned: Annotated[bool, about("all of it changed, perhaps, and is still to be looked at")]
    indexing: Annotated[FilesUnderWay | None, about("what is being indexed now")]
    refreshed_at: Annotated[Time | None, about("null: not since the process or the database began")]
    error: Annotated[str, about("why it does not follow, or empty")]
    polled: Annotated[tuple[str, ...], about("folders that the system does not watch")]
    notice: Annotated[str, about("what to do about those, and which folders may not be read")]

    @property
    def is_unscanned(self) -> bool:
        """Whether its first scan has yet to end, or to fail."""
        return not (self.refreshed_at or self.error)

    @property
    def problem(self) -> str:
        """Why an answer shows files as they were: an error, or a long pass; "" for neither."""
        if self.error or not self.refreshed_at:  # other notices tell of a first pass
            return self.error
        left = self.waiting
        if self.indexing:
            left += self.indexing.files_total - self.indexing.files_done
        if left < WORTH_SAYING:
            return RESCANNED if self.is_rescanned else ""
        return f"{left:,} files are still to be indexed"

    @property
    def in_words(self) -> str:
        """How current it is, to its last detail."""
        if self.indexing and not self.error:
            return f"indexing {self.indexing.in_words}"
        waiting = self.waiting and pluralize(self.waiting, "change waits", "changes wait")
        waiting = RESCANNED if self.is_rescanned else waiting
        return self.error or waiting or currency(self.is_current)


def currency(is_current: bool) -> str:
    """Return how current something is in words, where no more is known of it than that."""
    return "up to date" if is_current else "being brought up to date"


class WatchedSource:
    """The watch of a source and its deadlines, held by the owner. Thread-safe.

    Deadlines are seconds on the clock `now_s`.
    """

    def __init__(
        self,
        source: Source,
        builder: Builder,
        *,
        was_indexed: Callable[[], bool],
        now_s: Callable[[], float],
        on_due: Callable[[], None],
    ) -> None:
        """Start with a scan that is due now; `on_due` is called when a deadline may be nearer.

        `builder` knows what outside of the source decides about its rows: rules and commits.
        `was_indexed` returns whether its version has indexed the whole source, perhaps long ago.
        """
        self.source = source
        self.error = ""
        self.refreshed_at: int | None = None
        self._builder = builder
        self._was_indexed = was_indexed
        self._outside = ""
        self._looking = threading.Lock()  # else a slow look would overwrite what a later one saw
        self._rules_at = 0.0
        self._now_s = now_s
        self._on_due = on_due
        self._lock = threading.Lock()
        self._gathering = Debouncer(
            debounce_ms=DEBOUNCE_MS, max_wait_ms=MAX_WAIT_MS, saved_ms=SAVED_MS
        )
        self._watch = Watch(source.root, on_change=self._on_change)
        self._folders: set[str] = set()
        self._unreadable: set[str] = set()
        self._is_watching = False
        self._passes = 0  # under way: one, and perhaps others within it
        self._begun_with = frozenset[str]()  # changes that the latest pass had to look at
        self._scans = 0  # passes over the whole source that ended well
        self._setbacks = 0  # passes that failed or were ended early, so that another must follow
        self._back_off = BackOff()
        self._retry_at = math.inf
        self._rescan_at = 0.0

    @property
    def due_s(self) -> float:
        """When the next pass is due."""
        with self._lock:
            if self._retry_at < math.inf and self.error:
                return self._retry_at  # events do not shorten the back-off after a failure
            return min(self._gathering.due_s, self._retry_at, self._rescan_at)

    def due_during(self, under_way: Collection[str]) -> float:
        """Return when the next pass is due while those over the sources `under_way` run.

        Only saved files are due then. During a pass over this source, these must be of one save, or
        its rules must have changed: then all of it is due, as the pass may index what they ignore
        now. Before its first scan a source is not watched, so that scan is due, too, if a question
        waits for it or the source was indexed before. At most two sources have passes at once, each
        of which has an engine, and perhaps worker processes.
        """
        is_first = self.refreshed_at is None
        is_only_other = len(under_way) == 1 and self.source.name not in under_way
        is_awaited = self._rescan_at == -math.inf
        if not under_way or (is_first and is_only_other and (is_awaited or self._was_indexed())):
            return self.due_s
        with self._lock:
            is_waiting = is_first
            if self.source.name in under_way:
                is_waiting |= self._passes > 2 or not self._gathering.is_save
                is_waiting &= self._passes > 1 or not self._gathering.is_everything
            is_waiting |= len(under_way) > 1 or bool(self.error)
            return math.inf if is_waiting else self._gathering.due_s

    def state(self, indexing: FilesUnderWay | None, stuck: str = "") -> LiveState:
        """`stuck`: why the database cannot be written, shown if changes wait; "" if it can."""
        with self._lock:
            begun = self._begun_with if self._passes and not indexing else frozenset()
            waiting = self._gathering.paths | begun
            error = self.error or (stuck if waiting else "")
            is_behind = waiting or self._passes or self.refreshed_at is None
            is_behind = is_behind or self._watch.has_broken_off
            return LiveState(
                is_current=not is_behind and not self.error,
                waiting=len(waiting - self._folders),  # a known folder is only listed again
                is_rescanned=self._gathering.is_everything or begun == EVERYTHING,
                indexing=indexing,
                refreshed_at=iso_utc(self.refreshed_at) if self.refreshed_at else None,
                error="" if indexing else error,  # a retry is under way
                polled=self._watch.unwatched,
                notice="; ".join(filter(None, (self._watch.limit_notice, self._unread_notice()))),
            )

    def start_over(self) -> None:
        """Count as never scanned until the scan that is due now: the rows go to a new database."""
        with self._lock:
            self.refreshed_at = None
        self.rescan_soon()

    def hasten(self) -> None:
        """Have the first scan go before those of other sources, even after a failure.

        Called while a question waits for it.
        """
        with self._lock:
            if self.refreshed_at is None:
                self._rescan_at, self.error = -math.inf, ""
        self._on_due()

    def rescan_soon(self) -> None:
        """Make a scan of the whole source due now."""
        with self._lock:
            self._rescan_at = self._now_s()
        self._on_due()

    def poll(self) -> None:
        """Check what the system reports no events for.

        That is a replaced root, unwatched folders, rules above the root or of git, and commits.
        """
        if not self._is_watching:
            return
        self._watch.look()
        if self._now_s() >= self._rules_at:
            self._look_outside()

    def close(self) -> None:
        self._watch.stop()

    # Called by the owner, around a pass

    def begin(self, folders: Callable[[], Collection[str]], *, everything: bool) -> frozenset[str]:
        """Return the batch that the pass that starts now has to scan.

        The first call starts the watch, before any scan, on the `folders` of the last scan, which
        after a restart are nearly all there are.
        """
        if not self._is_watching:
            self._folders = set(folders())
            self._watch.start(self._folders)
            self._is_watching = True
        self._look_outside()  # else a part would be indexed by rules that no whole scan has used
        with self._lock:
            now_s = self._now_s()
            if not self._passes:  # else the pass around this one does that, and moves the deadlines
                everything |= now_s >= min(self._retry_at, self._rescan_at)
            settled = self._begun_with = self._gathering.take()
            self._passes += 1
        everything |= self.refreshed_at is None or settled == EVERYTHING
        try:
            return self._watch.catch_up(EVERYTHING if everything else settled)
        except BaseException:
            self._interrupt()
            raise

    def record(
        self, run_pass: Callable[[], PassResult], under: Collection[str] | None, *, clock: Clock
    ) -> PassResult:
        """Call `run_pass`, a pass over the paths `under` (None: all); set deadlines by its outcome.

        Returns and raises what `run_pass` does.
        """
        scans, setbacks = self._scans, self._setbacks
        try:
            refreshed = run_pass()
        except (Stopped, StoreCorrupt):  # the caller replaces a damaged database at once
            self._interrupt()
            raise
        except Exception as error:
            self._fail(str(as_sidecar_error(error, hint="")))
            raise
        self._succeed(
            refreshed,
            under,
            at_ms=clock(),
            is_latest=self._scans == scans,
            is_clean=self._setbacks == setbacks,
        )
        return refreshed

    def _succeed(
        self,
        refreshed: PassResult,
        under: Collection[str] | None,
        *,
        at_ms: int,
        is_latest: bool,
        is_clean: bool,
    ) -> None:
        """Note that a pass over `under` (None: all) is committed; watch the folders it found.

        Unless `is_latest`, an inner pass over the whole source has found later ones, which stay.
        Unless `is_clean`, an inner pass failed or was ended early, and its deadline stands.
        """
        with self._lock:
            self._passes -= 1
            self.refreshed_at = at_ms
            self._scans += under is None
            if is_clean:
                self.error = ""
                if under is None:
                    self._rescan_at, self._retry_at = self._now_s() + RESCAN_S, math.inf
            if refreshed.files_failed:
                self._setbacks += 1
                self._retry_at = self._now_s() + self._back_off.next_s()
            elif under is None and is_clean:
                self._back_off.reset()
        if not is_latest:
            return
        before = frozenset(self._folders)
        self._folders = _renewed(before, refreshed.folders, under)
        self._unreadable = _renewed(self._unreadable, refreshed.unreadable, under)
        if under is None or self._folders != before:
            self._watch.follow(self._folders)
        if under is None:  # else embedding begins before newly watched folders are scanned again
            with self._lock:
                self._gathering.settle()
        if refreshed.rules_around != self._outside.partition(" ")[0]:
            self._on_change("")  # it scanned by rules that may be gone at the next look

    def _unread_notice(self) -> str:
        if not self._unreadable:
            return ""
        shown = name_first(sorted(self._unreadable), SHOWN_UNREADABLE)
        return f"unreadable, its index stays as it was: {abridge(shown)}"

    def _fail(self, error: str) -> None:
        """Note that a pass failed; the whole source is scanned again after the back-off."""
        with self._lock:
            self._passes -= 1
            self._setbacks += 1
            self.error = error
            self._retry_at = self._now_s() + self._back_off.next_s()
            self._rescan_at = self._now_s() + RESCAN_S

    def _interrupt(self) -> None:
        """Note that a pass was ended early: a whole scan is due again."""
        with self._lock:
            self._passes -= 1
            self._setbacks += 1
            self._rescan_at = self._now_s()

    def _look_outside(self) -> None:
        with self._looking:
            before, self._outside = self._outside, self._builder.outer_state()
            is_changed = self._outside != before
            self._rules_at = self._now_s() + RULES_S
        if is_changed:
            self._on_change("")  # is due even after a running pass, which has read the old rules

    def _on_change(self, path: str, *, is_whole: bool = False) -> None:
        """Add a reported change; `is_whole` as in `Debouncer.add`."""
        with self._lock:
            self._gathering.add(path, self._now_s(), is_whole=is_whole)
            if not path:  # the root was replaced or is back, so the failure may be over
                self._retry_at = min(self._retry_at, self._gathering.due_s)
        self._on_due()


def _renewed(
    known: Collection[str], found: Collection[str], under: Collection[str] | None
) -> set[str]:
    """Return `known`, but with `found` for what is at or below the paths `under` (None: all)."""
    if under is None:
        return set(found)
    gone = set(under)
    kept = (each for each in known if each not in gone and gone.isdisjoint(folders_above(each)))
    return {*kept, *found}
