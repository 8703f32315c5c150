"""One database derived from files: kept in line with its sources, and made again when lost.

What its sources are, and how their files become rows, is told by whoever makes an `Index`: the
codebase, and every agent's memory. A database that is missing, damaged or of an older schema is
made again by whatever needs it first, which says so.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from memory_sidecar.clock import Clock
from memory_sidecar.errors import (
    ModelError,
    NoIndex,
    NotFound,
    PathRefused,
    SidecarError,
    StoreCorrupt,
)
from memory_sidecar.flows.source import Builder, Progress, Refreshed, SourceFlow
from memory_sidecar.flows.vectors import embed_pending, known_vectors
from memory_sidecar.handlers.activity import Activity
from memory_sidecar.handlers.finding import damage_of
from memory_sidecar.handlers.follower import Follower
from memory_sidecar.handlers.models import Models
from memory_sidecar.handlers.open_flows import OpenFlows
from memory_sidecar.handlers.reporter import Reporter, Silent
from memory_sidecar.handlers.writer_lock import WriterLock
from memory_sidecar.model import FileStatus
from memory_sidecar.paths import StorePaths
from memory_sidecar.sources.recheck import folders_of
from memory_sidecar.sources.registry import Source
from memory_sidecar.sqlite import Connection, named_errors, set_aside
from memory_sidecar.store.derived import DerivedStore
from memory_sidecar.store.identity import is_outdated, read_identity
from memory_sidecar.store.report import (
    ListedFile,
    VectorCounts,
    count_pending,
    count_rows,
    list_files,
    source_names,
    source_standings,
)
from memory_sidecar.store.vectors import Vector

S = TypeVar("S", bound=DerivedStore)
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


class Index(Generic[S]):
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
        remedy: str,
    ) -> None:
        """`sources` are those that the database should hold, asked anew at every call.

        `remedy` is the command that a person runs to bring it up to date.
        """
        self.paths = paths
        self._remedy = remedy
        self.models = models
        self.sources = sources
        self._store_type = store
        self._builder = builder
        self._clock = clock
        self._store: S | None = None
        self._flows = OpenFlows(self._make_flow, state_of=paths.flow_state)
        self._lock = WriterLock(paths.writer_lock)
        self._embedding = threading.Lock()
        self._opening = threading.Lock()
        self._was_outdated = False  # the database, when it was opened
        self._beginnings = 0  # how many times it was set aside for a new one
        self.activity = Activity()
        self.live: Follower | None = None  # whoever watches the sources in this process

    def close(self, *, keeps_log: bool = False) -> None:
        self._flows.close()
        if self._store is not None:
            self._store.close(keeps_log=keeps_log)
            self._store = None

    def unload(self) -> None:
        """Give the memory of the vectors back; the next query reads them again."""
        if self._store is not None:
            self._store.unload()

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
        with self._lock.held(reporter):
            return self.recovering(
                lambda: self._update(
                    self._with_lost(sources, reporter), reporter, full=full, embed=embed
                ),
                reporter,
            )

    def refresh(
        self,
        source: Source,
        *,
        under: Collection[str] | None = None,
        full: bool = False,
        recheck: bool = False,
        progress: Progress | None = None,
    ) -> Refreshed:
        """Bring the rows of `source` in line with its files, as `SourceFlow.refresh`.

        For whoever holds the lock by `kept_open`; vectors are left for `embed`. Raises Stopped
        after `stop`.
        """
        self.open()  # raises now rather than have a file written that was deleted
        with self._flows.of(source) as flow, self.activity.indexing(source.name) as report:

            def both(done: int, total: int) -> None:
                report(done, total)
                if progress is not None:
                    progress(done, total)

            return flow.refresh(under=under, full=full, recheck=recheck, progress=both)

    def stop(self) -> None:
        """End every refresh soon; what it has committed stays."""
        self._flows.stop()

    def take_up(
        self,
        source: Source,
        under: Collection[str] | None,
        reporter: Reporter,
        *,
        embed_at_most: int | None = None,
    ) -> Refreshed:
        """Like `refresh`, for a caller who just wrote these files: returns with their vectors.

        Vectors are left for later where there is no model, or more texts than `embed_at_most`.
        """
        with self._lock.held(reporter):
            refreshed = self.refresh(source, under=under)
            with suppress(ModelError):
                if embed_at_most is None or self._waiting() <= embed_at_most:
                    self.embed(reporter)
            return refreshed

    def held_if_free(self) -> AbstractContextManager[bool]:
        """The writer's lock for the block, unless another process has it: the block is told."""
        return self._lock.held_if_free()

    def embed(self, reporter: Reporter, *, stop: threading.Event | None = None) -> int:
        """Give every waiting row its vector; returns how many got one."""
        self._adopt_model()
        waiting = self._waiting()
        if not waiting:
            return 0
        before = 0

        def progress(done: int) -> None:
            nonlocal before
            self.activity.vectors.add(done - before)
            before = done
            reporter.progress("vectors", done, max(done, waiting))

        return embed_pending(
            self.open(),
            embedder=self.models.embedder,
            cache=self.models.cache,
            turn=self._embedding,
            stop=stop,
            progress=progress,
        )

    @contextmanager
    def kept_open(self, reporter: Reporter) -> Iterator[None]:
        """Keep the writer's lock and the flows of all sources for the length of the block."""
        with self._lock.held(reporter), self._flows.kept():
            yield

    def rebuild(
        self, sources: Sequence[Source], *, all_of_it: bool, reporter: Reporter
    ) -> IndexReport:
        """Derive the rows of `sources` again from their files; those that are there stay till then.

        `all_of_it` forgets what is of no source any more, and sets a damaged database aside.
        """
        for source in sources:
            if not self._builder(source).believes_empty:
                _require_files(source)
        with self._lock.held(reporter):
            if all_of_it:
                self.recovering(self._require_sound, reporter)
            with self._flows.alone():
                for source in sources:
                    self._flows.forget(source)
                if all_of_it:
                    self._forget_all_but(sources)
            return self.update(sources, reporter)

    def forget(self, source: Source, *, reporter: Reporter) -> None:
        """Remove everything derived from `source`."""
        with self._lock.held(reporter), self._flows.alone():
            self._flows.forget(source)
            if self.paths.db.exists():
                self.recovering(lambda: self.open().forget_source(source.name), reporter)

    # Reading

    def open(self) -> S:
        """The store, as it is. Raises StoreCorrupt where its file was taken away."""
        with self._opening:
            if self._store is not None and not self._store.is_in_place:
                raise StoreCorrupt(
                    f"{self.paths.db} was deleted or replaced",
                    hint="the next search makes it again from the files",
                    path=self.paths.db,
                )
            if self._store is None:
                self._was_outdated = is_outdated(self.paths.db, self._store_type.SCHEMA)
                self._store = self._store_type(self.paths.db, clock=self._clock)
            return self._store

    def complete(self, reporter: Reporter) -> S:
        """The store, with rows of every source: see `snapshot`."""
        with self.snapshot(reporter):
            return self.open()

    @contextmanager
    def snapshot(
        self,
        reporter: Reporter,
        *,
        sources: Sequence[Source] | None = None,
        wanted: Collection[str] = (),
    ) -> Iterator[tuple[S, Connection]]:
        """The store, with rows of every one of its `sources`, and one commit of it to read.

        What was lost is made again. Where somebody watches, this waits for that only if none of
        the sources called `wanted`, or no source at all, has rows yet; and not for vectors. Says
        which of them answer in part, or as they were before.
        """
        with ExitStack() as stack:
            store = self.open()
            connection = stack.enter_context(store.reading())
            known, lost = self._known_and_lost(connection, sources, reporter)
            if lost:
                stack.close()
                self._make_lost(known, lost, reporter, sources=sources, wanted=wanted)
                store = self.open()
                connection = stack.enter_context(store.reading())
            self._say_standings(connection, wanted, reporter)
            yield store, connection

    def _make_lost(
        self,
        known: Collection[str],
        lost: Sequence[Source],
        reporter: Reporter,
        *,
        sources: Sequence[Source] | None,
        wanted: Collection[str],
    ) -> None:
        if self.live is not None:
            for source in lost:
                self.live.follow(source)
            if set(known).intersection(wanted or known):
                return
        with self._lock.held(reporter):
            with self.open().reading() as connection:  # whoever held the lock may have done it
                _, lost = self._known_and_lost(connection, sources, Silent())
            if lost:
                self._update(lost, reporter, full=False, embed=self.live is None)

    def _say_standings(
        self, connection: Connection, wanted: Collection[str], reporter: Reporter
    ) -> None:
        for name, is_scanned, is_whole in source_standings(connection):
            if wanted and name not in wanted:
                continue
            if not is_scanned:
                reporter.notice(f"{name} is not indexed to its end yet: answering from what is")
            elif not is_whole:
                reporter.notice(
                    f"{name} is being rebuilt: answering from what was indexed before; if that was"
                    f" interrupted, `{self._remedy}` ends it"
                )

    def recovering(self, work: Callable[[], T], reporter: Reporter) -> T:
        """Do `work`; if the database turns out to be damaged, set it aside and do it again.

        Whoever watches the sources then looks at all of them anew. Not by a thread that refreshes.
        """
        beginnings = self._beginnings
        try:
            return work()
        except Exception as error:
            # Whoever still has the database that another thread set aside may meet any error.
            if self._beginnings == beginnings:
                if not (isinstance(error, StoreCorrupt) and error.is_of(self.paths.db)):
                    raise
                reporter.notice(f"{error.message}: making it again")
                with self._lock.held(reporter):
                    self._start_over(unless_after=beginnings)
            try:
                return work()
            finally:
                if self.live is not None:
                    self.live.look_again()

    def known_folders(self, source: Source) -> set[str]:
        """The folders that hold files of `source`, as its last scan left them; "" is its root."""
        return {"", *folders_of(self.open().paths(source.name))}

    def embed_query(
        self, connection: Connection, asked: VectorCounts, reporter: Reporter, *, required: bool
    ) -> EmbedQuery | None:
        """What turns a question into a vector like those of the rows that are `asked`.

        `None`, with a notice, without. Raises ModelError or NoIndex instead where it is `required`.
        """
        if not asked.rows and not required:
            return None
        problem = self._problem_with_vectors(connection, asked)
        if problem is None and asked.pending:
            reporter.notice(f"vectors {asked.percent} % done: ranking by keyword and what is there")
            if asked.pending == asked.rows:
                problem = NoIndex(
                    "no vectors yet (0 % done)",
                    hint="`--mode hybrid` ranks by keyword until they are there; "
                    "`memory-sidecar status` tells how far they are",
                )
        elif problem is not None and not required:
            reporter.notice(f"ranking by keyword alone: {problem.message}; {problem.hint}")
        if problem is not None and required:
            raise problem
        return self.models.embedder.embed_query if problem is None else None

    def _problem_with_vectors(
        self, connection: Connection, asked: VectorCounts
    ) -> SidecarError | None:
        """Why a question cannot be compared with those that are there."""
        try:
            if asked.rows == asked.pending:
                return self.models.problem
            if read_identity(connection, "model") != self.models.files.sha256:
                return NoIndex(
                    "vectors are of another model", hint=f"`{self._remedy}` makes them anew"
                )
            self.models.embedder.load()
        except ModelError as error:
            return error
        return None

    def _adopt_model(self) -> None:
        """Have the vectors of the model that is here now, if there is one."""
        if self.models.problem is None:
            self.open().adopt_model(self.models.files.sha256)

    # How

    def _waiting(self) -> int:
        store = self.open()
        with store.reading() as connection:
            return count_pending(connection, store.SCHEMA.corpora)

    def _update(
        self, sources: Sequence[Source], reporter: Reporter, *, full: bool, embed: bool
    ) -> IndexReport:
        started = time.monotonic()
        store = self.open()
        problem = self.models.problem
        self._adopt_model()
        passes = []
        absent: dict[str, SidecarError] = {}
        for source in sources:
            try:
                passes.append(self._pass_over(source, reporter, full=full))
            except (NotFound, PathRefused) as error:
                absent[source.name] = error
        if absent and not passes:
            raise next(iter(absent.values()))
        for why in absent.values():
            reporter.notice(f"{why.message}: its index stays as it was; {why.hint}")
        embedded = 0
        if problem is not None:
            reporter.notice(f"no vectors: {problem.message}; {problem.hint}")
        elif embed:
            embedded = self.embed(reporter)
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

    def _pass_over(self, source: Source, reporter: Reporter, *, full: bool) -> Refreshed:
        """By whoever watches `source`, if it is watched, and beside nobody."""

        def progress(done: int, total: int) -> None:
            reporter.progress("files", done, total)

        if self.live is not None:
            return self.live.index(source, full=full, progress=progress)
        return self.refresh(source, full=full, progress=progress)

    def _make_flow(self, source: Source) -> SourceFlow:
        known = None
        if self.models.problem is None:
            self._adopt_model()  # before the first vector comes
            known = known_vectors(self.models.cache, self.models.files.sha256)
        return SourceFlow(
            source,
            builder=self._builder(source),
            store=self.open(),
            state=self.paths.flow_state(source.name),
            known_vectors=known or (lambda _texts: {}),
            threads=2 * processors(),  # some of them wait for other processes
            give_way=self.models.gate.pass_through,
        )

    def _with_lost(self, asked: Sequence[Source], reporter: Reporter) -> list[Source]:
        """`asked`, and the lost ones besides; whoever watches sees to these without being asked."""
        names = {source.name for source in asked}
        others = [source for source in self.sources() if source.name not in names]
        with self.open().reading() as connection:
            _, lost = self._known_and_lost(connection, others, reporter)
        if self.live is None:
            return [*asked, *lost]
        for source in lost:
            self.live.follow(source)
        return list(asked)

    def _known_and_lost(
        self, connection: Connection, sources: Sequence[Source] | None, reporter: Reporter
    ) -> tuple[set[str], list[Source]]:
        """The names of sources that have rows, and the sources that the database knows nothing of.

        It was deleted, damaged or of an older schema, or making it was interrupted.
        """
        if self._was_outdated:
            self._was_outdated = False
            reporter.notice(f"{self.paths.db.name} is of an older version: making it again")
        known = set(source_names(connection))
        wanted = self.sources() if sources is None else sources
        lost = [source for source in wanted if source.name not in known]
        if lost:
            names = ", ".join(source.name for source in lost)
            reporter.notice(f"{self.paths.db.name} holds nothing of {names}: indexing it")
        return known, lost

    def _require_sound(self) -> None:
        """Raises StoreCorrupt."""
        self.open()
        if damage := damage_of(self.paths.db):
            raise StoreCorrupt(f"{self.paths.db} is damaged: {damage}", path=self.paths.db)

    def _forget_all_but(self, sources: Collection[Source]) -> None:
        """Remove the rows of what is no source any more."""
        store, kept = self.open(), {source.name for source in sources}
        with store.reading() as connection:
            gone = [name for name in source_names(connection) if name not in kept]
        for name in gone:
            store.forget_source(name)

    def _start_over(self, *, unless_after: int | None = None) -> None:
        """Begin a new database. Of several who find it damaged, `unless_after` has one do so.

        Raises StoreForeign and StoreNewer for what is not ours to set aside.
        """
        # Nobody may open it meanwhile: that would be the one that is set aside.
        with self._flows.alone(), self._opening, named_errors(self.paths.db):
            if unless_after not in (None, self._beginnings):
                return
            self._beginnings += 1
            self.close(keeps_log=True)
            with suppress(StoreCorrupt):
                is_outdated(self.paths.db, self._store_type.SCHEMA)
            if self.paths.db.exists():
                set_aside(self.paths.db)


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
