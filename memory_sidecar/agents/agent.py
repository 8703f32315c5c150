"""One agent's database: opened, made again when lost, and kept in line with its files.

Whatever writes a file of memories or sessions calls `take_up` afterwards, so that the file can be
found when the call returns. Each agent has a database and folders of its own, which keeps agents
apart. Questions are answered by `memories.handlers` and `sessions.handlers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memory_sidecar.agents.store import AgentStore
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
from memory_sidecar.core.results import IndexReport, Reporter
from memory_sidecar.core.sqlite import Connection, connect, snapshot
from memory_sidecar.core.times import Clock
from memory_sidecar.disk.registry import Registry
from memory_sidecar.index.agent_database import Ask
from memory_sidecar.index.database import Database
from memory_sidecar.index.document import Builder
from memory_sidecar.index.embed import waiting
from memory_sidecar.index.models import Models
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.schema import Corpus
from memory_sidecar.memories.builder import MemoryBuilder
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.reads import count_reads
from memory_sidecar.sessions.builder import SessionBuilder
from memory_sidecar.sessions.store import SESSIONS

if TYPE_CHECKING:
    from memory_sidecar.agents.team_files import TeamFiles

RESERVED_NAMES = frozenset({OWN_DIRECTORY, SESSIONS, "access.jsonl"})
"""What a registered directory cannot be called: sources and files of our own."""

FIRST_LOOK_MS = 500  # that the first question after a start waits for the files
T = TypeVar("T")


class Agent:
    """The database at `paths.db` with its directories. Safe to use from several threads.

    Implements `index.agent_database.AgentDatabase`.
    """

    def __init__(
        self,
        paths: AgentPaths,
        *,
        models: Models,
        clock: Clock,
        shared: Agent | None,
        reranks: bool = True,
    ) -> None:
        """`shared` is the agent whose memories this one reads besides its own.

        `reranks` says whether hits are reranked where a question leaves that open.
        """
        self.paths = paths
        self.name = paths.agent
        self.clock = clock
        self.shared = shared
        self.reranks = reranks
        self.registry = Registry(
            paths.registry,
            reserved=RESERVED_NAMES,
            data_dirs=[paths.db.parent.parent],
            tree=paths.tree,
        )
        self.data = Database(
            paths,
            store=AgentStore,
            sources=self.sources,
            builder=self._builder,
            models=models,
            clock=clock,
            remedy=f"memory-sidecar reindex --agent {paths.agent}",
        )
        self._has_looked = False  # at the files, since this process began
        self._is_own = False  # whether the database was found to hold the rows of this agent
        self.on_use: Callable[[], None] = lambda: None  # whenever it was read or written
        self.on_read: Callable[[Path, str], None] = lambda _file, _tool: None
        self.team: TeamFiles | None = None  # its files as a team's database has them

    def close(self) -> None:
        self.data.close()

    def unload(self) -> None:
        """Give the memory of the vectors back; the next query reads them again."""
        self.data.file.unload()

    @property
    def exists(self) -> bool:
        """Whether this agent has a database or files, or a team may have some of it."""
        return self.paths.db.exists() or bool(self.sources()) or self.team is not None

    @property
    def last_changed(self) -> float:
        """When its database was last written to, in seconds since 1970; 0 without one."""
        try:
            return self.paths.db.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def sources(self) -> list[Source]:
        """What its database is derived from: its own folders, and what is registered besides.

        Raises PathRefused where one of its own is a link.
        """
        self.paths.require_no_links()
        own = ((OWN_DIRECTORY, self.paths.memories), (SESSIONS, self.paths.sessions))
        found = [Source(name, folder.resolve()) for name, folder in own if folder.is_dir()]
        return found + self.registry.all()

    def source(self, directory: str) -> Source:
        """The source of that name. Raises NotFound."""
        for source in self.sources():
            if source.name == directory:
                return source
        raise NotFound(
            f"{self.name} has no knowledge directory {directory!r}",
            hint=f"`memory-sidecar source list --agent {self.name}` shows those it has",
        )

    def _builder(self, source: Source) -> Builder:
        if source.name == SESSIONS:
            return SessionBuilder(source)
        # Its own folder lies beside its database: both are there, or neither is.
        is_beside = source.name == OWN_DIRECTORY
        return MemoryBuilder(
            source, agent=self.name, believes_empty=is_beside, is_unfilled=is_unfilled
        )

    # Writing

    def take_up(
        self, files: Collection[str], *, reporter: Reporter, directory: str = OWN_DIRECTORY
    ) -> None:
        """Index these files, just written, moved or removed, relative to their directory.

        Returns when the files can be found, with their vectors if there is a model; a process that
        watches them leaves texts that take longer than a second for later. A notice says so where
        another process holds the database for too long. The files are given to a team, too.
        """
        self.index(files, reporter=reporter, directory=directory)
        if self.team is not None:
            self.team.after_writing(reporter, directory, files)

    def index(self, files: Collection[str], *, reporter: Reporter, directory: str) -> None:
        """As `take_up`, but without giving the files to a team."""
        source = self.source(directory)

        def first(said: Reporter) -> None:
            self._require_own(said)
            if self.paths.flow_state(source.name).exists():  # so its database was there before
                self.data.complete(said)

        self.on_use()  # a watch of a new agent begins, which embeds what need not be waited for
        self.data.take_up(
            source,
            files,
            reporter,
            first=first,
            is_done=lambda: self._is_taken_up(source, files),
        )

    def rebuild(self, *, reporter: Reporter) -> IndexReport:
        """Derive everything again from the files. Raises NoIndex where there are none."""
        sources = self.sources()
        if not sources:
            raise self.nothing()
        report = self.data.rebuild(sources, all_of_it=True, reporter=reporter)
        count_reads(self)
        self.on_use()
        return replace(report, agent=self.name)

    def register(self, root: Path, *, name: str | None = None, force: bool = False) -> Source:
        """Have the folder `root` as one more knowledge directory.

        A process that watches this agent indexes the folder at once, without one the next reader
        does. Raises PathRefused for a folder of the agents' own, as none may read another's.
        """
        real = Path(real_path(root))
        knowledge = Path(real_path(self.paths.db.parent))
        if real == knowledge or knowledge in real.parents or real in knowledge.parents:
            raise PathRefused(
                f"{root} overlaps with the agents' own memories in {knowledge}",
                hint="register a folder elsewhere; what all agents may read belongs to `shared`",
            )
        source = self.registry.add(root, name=name, force=force)
        self.data.owner.follow(source)
        self.on_use()
        return source

    def unregister(self, name: str, *, reporter: Reporter) -> Source:
        """Forget a registered directory, and everything derived from it. Its files stay."""
        return self.data.forget(name, self.registry, reporter=reporter)

    def _is_taken_up(self, source: Source, files: Collection[str]) -> bool:
        """Whether another process has indexed `files` as they are on disk now."""
        if not self.paths.db.exists():
            return False
        known = self.data.open().manifest(source.name, under=files)
        on_disk = {file.path: file.stamp for file in self._builder(source).scan(files).files}
        return on_disk == {path: entry.stamp for path, entry in known.items()}

    # Reading

    def take_news(self, reporter: Reporter) -> None:
        """Have what a team's other machines stored by now, as files and rows of this one."""
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
        self.take_news(reporter)
        if not self._has_looked and not self.data.is_tended:
            self.data.complete(reporter)
            sources = [*self.sources(), *self._removed()]
            self._has_looked = self.data.catch_up(sources, reporter)
        self._embed(embedded, reporter)
        if self.data.unseen() and not self.data.wait_fresh(timeout_ms=FIRST_LOOK_MS):
            reporter.notice(f"{self.name} is being compared with its files: answering from before")
        count_reads(self)
        with self.data.snapshot(reporter) as (store, connection):
            yield store, connection
        self.on_use()

    def _embed(self, corpora: Collection[Corpus], reporter: Reporter) -> None:
        """Embed what waits of `corpora`, unless a process that watches, or another writer, does."""

        def is_done() -> bool:
            return not waiting(self.data.open(), corpora)

        if not self.data.is_tended and not is_done():
            owner = self.data.owner
            with suppress(CannotWrite, ModelError):
                owner.loop.ask(
                    lambda said: owner.embed(said, until=is_done),
                    reporter,
                    urgency=Urgency.ASKED,
                    patience_s=0.0,
                )

    @contextmanager
    def glimpse(self) -> Iterator[Connection]:
        """The existing database as it is, by a connection that is closed afterwards.

        Very many agents can be counted this way, since none of them stays open.
        """
        connection = connect(self.paths.db, read_only=True)
        try:
            with snapshot(connection):
                yield connection
        finally:
            connection.close()

    def _removed(self) -> Iterator[Source]:
        """The folder of its own memories, if it was deleted and the database still has its rows."""
        known = self.data.open().source_state(OWN_DIRECTORY)
        if known is not None and not os.path.lexists(self.paths.memories):
            yield Source(OWN_DIRECTORY, known.root)

    def _require_own(self, reporter: Reporter) -> None:
        """Raises UsageError for a database that holds another agent's rows, PathRefused for links.

        If the file is named after this agent, it is made again: everything in it is derived.
        """
        self.paths.require_no_links()
        if self._is_own:
            return
        own = {OWN_DIRECTORY: self.paths.memories, SESSIONS: self.paths.sessions}
        for name, folder in own.items():
            known = self.data.open().source_state(name)
            # The data directory may have moved since.
            if not known or known.root.name == self.name or known.root == folder.resolve():
                continue
            problem = f"{self.paths.db} holds what is {known.root.name!r}'s, not {self.name!r}'s"
            if self.paths.db.stem != self.name:
                raise UsageError(
                    problem, hint="each agent has a database of its own: name another one with --db"
                )
            reporter.notice(f"{problem}: making it again")
            self.data.begin_anew(reporter)
            break
        self._is_own = True

    def nothing(self) -> NoIndex:
        """The error for a question to an agent for which nothing was ever stored."""
        return NoIndex(
            f"{self.name} has no memories yet",
            hint=f"`memory-sidecar store TEXT --agent {self.name} --category C` writes one",
        )
