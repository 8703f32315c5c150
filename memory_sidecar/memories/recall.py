"""All that reads an agent's memories: questions, lists, and one by its path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from memory_sidecar.agents.database import AgentDatabase
from memory_sidecar.agents.store import AgentStore
from memory_sidecar.core.clock import Clock
from memory_sidecar.core.errors import (
    ModelError,
    NotFound,
    SidecarError,
    StoreCorrupt,
    UsageError,
)
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Judge
from memory_sidecar.index.models import Models
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.memories.hit import MemoryHit
from memory_sidecar.memories.lists import find_atoms, find_memory, in_order, list_memories
from memory_sidecar.memories.model import MemoryList, MemoryQuery, StoredMemory
from memory_sidecar.memories.search import Scope, search_memories
from memory_sidecar.memories.store import MEMORY_CHUNKS

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Agent(AgentDatabase):
    """One agent, and what it may read besides its own."""

    def __init__(
        self,
        paths: AgentPaths,
        *,
        models: Models,
        clock: Clock,
        shared: Agent | None,
        reranks: bool = True,
    ) -> None:
        """`shared` is whose memories this agent reads besides its own.

        `reranks` decides for questions that leave it open whether their hits are.
        """
        super().__init__(paths, models=models, clock=clock)
        self.shared = shared
        self._clock = clock
        self._reranks = reranks
        self.on_read: Callable[[Path, str], None] = lambda _file, _tool: None

    def query(
        self, query: MemoryQuery, *, with_shared: bool = True, reporter: Reporter
    ) -> list[MemoryHit]:
        """The best memories for `query`, own and shared. Says by notice what is missing.

        Raises NoIndex where nothing was ever stored, ModelMissing in vector mode without a model.
        """
        if not query.text.strip():
            raise UsageError("the query is empty", hint="say what you are looking for")
        reranks = self._reranks if query.rerank is None else query.rerank
        judge = self.judge(reporter) if reranks else None

        def ask(readable: Sequence[Readable]) -> Sequence[MemoryHit]:
            scopes = [self._scope(query, *each, reporter) for each in readable]
            return search_memories(query, scopes, now=self._clock(), judge=judge)

        return list(self._ask(ask, reporter, with_shared=with_shared))

    def _scope(
        self,
        query: MemoryQuery,
        agent: Agent,
        store: AgentStore,
        connection: Connection,
        reporter: Reporter,
    ) -> Scope:
        embed_query = None
        if query.mode is not SearchMode.KEYWORD:
            embed_query = agent.data.embed_query(
                connection,
                count_vectors(connection, [MEMORY_CHUNKS]),
                reporter,
                # What is shared comes on top of what the agent has.
                required=query.mode is SearchMode.VECTOR and (agent is self or not self.exists),
            )
        return Scope(agent.name, store, connection, embed_query)

    def judge(self, reporter: Reporter) -> Judge | None:
        """What reads the best hits again; `None` where there is no such model.

        It is loaded when there is something to judge. One that does not load judges all alike.
        """

        def say(error: ModelError) -> None:
            reporter.notice(f"not reranked: {error.message}; {error.hint}")

        try:
            reranker = self.data.models.reranker
        except ModelError as error:
            say(error)
            return None
        if reranker is None:
            return None

        def judge(question: str, texts: Sequence[str]) -> Sequence[float]:
            try:
                return reranker.judge(question, texts)
            except ModelError as error:
                say(error)
                return [0.0] * len(texts)

        return judge

    def list(
        self, wanted: MemoryList, *, with_shared: bool = False, reporter: Reporter
    ) -> list[tuple[str, StoredMemory]]:
        """The memories that `wanted` describes, in its order, each with the agent whose it is."""
        stop = None if wanted.limit is None else wanted.offset + wanted.limit
        # How many of a page come from which of two databases is not known before.
        part = replace(wanted, offset=0, limit=stop) if with_shared else wanted

        def ask(readable: Sequence[Readable]) -> Sequence[tuple[str, StoredMemory]]:
            now = self._clock()
            return [
                (agent.name, row)
                for agent, _, connection in readable
                for row in list_memories(connection, part, now=now)
            ]

        found = list(self._ask(ask, reporter, with_shared=with_shared))
        return in_order(found, wanted)[wanted.offset : stop] if with_shared else found

    def get(
        self, path: str, *, with_shared: bool = True, reporter: Reporter
    ) -> tuple[str, StoredMemory]:
        """The memory at `path`, its own before a shared one; counts the read.

        An atom is also found by its id, with its project in front where several have it. Raises
        NotFound, UsageError for the id of several.
        """

        def ask(readable: Sequence[Readable]) -> tuple[Agent, StoredMemory] | None:
            for agent, _, connection in readable:
                if stored := _find(connection, path, now=self._clock()):
                    return agent, stored
            return None

        if found := self._ask(ask, reporter, with_shared=with_shared):
            agent, stored = found
            agent.count_read(stored, tool="get")
            return agent.name, stored
        raise NotFound(
            f"{self.name} has no memory {path!r}",
            hint=f"`memory-sidecar list --agent {self.name}` shows the paths",
        )

    def count_read(self, read: StoredMemory, *, tool: str) -> None:
        """Note that `tool` read a memory of this agent, if the access log can be written."""
        try:
            self.reads.count(read.memory.path, tool=tool)
            with suppress(NotFound):  # its directory is out of reach at the moment
                self.on_read(self.source(read.directory).root / read.file, tool)
        except (OSError, SidecarError) as error:
            _log.warning("a read of %s is not counted: %s", read.memory.path, error)

    def _ask(
        self,
        question: Callable[[Sequence[Readable]], T],
        reporter: Reporter,
        *,
        with_shared: bool,
    ) -> T:
        """The answer to `question`, from one commit of each database that may be read.

        Asked again where one of them turns out to be damaged, and was made anew.
        """

        def ask() -> T:
            with ExitStack() as stack:
                return question(list(self._readable(reporter, stack, with_shared=with_shared)))

        if self.shared is None:
            return self.data.recovering(ask, reporter)
        recovering = self.shared.data.recovering
        return recovering(lambda: self.data.recovering(ask, reporter), reporter)

    def _readable(
        self, reporter: Reporter, stack: ExitStack, *, with_shared: bool
    ) -> Iterator[Readable]:
        """The databases that may be read, up to date as far as this process sees to that."""
        agents = [self]
        if with_shared and self.shared is not None:
            agents.append(self.shared)
        existing = [agent for agent in agents if agent.exists]
        if not existing:
            raise self.nothing()
        for agent in existing:
            try:
                store, connection = stack.enter_context(agent.snapshot(reporter))
            except SidecarError as error:
                if agent is self or self not in existing or isinstance(error, StoreCorrupt):
                    raise
                reporter.notice(f"without shared memories: {error.message}; {error.hint}")
                continue
            yield agent, store, connection


Readable = tuple[Agent, AgentStore, Connection]
"""A database that may be read, and one commit of it."""


def _find(connection: Connection, path: str, *, now: int) -> StoredMemory | None:
    if (found := find_memory(connection, path, now=now)) is not None:
        return found
    atoms = find_atoms(connection, path, now=now)
    if len(atoms) > 1:
        paths = ", ".join(atom.memory.path for atom in atoms)
        raise UsageError(f"several are called {path}", hint=f"name one of {paths}")
    return next(iter(atoms), None)
