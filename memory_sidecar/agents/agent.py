"""One agent's database: opens it, makes it again when lost, and keeps it in line with its files.

Code that writes a file of memories or sessions calls `index_written` afterwards, so that the file
can be found when the call returns. Each agent has its own database and folders, so no agent sees
another's. `memories.handlers` and `sessions.handlers` answer the questions.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memory_sidecar.agents.store import AgentStore
from memory_sidecar.agents.written import EMBED_WITHIN_S, as_notice, index_paths
from memory_sidecar.context.layout import is_unfilled
from memory_sidecar.core.errors import (
    CannotWrite,
    ModelError,
    NoIndex,
    NotFound,
    PathRefused,
    UsageError,
)
from memory_sidecar.core.model import Source
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.results import IndexReport, Reporter, SourceMoved
from memory_sidecar.core.sqlite import Connection, connect, snapshot
from memory_sidecar.core.times import Clock
from memory_sidecar.disk.registry import Recovered, Registry
from memory_sidecar.disk.roots import IsDeleted, deletions
from memory_sidecar.embedding.models import Models
from memory_sidecar.index import upkeep
from memory_sidecar.index.agent_database import Ask
from memory_sidecar.index.database import Database
from memory_sidecar.index.document import Builder
from memory_sidecar.index.embed import count_waiting
from memory_sidecar.index.report import count_sources, recorded_roots
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.schema import Corpus, version_of
from memory_sidecar.index.store_file import StoreFile
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.reads import count_reads
from memory_sidecar.sessions.builder import SessionBuilder
from memory_sidecar.sessions.store import SESSIONS

if TYPE_CHECKING:
    from memory_sidecar.agents.team_files import TeamFiles

RESERVED_NAMES = frozenset({OWN_DIRECTORY, SESSIONS, "access.jsonl"})
"""Names that a registered directory cannot have: the agent's own sources and files have them."""


T = TypeVar("T")


class Agent:
    """Implements `index.agent_database.AgentDatabase`. Safe to use from several threads."""

    def __init__(
        self,
        paths: AgentPaths,
        *,
        models: Models,
        clock: Clock,
        shared: Agent | None,
        reranks: bool = True,
    ) -> None:
        """`shared`: the agent whose memories this one reads besides its own, if any.

        `reranks`: whether to rerank the hits of a query that does not say.
        """
        self.paths = paths
        self.name = paths.agent
        self.clock = clock
        self.shared = shared
        self._own = {OWN_DIRECTORY: paths.memories, SESSIONS: paths.sessions}  # its own folders
        self.reranks = reranks
        self.registry = Registry(
            paths.registry,
            reserved=RESERVED_NAMES,
            data_dirs=[paths.db.parent.parent],
            tree=paths.tree,
            recover=self._recorded_roots,
        )
        self.data = Database(
            StoreFile(paths, AgentStore, clock=clock),
            sources=self.sources,
            builder=self._builder,
            models=models,
            remedy=f"memory-sidecar reindex --agent {paths.agent}",
            called=paths.agent,
        )
        self._is_own = False  # whether the database was checked to hold the rows of this agent
        self.on_use: Callable[[], None] = lambda: None  # called after each read or write
        self.on_read: Callable[[Path], None] = lambda _file: None
        self.team: TeamFiles | None = None  # the exchange with a team's database, if it has one

    def close(self) -> None:
        self.data.close()

    def unload(self) -> None:
        """Free the vectors held in memory; the next query reads them again."""
        self.data.file.unload()

    @property
    def exists(self) -> bool:
        return self.paths.db.exists() or bool(self.sources()) or self.team is not None

    @property
    def last_changed(self) -> float:
        """The time of the last write to the database file, in seconds since 1970; 0 without one."""
        with suppress(FileNotFoundError):
            return self.paths.db.stat().st_mtime
        return 0.0

    def sources(self) -> list[Source]:
        self.paths.require_no_links()
        own = self._own.items()
        found = [Source(name, folder.resolve()) for name, folder in own if folder.is_dir()]
        return found + self.registry.all()

    def source(self, directory: str) -> Source:
        for source in self.sources():
            if source.name == directory:
                return source
        raise NotFound(
            f"{self.name} has no knowledge directory {directory!r}",
            hint=f"`memory-sidecar source list --agent {self.name}` shows those it has",
        )

    def deletions(self) -> IsDeleted:
        roots = self._own | {source.name: source.root for source in self.registry.all()}
        return deletions(roots, trusted=self._own)

    def _builder(self, source: Source) -> Builder:
        if source.name == SESSIONS:
            return SessionBuilder(source)
        # The own folder lies beside the database: if it is absent, it was deleted, not unmounted.
        is_own = source.name == OWN_DIRECTORY
        return MemoryBuilder(
            source, agent=self.name, trusts_empty_root=is_own, is_unfilled=is_unfilled
        )

    # Writing

    def index_written(
        self, files: Collection[str], *, reporter: Reporter, directory: str = OWN_DIRECTORY
    ) -> None:
        self.index(files, reporter=reporter, directory=directory)
        if self.team is not None:
            self.team.after_writing(reporter, directory, files)

    def index(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        with as_notice(self.data, reporter):
            source = self.source(directory)

            def first(reporter: Reporter) -> None:
                self._require_own(reporter)
                if self.paths.flow_state(source.name).exists():  # so there was a database before
                    self.data.complete(reporter)

            self.on_use()  # starts the watch of a new agent, which embeds what no caller waits for
            is_done = partial(self._is_indexed, source, files)
            index_paths(self.data, source, files, reporter, first=first, is_done=is_done)

    def rebuild(self, *, reporter: Reporter) -> IndexReport:
        """Derive every row again from the files. Raises NoIndex for an agent without sources."""
        sources = self.sources()
        if not sources:
            raise self.no_memories_error()
        report = upkeep.rebuild(self.data, sources, all_of_it=True, reporter=reporter)
        count_reads(self)
        self.on_use()
        return replace(report, agent=self.name)

    def register(self, root: Path, *, name: str | None = None, force: bool = False) -> Source:
        """Register the folder `root` as one more knowledge directory.

        A process that watches this agent indexes the folder at once; without one, the next reader
        does. Raises PathRefused for a folder inside or around the agents' own, since no agent may
        read another's.
        """
        self._require_apart(root)
        source = self.registry.add(root, name=name, force=force)
        self.data.owner.watch(source)
        self.on_use()
        return source

    def move(self, name: str, root: Path, *, reporter: Reporter, force: bool) -> SourceMoved:
        """Make `root` the folder of the registered directory `name`; raises as `register`."""
        self._require_apart(root)
        before = self.registry.get(name).root.as_posix()
        moved = upkeep.move(self.data, name, root, self.registry, force=force, reporter=reporter)
        self.data.update([moved], reporter)
        with self.short_connection() as connection:
            chunks = next(each.chunks for each in count_sources(connection) if each.name == name)
        return SourceMoved(name, before, moved.root.as_posix(), chunks)

    def _require_apart(self, root: Path) -> None:
        real, knowledge = Path(real_path(root)), Path(real_path(self.paths.db.parent))
        if real == knowledge or knowledge in real.parents or real in knowledge.parents:
            raise PathRefused(
                f"{root} overlaps with the agents' own memories in {knowledge}",
                hint="register a folder elsewhere; what all agents may read belongs to `shared`",
            )

    def remove(self, name: str, *, reporter: Reporter) -> Source:
        """Remove a registered directory and all rows derived from it. Its files stay."""
        return upkeep.forget(self.data, name, self.registry, reporter=reporter)

    def _are_indexed(self, sources: Collection[Source]) -> bool:
        """Whether all files of `sources` are indexed as they are on disk now."""
        with suppress(NotFound, PathRefused):
            return all(self._is_indexed(each) for each in sources)
        return False

    def _is_indexed(self, source: Source, files: Collection[str] | None = None) -> bool:
        """Whether another process has indexed `files`, or all, as they are on disk now."""
        if not self.paths.db.exists():
            return False
        known = self.data.open().manifest(source.name, under=files)
        on_disk = {file.path: file.stamp for file in self._builder(source).scan(files).files}
        return on_disk == {path: entry.stamp for path, entry in known.items()}

    # Reading

    def pull_from_team(self, reporter: Reporter) -> None:
        if self.team is not None:
            self.team.before_reading(reporter)

    def answer(self, ask: Ask[T], reporter: Reporter, *embedded: Corpus) -> T:
        def look() -> T:
            with self.snapshot(reporter, *embedded) as snapshot:
                return ask(*snapshot)

        return self.data.recovering(look, reporter)

    @contextmanager
    def snapshot(
        self, reporter: Reporter, *embedded: Corpus
    ) -> Iterator[tuple[AgentStore, Connection]]:
        self._require_own(reporter)
        self.registry.warn_if_lost(reporter)
        self.pull_from_team(reporter)
        self.data.catch_up(reporter, removed=self._removed_sources, is_done=self._are_indexed)
        self._embed(embedded, reporter)
        count_reads(self)
        with self.data.snapshot(reporter) as (store, connection):
            yield store, connection
        self.on_use()

    def _embed(self, corpora: Collection[Corpus], reporter: Reporter) -> None:
        """Embed the rows of `corpora` that have no vector yet, for EMBED_WITHIN_S.

        Does nothing in a process that watches, which embeds by itself, or beside another writer.
        """
        until_s = time.monotonic() + EMBED_WITHIN_S

        def is_done() -> bool:
            return not count_waiting(self.data.open(), corpora)

        if corpora and not (self.data.is_watching or is_done()):
            owner = self.data.owner
            with suppress(CannotWrite, ModelError):
                owner.loop.ask(
                    lambda reporter: owner.embed(
                        reporter, until=lambda: is_done() or time.monotonic() > until_s
                    ),
                    reporter,
                    urgency=Urgency.LONG,
                    patience_s=0.0,
                )

    @contextmanager
    def short_connection(self) -> Iterator[Connection]:
        """Open a read-only snapshot of the database, without indexing anything first.

        The connection is closed afterwards, so that very many agents can be counted in turn. Raises
        NoIndex for a database that is not there, or empty.
        """
        db = self.paths.db
        if db.exists():
            with closing(connect(db, read_only=True)) as connection:
                if version_of(connection, db, AgentStore.SCHEMA):
                    with snapshot(connection):
                        yield connection
                    return
        raise NoIndex("not indexed yet, the next access does it")

    def _removed_sources(self) -> Iterator[Source]:
        """Yield the agent's own memories if their folder was deleted and their rows are left."""
        known = self.data.open().source_state(OWN_DIRECTORY)
        if known is not None and not os.path.lexists(self.paths.memories):
            yield Source(OWN_DIRECTORY, known.root)

    def _recorded_roots(self) -> Recovered:
        """Return the sources of which the database has rows.

        They are read only if a knowledge directory left its state: most agents never had one.
        """
        with suppress(OSError):
            if any(
                each.is_dir() and each.name not in self._own for each in self.paths.state.iterdir()
            ):
                return recorded_roots(self.paths.db)
        return (), ""

    def _require_own(self, reporter: Reporter) -> None:
        """Check that the database holds this agent's rows. Raises UsageError, PathRefused.

        Another agent's rows in the file named after this agent are no error: the file is made
        again, as everything in it is derived.
        """
        self.paths.require_no_links()
        if self._is_own:
            return
        for name, folder in self._own.items():
            known = self.data.open().source_state(name)
            # The data directory may have moved since.
            if not known or known.root.name == self.name or known.root == folder.resolve():
                continue
            problem = f"{self.paths.db} holds what is {known.root.name!r}'s, not {self.name!r}'s"
            if self.paths.db.stem != self.name:
                raise UsageError(
                    problem, hint="each agent has a database of its own: name another one with --db"
                )
            reporter.notice(f"{problem}: rebuilding it")
            self.data.start_over(reporter)
            break
        self._is_own = True

    def no_memories_error(self) -> NoIndex:
        return NoIndex(
            f"{self.name} has no memories yet",
            hint=f"`memory-sidecar store TEXT --agent {self.name} --category C` writes one",
        )
