"""The sources of one database: register, index, search, report.

A database that is missing, damaged or of an older schema is made again from the registered
sources by whatever needs it first, and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

from memory_sidecar.clock import Clock
from memory_sidecar.errors import (
    ModelError,
    NoIndex,
    NotFound,
    PathRefused,
    SidecarError,
    StoreCorrupt,
    UsageError,
)
from memory_sidecar.flows.codebase import Refreshed, SourceFlow
from memory_sidecar.flows.vectors import embed_pending, known_vectors
from memory_sidecar.handlers.follower import Follower, LiveState
from memory_sidecar.handlers.models import Models
from memory_sidecar.handlers.reporter import Reporter, Silent
from memory_sidecar.handlers.writer_lock import WriterLock
from memory_sidecar.model import CodeHit, CodeQuery, FileStatus, SearchMode
from memory_sidecar.paths import StorePaths
from memory_sidecar.search.code import EmbedQuery, search_code
from memory_sidecar.settings import Settings
from memory_sidecar.sources.registry import Registry, Source
from memory_sidecar.sqlite import database_bytes, named_errors
from memory_sidecar.store.codebase import CodeStore
from memory_sidecar.store.identity import is_outdated, set_aside
from memory_sidecar.store.report import (
    ListedFile,
    SourceCounts,
    count_chunks,
    count_pending,
    count_sources,
    list_files,
)

T = TypeVar("T")

_GLOB_SYNTAX = re.compile(r"[\\*?\[\]{}!]")


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


@dataclass(frozen=True, slots=True)
class CodebaseStatus:
    """What a database holds."""

    db: Path
    db_bytes: int
    registered: tuple[Source, ...]
    sources: tuple[SourceCounts, ...]
    chunks: int
    vectors_pending: int
    live: tuple[LiveState, ...]  # empty where nothing watches


class Codebase:
    """One database with its registry. Opened when first used."""

    def __init__(
        self,
        paths: StorePaths,
        *,
        settings: Settings,
        models: Models,
        clock: Clock,
        own_folders: Sequence[Path] = (),
    ) -> None:
        """What lies in `own_folders`, our own data, is never indexed; nor is the database."""
        self.paths = paths
        self._own = (*own_folders, paths.state, *map(paths.db.with_name, _names_of(paths.db)))
        self.registry = Registry(paths.registry)
        self._settings = settings
        self._models = models
        self._clock = clock
        self._store: CodeStore | None = None
        self._flows: dict[str, SourceFlow] = {}
        self._keeps_flows = False
        self._lock = WriterLock(paths.writer_lock)
        self._changing = threading.RLock()  # one flow at a time; a rebuild replaces the store
        self._embedding = threading.Lock()
        self._opening = threading.Lock()
        self.live: Follower | None = None  # whoever watches the sources in this process

    def close(self) -> None:
        self._close_flows()
        if self._store is not None:
            self._store.close()
            self._store = None

    def unload(self) -> None:
        """Give the memory of the vectors back; the next query reads them again."""
        if self._store is not None:
            self._store.vectors.unload()

    # Index

    def index(
        self,
        roots: Sequence[Path],
        *,
        reporter: Reporter,
        excludes: tuple[str, ...] = (),
        full: bool = False,
        embed: bool = True,
    ) -> IndexReport:
        """Register `roots`, if they are new, and bring their rows in line with their files.

        No roots means every registered source. A root inside of a registered source means that
        source. A source whose rows were lost is indexed too. `full` reads unchanged files too;
        `embed=False` leaves vectors for later. The rows of a source that is not there stay; it
        takes all of them to be absent for an error.
        """
        if excludes and not roots:
            raise UsageError("--exclude needs a PATH", hint="name the folder it is meant for")
        sources = [self._registered(root, excludes, reporter) for root in roots]
        sources = list({s.name: s for s in sources}.values()) or self._all_sources()
        with self._lock.held(reporter):
            report = self._recovering(
                lambda: self._index(
                    self._with_lost(sources, reporter), reporter, full=full, embed=embed
                ),
                reporter,
            )
        if self.live is not None:
            for source in sources:
                self.live.follow(source)
        return report

    def refresh(self, source: Source, *, under: Collection[str] | None = None) -> Refreshed:
        """Bring the rows of `source` in line with its files, or with those `under` some paths.

        For whoever holds the lock by `kept_open`; vectors are left for `embed`.
        """
        with self._changing:
            return self._flow(source).refresh(under=under)

    def known_folders(self, source: Source) -> set[str]:
        """The folders that hold files of `source`, as its last scan left them; "" is its root."""
        paths = self._open().manifest(source.name)
        return {""} | {str(folder) for path in paths for folder in PurePosixPath(path).parents[:-1]}

    def embed(self, reporter: Reporter, *, stop: threading.Event | None = None) -> int:
        """Give every waiting chunk its vector; returns how many got one."""
        store = self._open()
        with store.reading() as connection:
            waiting = count_pending(connection)
        if not waiting:
            return 0
        return embed_pending(
            store,
            embedder=self._models.embedder,
            cache=self._models.cache,
            turn=self._embedding,
            stop=stop,
            progress=lambda done: reporter.progress("vectors", done, max(done, waiting)),
        )

    @contextmanager
    def kept_open(self, reporter: Reporter) -> Iterator[None]:
        """Keep the writer's lock and the flows of all sources for the length of the block."""
        with self._lock.held(reporter):
            self._keeps_flows = True
            try:
                yield
            finally:
                self._keeps_flows = False
                self._close_flows()

    def rebuild(self, names: Sequence[str], *, reporter: Reporter) -> IndexReport:
        """Derive the rows of the sources called `names`, or of all, again from their files."""
        sources = [self.registry.get(name) for name in names] or self._all_sources()
        for source in sources:
            _require_files(source)
        with self._lock.held(reporter):
            if not names:
                self._start_over()
            with self._changing:
                for source in sources:
                    self._forget_state(source)
            return self._recovering(
                lambda: self._index(
                    self._with_lost(sources, reporter), reporter, full=False, embed=True
                ),
                reporter,
            )

    def remove(self, name: str, *, reporter: Reporter) -> Source:
        """Forget a source: its registration and everything derived from it."""
        source = self.registry.remove(name)
        if self.live is not None:
            self.live.forget(name)
        with self._lock.held(reporter), self._changing:
            self._forget_state(source)
            if self.paths.db.exists():
                self._recovering(lambda: self._open().forget_source(name), reporter)
        return source

    def _registered(self, root: Path, excludes: tuple[str, ...], reporter: Reporter) -> Source:
        around = self.registry.containing(root)
        if around is None or around.root == root.resolve():
            return self.registry.add(root, excludes=excludes)
        if not root.is_dir():
            raise PathRefused(f"{root} is not a folder", hint="index the folder it lies in")
        if excludes:
            raise UsageError(
                f"{root} lies in the source {around.name!r}, which --exclude is for as a whole",
                hint=f"name that: `memory-sidecar index {around.root} --exclude GLOB`",
            )
        reporter.notice(f"{root} lies in the source {around.name!r}: indexing that")
        return around

    def _all_sources(self) -> list[Source]:
        sources = self.registry.all()
        if not sources:
            raise NoIndex("no source is registered", hint="run `memory-sidecar index PATH`")
        return sources

    def _index(
        self, sources: Sequence[Source], reporter: Reporter, *, full: bool, embed: bool
    ) -> IndexReport:
        started = time.monotonic()
        store = self._open()
        problem = self._models.problem
        if problem is None:
            store.adopt_model(self._models.files.sha256)
        passes = []
        absent: dict[str, SidecarError] = {}
        for source in sources:
            with self._changing:
                try:
                    refreshed = self._flow(source).refresh(
                        full=full,
                        progress=lambda done, total: reporter.progress("files", done, total),
                    )
                    passes.append(refreshed)
                except (NotFound, PathRefused) as error:
                    absent[source.name] = error
                finally:
                    if not self._keeps_flows:
                        self._close_flows()
        if not passes:
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
                chunks_total=count_chunks(connection),
                vectors_embedded=embedded,
                vectors_pending=count_pending(connection),
                files_skipped=tuple(f for f in skipped if f.source in names),
                files_failed=tuple(f for f in failed if f.source in names),
                folders_unreadable=tuple(folder for p in passes for folder in p.unreadable),
                seconds=time.monotonic() - started,
            )

    def _flow(self, source: Source) -> SourceFlow:
        if source.name in self._flows:
            return self._flows[source.name]
        known = None
        if self._models.problem is None:
            known = known_vectors(self._models.cache, self._models.files.sha256)
        flow = SourceFlow(
            replace(source, excludes=source.excludes + self._own_globs(source.root)),
            store=self._open(),
            state=self.paths.flow_state(source.name),
            known_vectors=known or (lambda _chunks: {}),
            max_file_bytes=self._settings.max_file_bytes,
            threads=min(os.cpu_count() or 1, 8),
        )
        self._flows[source.name] = flow
        return flow

    def _own_globs(self, root: Path) -> tuple[str, ...]:
        """What of our own lies inside of `root`. Indexed, every write would cause the next one."""
        own = [path.resolve() for path in self._own]
        inside = [path.relative_to(root) for path in own if root in path.parents]
        return tuple("/" + _GLOB_SYNTAX.sub(r"\\\g<0>", path.as_posix()) for path in inside)

    def _close_flows(self, name: str | None = None) -> None:
        """Let go of the CocoIndex state of all sources, or of one."""
        for each in [name] if name else list(self._flows):
            if flow := self._flows.pop(each, None):
                flow.close()

    def _forget_state(self, source: Source) -> None:
        """Its next refresh derives every row again."""
        self._close_flows(source.name)
        shutil.rmtree(self.paths.flow_state(source.name), ignore_errors=True)

    # Search

    def search(self, query: CodeQuery, *, reporter: Reporter) -> list[CodeHit]:
        """The best chunks for `query`. Says by notice what could not be taken into account.

        Raises NoIndex where nothing was indexed, NotFound for an unknown source, and ModelMissing
        in vector mode without a model.
        """
        if not query.text.strip():
            raise UsageError("the query is empty", hint="say what you are looking for")
        return self._recovering(lambda: self._search(query, reporter), reporter)

    def _search(self, query: CodeQuery, reporter: Reporter) -> list[CodeHit]:
        store = self._indexed(reporter)
        with store.reading() as connection:
            known = {source.name for source in count_sources(connection)}
            for name in query.filter.sources:
                if name not in known:
                    raise NotFound(
                        f"no source {name!r} is indexed here",
                        hint=f"there are: {', '.join(sorted(known)) or 'none'}",
                    )
            chunks, pending = count_chunks(connection), count_pending(connection)
        embed_query = None
        if query.mode is not SearchMode.KEYWORD and pending < chunks:
            embed_query = self._embed_query(store, query, reporter)
        elif query.mode is SearchMode.VECTOR and self._models.problem:
            raise self._models.problem
        if pending and query.mode is not SearchMode.KEYWORD and not self._models.problem:
            done = 100 * (chunks - pending) // chunks
            reporter.notice(f"vectors {done} % done: ranking by keyword and what is there")
        return search_code(query, store=store, embed_query=embed_query)

    def _embed_query(
        self, store: CodeStore, query: CodeQuery, reporter: Reporter
    ) -> EmbedQuery | None:
        try:
            if store.model != self._models.files.sha256:
                reporter.notice("vectors are of another model: run `memory-sidecar index`")
                return None
            self._models.embedder.load()
        except ModelError as error:
            if query.mode is SearchMode.VECTOR:
                raise
            reporter.notice(f"ranking by keyword alone: {error.message}; {error.hint}")
            return None
        return self._models.embedder.embed_query

    def wait_fresh(self, timeout_ms: int, *, reporter: Reporter) -> None:
        """A barrier: every save before this call is indexed when it returns, or a notice says not.

        Without a watch of the sources it scans them itself, however long that takes.
        """
        if self.live is None:
            self.index([], reporter=reporter, embed=False)
        elif not self.live.wait_fresh(timeout_ms=timeout_ms):
            reporter.notice(f"not all is indexed after {timeout_ms} ms: answering from what is")

    def source_around(self, folder: Path) -> Source | None:
        """The registered source that `folder` lies in."""
        return self.registry.containing(folder)

    # Report

    def status(self) -> CodebaseStatus:
        """Raises NoIndex where nothing was indexed."""
        registered = tuple(self.registry.all())
        if not self.paths.db.exists() and not registered:
            raise NoIndex(
                f"nothing is indexed in {self.paths.db}", hint="run `memory-sidecar index PATH`"
            )
        with self._open().reading() as connection:
            return CodebaseStatus(
                db=self.paths.db,
                db_bytes=database_bytes(self.paths.db),
                registered=registered,
                sources=tuple(count_sources(connection)),
                chunks=count_chunks(connection),
                vectors_pending=count_pending(connection),
                live=tuple(self.live.states()) if self.live else (),
            )

    def files(self, status: FileStatus, *, source: str | None = None) -> list[ListedFile]:
        """The files with that status, and why."""
        with self._open().reading() as connection:
            return list_files(connection, status, source=source)

    # The database

    def _open(self) -> CodeStore:
        with self._opening:
            if self._store is None:
                self._store = CodeStore(self.paths.db, clock=self._clock)
            return self._store

    def _indexed(self, reporter: Reporter) -> CodeStore:
        """The store, with rows of every registered source; those that were lost are made again."""
        if not self.registry.all():
            raise NoIndex(
                f"nothing is indexed in {self.paths.db}",
                hint="run `memory-sidecar index PATH` first",
            )
        if self._with_lost([], reporter):
            with self._lock.held(reporter):
                if lost := self._with_lost([], Silent()):  # whoever held the lock may have done it
                    self._index(lost, reporter, full=False, embed=True)
        return self._open()

    def _with_lost(self, asked: Sequence[Source], reporter: Reporter) -> list[Source]:
        """`asked`, and the registered sources that the database knows nothing of.

        It was deleted, damaged or of an older schema, or making it was interrupted.
        """
        if self._store is None and is_outdated(self.paths.db):
            reporter.notice(f"{self.paths.db.name} is of an older version: making it again")
        with self._open().reading() as connection:
            known = {source.name for source in count_sources(connection)}
        asked_names = {source.name for source in asked}
        lost = [s for s in self.registry.all() if s.name not in known | asked_names]
        if lost:
            names = ", ".join(source.name for source in lost)
            reporter.notice(f"{self.paths.db.name} holds nothing of {names}: indexing it")
        return [*asked, *lost]

    def _recovering(self, work: Callable[[], T], reporter: Reporter) -> T:
        """Do `work`; if the database turns out to be damaged, set it aside and do it again."""
        try:
            return work()
        except StoreCorrupt as error:
            reporter.notice(f"{error.message}: making it again")
            with self._lock.held(reporter):
                self._start_over()
            return work()

    def _start_over(self) -> None:
        """Raises StoreForeign and StoreNewer for what is not ours to set aside."""
        with self._changing, named_errors(self.paths.db):
            self.close()
            with suppress(StoreCorrupt):
                is_outdated(self.paths.db)
            if self.paths.db.exists():
                set_aside(self.paths.db)


def _require_files(source: Source) -> None:
    """What cannot be made again must not be thrown away."""
    with named_errors(source.root):
        if not source.root.is_dir() or not any(source.root.iterdir()):
            raise NotFound(
                f"{source.root} is not there or empty, so nothing was rebuilt",
                hint="mount its disk again, rebuild the others by --source, or `memory-sidecar "
                f"source remove {source.name}`",
            )


def _names_of(db: Path) -> list[str]:
    """Of the files that SQLite, and setting it aside, make of a database."""
    return [db.name + suffix for suffix in ("", "-wal", "-shm", "-journal", ".old")]


def narrowed(query: CodeQuery, source: Source | None) -> CodeQuery:
    """`query`, restricted to `source` unless it names sources itself."""
    if source is None or query.filter.sources:
        return query
    return replace(query, filter=replace(query.filter, sources=(source.name,)))
