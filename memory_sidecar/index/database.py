"""One database derived from files: what callers ask of it. Its `Owner` changes it.

What its sources are, and how their files become rows, is told by the one that makes a `Database`:
the codebase, and every agent's memory. A database that is missing, damaged or of an older schema
is made again by what needs it first, which says so.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from memory_sidecar.clock import Clock
from memory_sidecar.errors import (
    ModelError,
    NotFound,
    PathRefused,
    SidecarError,
    StoreBusy,
    StoreCorrupt,
)
from memory_sidecar.flows.document import Stopped
from memory_sidecar.flows.source import Builder, Refreshed, SourceFlow
from memory_sidecar.flows.vectors import known_vectors
from memory_sidecar.index.activity import Activity
from memory_sidecar.index.embedding import Embedding
from memory_sidecar.index.followed import LiveState
from memory_sidecar.index.lock import WriterLock
from memory_sidecar.index.models import Models
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.reporter import Reporter, Silent
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.store_file import S, StoreFile
from memory_sidecar.model import FileStatus
from memory_sidecar.paths import StorePaths
from memory_sidecar.sources.registry import Source
from memory_sidecar.sqlite import named_errors
from memory_sidecar.store.report import (
    ListedFile,
    count_pending,
    count_rows,
    list_files,
    source_names,
)
from memory_sidecar.store.vectors import Vector

STORE_PATIENCE_S = 10.0  # with another process, for a memory that is written already
INDEX_PATIENCE_S = 60.0  # with one that indexes the same, for what a person asked for
LOST_PATIENCE_S = 10.0  # of a question, with rows that are being made again
AT_ONCE = 64  # new texts that a caller may wait for, which takes a second or two

T = TypeVar("T")

EmbedQuery = Callable[[str], Vector]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one `index` did."""

    sources: tuple[str, ...]
    sources_absent: tuple[str, ...]  # of these, left as they were because they are not there
    files_total: int
    files_processed: int
    files_deleted: int
    chunks_indexed: int
    chunks_deleted: int
    chunks_total: int  # of the whole database
    vectors_embedded: int
    vectors_pending: int
    files_skipped: tuple[ListedFile, ...]
    files_failed: tuple[ListedFile, ...]
    folders_unreadable: tuple[str, ...]
    seconds: float


class Database(Generic[S]):
    """The database at `paths.db`. Opened when first used; safe to use from several threads."""

    def __init__(
        self,
        paths: StorePaths,
        *,
        store: type[S],
        sources: Callable[[], Sequence[Source]],
        builder: Callable[[Source], Builder],
        models: Models,
        clock: Clock,
    ) -> None:
        """`sources` are those that the database should hold, asked anew at every call."""
        self.paths = paths
        self.models = models
        self.sources = sources
        self.used_at_s = time.monotonic()
        self._builder = builder
        self._file = StoreFile(paths.db, store, clock=clock)
        self._embedding = Embedding(self._file, models)
        self.owner = Owner(
            self._file,
            WriterLock(paths.writer_lock, data_dir=paths.db.parent),
            flow=self._make_flow,
            embedding=self._embedding,
            clock=clock,
        )

    @property
    def activity(self) -> Activity:
        """What is going on, for `status`."""
        return self.owner.activity

    def close(self, *, until_s: float = math.inf) -> bool:
        """End what is under way, until `until_s`; whether it has ended."""
        has_ended = self.owner.close(until_s=until_s)
        if has_ended:
            self._file.close()
        return has_ended

    def rest(self) -> None:
        """Give idle connections back; the next use opens new ones."""
        self._file.rest()

    def unload(self) -> None:
        """Give the memory of the vectors back, too; the next query reads them again."""
        self._file.unload()

    # Writing

    def update(
        self,
        sources: Sequence[Source],
        reporter: Reporter,
        *,
        full: bool = False,
        embed: bool = True,
    ) -> IndexReport:
        """Bring the rows of `sources`, and of sources whose rows were lost, in line with the files.

        `full` reads unchanged files too; `embed=False` leaves vectors for later. The rows of a
        source that is not there stay; it takes all of them to be absent for an error.
        """
        return self._ask(
            lambda said: self._update(self._with_lost(sources, said), said, full=full, embed=embed),
            reporter,
            patience_s=INDEX_PATIENCE_S,
        )

    def take_up(
        self,
        source: Source,
        under: Collection[str],
        reporter: Reporter,
        *,
        first: Callable[[Reporter], None],
        is_done: Callable[[], bool],
    ) -> bool:
        """Index files that the caller just wrote, `first` having been called; whether it was done.

        Returns with their vectors, unless there is no model or much to embed. Another process that
        holds the lock may do it instead: `is_done` tells.
        """

        def work(said: Reporter) -> bool:
            first(said)
            self._embedding.adopt_model()
            refreshed = self.owner.refresh(source, said, urgency=Urgency.SHORT, under=under)
            if refreshed.notice:
                said.notice(refreshed.notice)
            with suppress(ModelError):
                if not self.is_tended or self._embedding.waiting() <= AT_ONCE:
                    self.owner.embed(said, urgency=Urgency.SHORT)
            return True

        try:
            self.owner.ask(
                work,
                reporter,
                urgency=Urgency.SHORT,
                patience_s=STORE_PATIENCE_S,
                is_needless=is_done,
            )
        except (StoreBusy, Stopped) as error:
            reporter.notice(f"written, but not indexed yet: {error}")
            return False
        self.follow(source)
        self.owner.embed_soon()
        return True

    def catch_up(self, sources: Sequence[Source], reporter: Reporter) -> None:
        """Look for what changed while no process watched, unless another process writes."""

        def work(said: Reporter) -> None:
            self._embedding.adopt_model()
            for source in sources:
                with suppress(NotFound, PathRefused):  # what is indexed of it stays
                    self.owner.refresh(source, said, urgency=Urgency.SHORT)
            with suppress(ModelError):
                if not self.is_tended or self._embedding.waiting() <= AT_ONCE:
                    self.owner.embed(said, urgency=Urgency.SHORT)

        with suppress(StoreBusy):
            self.owner.ask(work, reporter, urgency=Urgency.SHORT, patience_s=0.0)

    def count(self, work: Callable[[], None], *, wait_s: float) -> None:
        """Have the owner do `work`, which is short; waits for `wait_s` at most."""
        if not self.is_tended:
            with suppress(StoreBusy):
                self.owner.ask(lambda _: work(), Silent(), urgency=Urgency.SHORT, patience_s=0.0)
            return
        with suppress(StoreBusy, Stopped):
            done = self.owner.ask_soon(work, urgency=Urgency.SHORT, key="count")
            if wait([done], timeout=wait_s).done:
                done.result()

    def rebuild(
        self, sources: Sequence[Source], *, all_of_it: bool, reporter: Reporter
    ) -> IndexReport:
        """Derive the rows of `sources` again from their files; `all_of_it` in a new database."""
        for source in sources:
            if not self._builder(source).believes_empty:
                _require_files(source)

        def work(said: Reporter) -> IndexReport:
            if all_of_it:
                self.owner.start_over()
            for source in sources:
                self._forget_state(source)
            return self._update(self._with_lost(sources, said), said, full=False, embed=True)

        return self._ask(work, reporter, patience_s=INDEX_PATIENCE_S)

    def forget(self, source: Source, *, reporter: Reporter) -> None:
        """Remove everything derived from `source`, and watch it no longer."""
        self.owner.unfollow(source.name)

        def work(_: Reporter) -> None:
            self._forget_state(source)
            if self.paths.db.exists():
                self.open().forget_source(source.name)

        self._ask(work, reporter, patience_s=STORE_PATIENCE_S)

    # Watching

    @property
    def is_tended(self) -> bool:
        """Whether this process watches the sources."""
        return self.owner.loop.is_tended

    def follow(self, source: Source) -> None:
        """Watch `source` from now on, where this process watches."""
        self.owner.follow(source)

    def states(self) -> list[LiveState]:
        """Of every watched source."""
        return self.owner.states()

    def unseen(self) -> set[str]:
        """The watched sources whose files were not looked at since this process began."""
        if not self.is_tended:
            return set()
        seen = {state.name for state in self.states() if state.refreshed_at is not None}
        return {source.name for source in self.sources()} - seen

    def wait_fresh(self, *, timeout_ms: int) -> bool:
        """A barrier: whether every save before this call is indexed within `timeout_ms`.

        Asks the disk, not the watch, whose events may still be on their way.
        """
        sources = self.sources()
        for source in sources:
            self.owner.follow(source)
        asked = [
            self.owner.ask_soon(
                lambda source=source: self.owner.refresh(  # type: ignore[misc]
                    source, Silent(), urgency=Urgency.ASKED, recheck=True
                ),
                urgency=Urgency.ASKED,
                key=f"recheck {source.name}",
            )
            for source in sources
        ]
        done, late = wait(asked, timeout=timeout_ms / 1000)
        return not late and all(each.exception() is None for each in done)

    # Reading

    def open(self) -> S:
        """The store, as it is. Raises StoreCorrupt where its file was taken away."""
        self.used_at_s = time.monotonic()
        return self._file.open()

    def complete(self, reporter: Reporter, *, wanted: Collection[str] = ()) -> S:
        """The store, with rows of every source; those that were lost are made again.

        Where this process watches, it waits for that only if none of the sources called `wanted`,
        or no source at all, has rows yet, and not for long; and it does not wait for vectors.
        """
        known, lost = self._known_and_lost(reporter)
        if not lost:
            return self.open()
        for source in lost:
            self.follow(source)
        if self.is_tended and known.intersection(wanted or known):
            return self.open()

        def work(said: Reporter) -> None:
            _, still_lost = self._known_and_lost(Silent())  # another caller may have been here
            if still_lost:
                self._update(still_lost, said, full=False, embed=not self.is_tended)

        try:
            self.owner.ask(
                work,
                reporter,
                urgency=Urgency.ASKED,
                patience_s=LOST_PATIENCE_S,
                wait_s=LOST_PATIENCE_S if self.is_tended else math.inf,
            )
        except (StoreBusy, Stopped, TimeoutError) as error:
            reporter.notice(f"{error}: answering from what is indexed")
        return self.open()

    def recovering(self, work: Callable[[], T], reporter: Reporter) -> T:
        """Do `work`, which reads; if the database turns out to be damaged, begin it anew before."""
        beginnings = self._file.beginnings
        try:
            return work()
        except Exception as error:
            # A reader of the database that another thread set aside may meet any error.
            if self._file.beginnings == beginnings:
                if not isinstance(error, StoreCorrupt):
                    raise
                reporter.notice(f"{error.message}: making it again")
                self.begin_anew(reporter, unless_after=beginnings)
            return work()

    def begin_anew(self, reporter: Reporter, *, unless_after: int | None = None) -> None:
        """Set the database aside for a new one; of several callers, by `unless_after`, one does."""

        def work(_: Reporter) -> None:
            if unless_after in (None, self._file.beginnings):
                self.owner.start_over()

        self._ask(work, reporter, patience_s=STORE_PATIENCE_S)

    def embed_query(self, reporter: Reporter, *, required: bool) -> EmbedQuery | None:
        """What turns a question into a vector like those here; `None`, with a notice, without.

        Raises ModelError instead where it is `required`.
        """
        store = self.open()
        with store.reading() as connection:
            rows = count_rows(connection, store.SCHEMA.corpora)
            pending = count_pending(connection, store.SCHEMA.corpora)
        problem = self.models.problem
        if pending and not problem:
            done = 100 * (rows - pending) // rows
            reporter.notice(f"vectors {done} % done: ranking by keyword and what is there")
        if pending == rows:
            if required and problem:
                raise problem
            if rows and problem:
                reporter.notice(f"ranking by keyword alone: {problem.message}; {problem.hint}")
            return None
        try:
            if store.model != self.models.files.sha256:
                reporter.notice("vectors are of another model: run `memory-sidecar index`")
                return None
            self.models.embedder.load()
        except ModelError as error:
            if required:
                raise
            reporter.notice(f"ranking by keyword alone: {error.message}; {error.hint}")
            return None
        return self.models.embedder.embed_query

    # How

    def _ask(self, work: Callable[[Reporter], T], reporter: Reporter, *, patience_s: float) -> T:
        try:
            done = self.owner.ask(work, reporter, urgency=Urgency.ASKED, patience_s=patience_s)
        except Stopped as error:
            raise NotFound(
                f"ended early: {error}; what is committed stays",
                hint="run it again, or see `memory-sidecar source list`",
            ) from error
        return cast("T", done)  # not needless, as it cannot be

    def _update(
        self, sources: Sequence[Source], reporter: Reporter, *, full: bool, embed: bool
    ) -> IndexReport:
        started = time.monotonic()
        store = self.open()
        problem = self.models.problem
        self._embedding.adopt_model()
        passes: list[Refreshed] = []
        absent: dict[str, SidecarError] = {}
        for source in sources:
            try:
                refreshed = self.owner.refresh(source, reporter, urgency=Urgency.ASKED, full=full)
            except (NotFound, PathRefused) as error:
                absent[source.name] = error
                continue
            passes.append(refreshed)
            if refreshed.notice:
                reporter.notice(refreshed.notice)
        if absent and not passes:
            raise next(iter(absent.values()))
        for why in absent.values():
            reporter.notice(f"{why.message}: its index stays as it was; {why.hint}")
        embedded = 0
        if problem is not None:
            reporter.notice(f"no vectors: {problem.message}; {problem.hint}")
        elif embed:
            wanted = [source.name for source in sources] or None
            embedded = self.owner.embed(reporter, urgency=Urgency.ASKED, sources=wanted)
        with store.reading() as connection:
            names = {source.name for source in sources}
            skipped = list_files(connection, FileStatus.SKIPPED)
            failed = list_files(connection, FileStatus.FAILED)
            return IndexReport(
                sources=tuple(source.name for source in sources),
                sources_absent=tuple(absent),
                files_total=sum(p.files_total for p in passes),
                files_processed=sum(p.files_processed for p in passes),
                files_deleted=sum(p.files_deleted for p in passes),
                chunks_indexed=sum(p.chunks_indexed for p in passes),
                chunks_deleted=sum(p.chunks_deleted for p in passes),
                chunks_total=count_rows(connection, store.SCHEMA.corpora),
                vectors_embedded=embedded,
                vectors_pending=count_pending(connection, store.SCHEMA.corpora),
                files_skipped=tuple(f for f in skipped if f.source in names),
                files_failed=tuple(f for f in failed if f.source in names),
                folders_unreadable=tuple(folder for p in passes for folder in p.unreadable),
                seconds=time.monotonic() - started,
            )

    def _make_flow(self, source: Source, between: Callable[[], None]) -> SourceFlow:
        known = None
        if self.models.problem is None:
            known = known_vectors(self.models.cache, self.models.files.sha256)
        return SourceFlow(
            source,
            builder=self._builder(source),
            store=self.open(),
            state=self.paths.flow_state(source.name),
            known_vectors=known or (lambda _texts: {}),
            threads=2 * processors(),  # some of them wait for other processes
            give_way=self.models.gate.pass_through,
            between=between,
        )

    def _forget_state(self, source: Source) -> None:
        """The next pass over `source` derives every row again."""
        shutil.rmtree(self.paths.flow_state(source.name), ignore_errors=True)

    def _with_lost(self, asked: Sequence[Source], reporter: Reporter) -> list[Source]:
        """`asked`, and the lost ones besides; those that are watched are seen to by themselves."""
        _, lost = self._known_and_lost(reporter, unless=[source.name for source in asked])
        if not self.is_tended:
            return [*asked, *lost]
        for source in (*asked, *lost):
            self.follow(source)
        return list(asked)

    def _known_and_lost(
        self, reporter: Reporter, *, unless: Collection[str] = ()
    ) -> tuple[set[str], list[Source]]:
        """The names of sources that have rows, and the sources that the database knows nothing of.

        It was deleted, damaged or of an older schema, or making it was interrupted.
        """
        store = self.open()
        if self._file.take_outdated():
            reporter.notice(f"{self.paths.db.name} is of an older version: making it again")
        with store.reading() as connection:
            known = set(source_names(connection))
        lost = [source for source in self.sources() if source.name not in known.union(unless)]
        if lost:
            names = ", ".join(source.name for source in lost)
            reporter.notice(f"{self.paths.db.name} holds nothing of {names}: indexing it")
        return known, lost


def processors() -> int:
    """How many to keep busy."""
    return min(os.cpu_count() or 1, 8)


def _require_files(source: Source) -> None:
    """What cannot be made again must not be thrown away."""
    with named_errors(source.root):
        if not source.root.is_dir() or not any(source.root.iterdir()):
            raise NotFound(
                f"{source.root} is not there or empty, so nothing was rebuilt",
                hint="mount its disk again, rebuild the others by --source, or `memory-sidecar "
                f"source remove {source.name}`",
            )
