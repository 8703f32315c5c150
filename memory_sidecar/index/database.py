"""One database derived from files, as its callers see it. All writing is left to its `Owner`.

The codebase has one, and so has each agent. A database that is missing, damaged or of an older
schema is built again from its sources by the first call that needs it, with a notice.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Generic, TypeVar, cast

from memory_sidecar.core.errors import (
    CannotWrite,
    NotFound,
    PathRefused,
    SidecarError,
    StoreCorrupt,
)
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import IndexReport, Reporter, Silent
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.embedding.models import Models
from memory_sidecar.index import lacks
from memory_sidecar.index.arms import QuestionEmbedder
from memory_sidecar.index.document import Builder, SourceGone, Stopped
from memory_sidecar.index.embed import EmbedPending, embed_pending
from memory_sidecar.index.index_run import EmbedScope, IndexRun
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import known_sources, scanned_sources
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import ScanScope
from memory_sidecar.index.store_file import S, StoreFile
from memory_sidecar.index.watched import LiveState

STORE_PATIENCE_S = 10.0  # how long a short change waits while another process writes
INDEX_PATIENCE_S = 60.0  # how long an index run waits while another process writes
MISSING_PATIENCE_S = 10.0  # how long questions wait for the first rows of a source to be built
FIRST_LOOK_S = 0.5  # how long a question waits for the watcher's first scan, or to scan itself

T = TypeVar("T")


class Database(Generic[S]):
    """The database in `file`. Opened when first used; safe to use from several threads."""

    def __init__(
        self,
        file: StoreFile[S],
        *,
        sources: Callable[[], Sequence[Source]],
        builder: Callable[[Source], Builder],
        models: Models,
        remedy: str,
        called: str = "",
        embed: EmbedPending = embed_pending,
    ) -> None:
        """`sources` returns the sources that the database should hold at the moment.

        `builder` makes the builder of a source. Hints name `remedy`, the command to update rows.
        Notices of what answers lack name the sources `called`, or else each by its own name.
        """
        self.file = file
        self.paths = file.paths
        self.sources = sources
        self.builder = builder
        self.models = models
        self.questions = QuestionEmbedder(models, remedy=remedy)
        self._notice_lacks = partial(lacks.notice_lacks, called=called, remedy=remedy)
        self._has_compared_files = False  # with the rows, since this process began
        self._until_s: dict[tuple[int, str], float] = {}  # of `_patience_s`, by generation, source
        self._make_owner = partial(
            Owner, file, sources=sources, builder=builder, models=models, embed=embed
        )
        self._owner: Owner[S] | None = None
        self._making = threading.Lock()  # guards `_owner`: two would wait for each other's lock

    @property
    def owner(self) -> Owner[S]:
        """The writer of this database, made at the first change: readers do without."""
        with self._making:
            if self._owner is None:
                self._owner = self._make_owner()
            return self._owner

    def close(self, *, until_s: float = math.inf) -> bool:
        """Stop running work, wait for it until `until_s`, and return whether it has ended."""
        has_ended = self._owner is None or self._owner.close(until_s=until_s)
        if has_ended:
            self.file.close()
        return has_ended

    # Writing

    def update(
        self,
        sources: Sequence[Source],
        reporter: Reporter,
        *,
        full: bool = False,
        embed: EmbedScope | None = None,
    ) -> IndexReport:
        """Index what changed in `sources` and, as a whole, registered sources that have no rows.

        `full` reads unchanged files, too. By default new rows are embedded, unless a watch does so
        later. The rows of an absent source stay, with a notice; if all are absent, this raises.
        """

        embeds = not self.is_watching if embed is None else embed

        def work(reporter: Reporter) -> IndexRun:
            wanted = lacks.with_missing(self.owner, self.sources(), sources, reporter)
            run = IndexRun(self.owner, wanted)
            run.pass_over(reporter, full=full)
            if not self.is_watching:  # else the lock might have to be waited for once more
                run.embed(embeds, reporter)
            return run

        defined = {each.name: each for each in sources}
        for watched in self.owner.watched_sources():
            before = watched.source
            if defined.get(before.name, before) != before:
                self.owner.unwatch(before.name)  # ends its passes by other excludes
        run = self.ask(work, reporter, patience_s=INDEX_PATIENCE_S)
        if self.is_watching and embeds:
            vectors = partial(run.embed, embeds)
            self.ask(vectors, reporter, patience_s=INDEX_PATIENCE_S, urgency=Urgency.VECTORS)
        return self.recovering(run.report, reporter)

    def rescan(
        self,
        sources: Sequence[Source],
        reporter: Reporter,
        *,
        patience_s: float,
        is_done: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Index unwatched changes, unless `is_done()`; False if not writable in `patience_s`."""

        def work(reporter: Reporter) -> None:
            for source in sources:
                with suppress(NotFound, PathRefused, SourceGone):  # rows of an absent source stay
                    self.owner.refresh(source, reporter)

        try:
            self.owner.loop.ask(
                work, reporter, urgency=Urgency.SHORT, patience_s=patience_s, is_redundant=is_done
            )
        except CannotWrite as error:
            if not is_done():
                reporter.notice(f"what has changed is not indexed yet: {error}")
            return False
        return True

    def count(self, work: Callable[[], None], *, wait_s: float) -> None:
        """Have the owner run `work`, which counts reads; wait for it up to `wait_s`."""
        with suppress(CannotWrite, Stopped):
            done = self.owner.loop.ask_soon(work, urgency=Urgency.SHORT, key="count")
            if wait([done], timeout=wait_s).done:
                done.result()

    def ask(
        self,
        work: Callable[[Reporter], T],
        reporter: Reporter,
        *,
        patience_s: float,
        urgency: Urgency = Urgency.LONG,
    ) -> T:
        """Have the owner run `work`, and return its result. Raises StoreBusy, SidecarError."""
        try:
            done = self.owner.loop.ask(work, reporter, urgency=urgency, patience_s=patience_s)
        except Stopped as error:
            kind = NotFound if isinstance(error, SourceGone) else SidecarError
            raise kind(
                f"did not finish: {error}", hint="run it again, or see `memory-sidecar source list`"
            ) from error
        return cast("T", done)  # None only for redundant work, which this cannot be

    # Watching

    @property
    def is_watching(self) -> bool:
        """Whether this process watches the sources."""
        return self._owner is not None and self._owner.loop.runs_in_background

    def states(self) -> dict[str, LiveState]:
        """Return the state of every watched source, by its name."""
        return self._owner.states() if self._owner is not None else {}

    def follow(self) -> dict[str, LiveState]:
        """Watch all sources, if this process watches, and return the state of each by its name."""
        if self.is_watching:
            self.owner.watch(*self.sources())
        return self.states()

    def unscanned(self) -> set[str]:
        """Return the names of the sources that are watched but not yet scanned."""
        return {name for name, live in self.follow().items() if live.is_unscanned}

    def wait_fresh(self, names: Collection[str] = (), *, patience_s: float) -> bool:
        """A barrier: wait until every save before this call is indexed; return whether it is.

        Waits up to `patience_s` for the sources `names`, all if empty. Scans the disk rather than
        trust the watch, whose events may still be on their way.
        """
        asked = []
        ask = partial(self.owner.loop.ask_soon, urgency=Urgency.BARRIER, wait_s=patience_s)
        for source in self.sources():
            if names and source.name not in names:
                continue
            self.owner.watch(source)
            recheck = partial(self.owner.refresh, source, Silent(), ScanScope())
            asked.append(ask(recheck, key=f"recheck {source.name}"))
        done, late = wait(asked, timeout=patience_s)
        return not late and all(each.exception() is None for each in done)

    # Reading

    def open(self) -> S:
        """Return the store, whatever it holds. Raises StoreCorrupt if its file was taken away."""
        return self.file.open()

    def open_anew(self, reporter: Reporter | None = None) -> S:
        """Return the store, a new one if its file was taken away or is damaged."""
        return self.recovering(self.open, reporter or Silent())

    def recovering(self, work: Callable[[], T], reporter: Reporter) -> T:
        """Run `work`, which reads; if the database proves damaged, replace it and run it again."""
        generation = self.file.generation
        try:
            return work()
        except Exception as error:
            # If another thread has set the database aside, reading it may raise any error.
            if self.file.generation == generation:
                if not (isinstance(error, StoreCorrupt) and error.is_of(self.file.path)):
                    raise
                reporter.notice(f"{error.message}: rebuilding it")
                self.start_over(reporter, unless_after=generation)
            return work()

    def complete(self, reporter: Reporter) -> None:
        """Index the sources without rows; see `snapshot`."""
        with self.open().reading() as connection:
            known, missing = lacks.known_and_missing(
                self.file, connection, self.sources(), reporter
            )
        if missing:
            wait_s = self._patience_s(reporter, [each.name for each in missing])
            lacks.index_missing(self.owner, known, missing, reporter, patience_s=wait_s)

    def begin_waiting(self, reporter: Reporter) -> None:
        """Start the time limit for first rows (`_patience_s`), while others are waited for."""
        self._patience_s(reporter, self.unscanned())

    def catch_up(
        self,
        reporter: Reporter,
        *,
        removed: Callable[[], Iterable[Source]],
        is_done: Callable[[Sequence[Source]], bool],
    ) -> None:
        """Before a question, index what was saved before this process began, in FIRST_LOOK_S.

        A process that watches waits for its first scan, up to MISSING_PATIENCE_S for sources that
        were never scanned. Any other process compares once the files of its sources, and of those
        `removed`, with the rows, unless `is_done(them)`: another process has done so.
        """
        if self.is_watching:
            if reporter.waits and (unscanned := self.unscanned()):
                with self.open().reading() as connection:
                    known = scanned_sources(connection)
                first, again = unscanned - known, unscanned & known
                wait_s = self._patience_s(reporter, first)
                lacks.await_scans(self.owner, first, reporter, wait_s=wait_s)
                lacks.await_scans(self.owner, again, reporter, wait_s=FIRST_LOOK_S)
        elif not self._has_compared_files:
            self.complete(reporter)
            sources = [*self.sources(), *removed()]
            self._has_compared_files = self.rescan(
                sources, reporter, patience_s=FIRST_LOOK_S, is_done=partial(is_done, sources)
            )

    @contextmanager
    def snapshot(
        self,
        reporter: Reporter,
        *,
        sources: Sequence[Source] | None = None,
        wanted: Collection[str] = (),
        embeds: bool = False,
    ) -> Iterator[tuple[S, Connection]]:
        """Yield the store and one commit of it; notices say what it lacks of `sources`, or of all.

        Those `wanted`, or all, are indexed first if they have no rows, with vectors if the caller
        `embeds`. A process that watches waits once for their first scan, for MISSING_PATIENCE_S.
        """
        sources = self.sources() if sources is None else sources
        asked = [each for each in sources if not wanted or each.name in wanted]
        with ExitStack() as stack:
            store = self.open()
            connection = stack.enter_context(store.reading())
            known, missing = lacks.known_and_missing(self.file, connection, asked, reporter)
            first = {each.name for each in asked} - scanned_sources(connection)
            if missing or (self.is_watching and first):
                stack.close()
                lacks.index_missing(
                    self.owner,
                    known,
                    missing,
                    reporter,
                    unscanned=first,
                    wanted=wanted,
                    embeds=embeds,
                    patience_s=self._patience_s(reporter, first.union(s.name for s in missing)),
                )
                store = self.open()
                connection = stack.enter_context(store.reading())
            self._notice_lacks(asked, known_sources(connection), reporter, live=self.follow())
            yield store, connection

    def start_over(self, reporter: Reporter, *, unless_after: int | None = None) -> None:
        """Replace the database by an empty one, unless the generation `unless_after` has ended."""

        def work(_: Reporter) -> None:
            if unless_after in (None, self.file.generation):
                self.owner.start_over()

        self.ask(work, reporter, patience_s=STORE_PATIENCE_S)

    # Private steps

    def _patience_s(self, reporter: Reporter, names: Collection[str]) -> float:
        """Return how much longer questions wait for the first rows of the sources `names`.

        They wait until MISSING_PATIENCE_S after the first such question, or REST_S after a failure.
        """
        if not reporter.waits:
            return 0.0
        generation, now_s = self.file.generation, time.monotonic()
        end_s = now_s + MISSING_PATIENCE_S
        ends = [self._until_s.setdefault((generation, name), end_s) for name in names]
        if any(live.error for name, live in self.states().items() if name in names):
            ends.append(now_s + lacks.REST_S)
        return max(0.0, max(ends, default=now_s) - now_s)
