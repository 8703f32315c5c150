"""Reads an agent's memories: searches, lists, and single memories by path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TypeVar

from memory_sidecar.core.errors import NotFound, SidecarError, StoreCorrupt
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.opening import escape_bytes
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.short_names import is_another_whole_name
from memory_sidecar.embedding.models import Judge, make_judge
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.asking import Attempt, ask_past_renames
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.schema import Corpus
from memory_sidecar.memories.around import Around, around, near_pairs
from memory_sidecar.memories.by_path import (
    NOT_YET,
    find_by_beginning,
    find_exact,
    is_current,
    open_directory,
    why_not_indexed,
)
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.hit import RankedMemory, Searched, best_hits
from memory_sidecar.memories.lists import MemoryRows, asking, list_memories
from memory_sidecar.memories.lookup import (
    list_categories,
    note_unknown_values,
    paths_like,
    skip_reason,
)
from memory_sidecar.memories.model import (
    MemoryList,
    MemoryQuery,
    StoredMemory,
    parse_address,
)
from memory_sidecar.memories.names import MEMORY_SUFFIX, check_path, spellings, with_slashes
from memory_sidecar.memories.reads import note_read
from memory_sidecar.memories.results import Category, Memory, MemoryHit
from memory_sidecar.memories.search import Readable, search_memories
from memory_sidecar.memories.store import MEMORY_CHUNKS

T = TypeVar("T")

Question = Callable[[Sequence[Readable], Reporter], T]
"""What is asked of all that may be read; notices of what it lacks go to the reporter."""

_log = logging.getLogger(__name__)


class Recall:
    """Reads the memories of `agent` and those of the shared agent, for one call."""

    def __init__(self, agent: AgentDatabase, reporter: Reporter) -> None:
        self._agent = agent
        self._reporter = reporter

    def query(self, query: MemoryQuery, *, with_shared: bool = True) -> list[MemoryHit]:
        """Search own and shared memories, the best first. Notices say what is missing.

        Without any memories there are no hits. Raises UsageError for an empty query, and
        ModelMissing in vector mode without a model.
        """
        query.require_text()
        judge = self.judge_of(query)
        query = replace(query, rerank=judge is not None)

        def ask(readable: Sequence[Readable], reporter: Reporter) -> list[RankedMemory]:
            found = best_hits(query, [self._search(query, readable, reporter)], judge)
            if not found:
                ask_each = asking(*(each.rows for each in readable))
                note_unknown_values(ask_each, query.filter, reporter)
            return found

        hits = self._ask(ask, *_embedded(query), with_shared=with_shared)
        return [each.to_hit(explain=query.explain) for each in hits]

    def search(self, query: MemoryQuery) -> Searched:
        """Search the agent's own memories, as one of several searches whose hits are merged."""
        return self._ask(partial(self._search, query), *_embedded(query), with_shared=False)

    def judge_of(self, query: MemoryQuery) -> Judge | None:
        """Return the judge that reranks the hits of `query`; None if it is off or has no model."""
        reranks = query.mode is SearchMode.HYBRID
        reranks &= self._agent.reranks if query.rerank is None else query.rerank
        return make_judge(self._agent.data.models, self._reporter) if reranks else None

    def _search(
        self, query: MemoryQuery, readable: Sequence[Readable], reporter: Reporter
    ) -> Searched:
        if query.uses_vectors:
            readable = [self._with_vectors(query, each, reporter) for each in readable]
        return search_memories(query, readable)

    def _with_vectors(self, query: MemoryQuery, readable: Readable, reporter: Reporter) -> Readable:
        agent, connection = readable.agent, readable.rows.connection
        # Shared memories are an addition: a missing model is an error for the agent's own,
        # and for the shared ones only if there are no own ones.
        is_main = agent is self._agent or not self._agent.exists
        embed_query = agent.data.questions.by_model(
            connection,
            count_vectors(connection, [MEMORY_CHUNKS]),
            reporter,
            query.mode,
            is_main=is_main,
            whose=agent.name,
        )
        return replace(readable, embed_query=embed_query)

    def _list_stored(self, wanted: MemoryList, *, with_shared: bool = False) -> list[StoredMemory]:
        def ask(readable: Sequence[Readable], reporter: Reporter) -> list[StoredMemory]:
            ask_each = asking(*(each.rows for each in readable))
            found = list_memories(ask_each, wanted)
            if not found:
                note_unknown_values(ask_each, wanted.filter, reporter)
            return found

        return self._ask(ask, with_shared=with_shared)

    def categories(self) -> list[Category]:
        """List the agent's categories; none, with a notice, if it has stored nothing."""
        if not self._agent.exists:
            self._reporter.notice(self._agent.no_memories_error().with_hint)
            return []
        return self._agent.answer(
            lambda _, connection: list_categories(MemoryRows.of(self._agent, connection)),
            self._reporter,
        )

    def list(self, wanted: MemoryList, *, with_shared: bool = False) -> list[Memory]:
        """List the memories that `wanted` describes, in its order."""
        return [each.memory for each in self._list_stored(wanted, with_shared=with_shared)]

    def get(self, path: str, *, with_shared: bool = True) -> Memory:
        """Return the memory at `path`, the agent's own before a shared one, and count the read.

        `path` may also be the id of an atom, with its project in front if several have that id,
        or the beginning of a path. A file that was just changed or deleted is indexed first.
        Raises NotFound, and UsageError if several memories match.
        """
        agent, stored = self._find_memory(path, with_shared=with_shared)
        if not is_current(agent, stored):
            agent.index([stored.file], reporter=self._reporter, directory=stored.directory)
            agent, stored = self._find_memory(path, with_shared=with_shared)
        _count_read(agent, stored)
        return stored.memory

    def peek(self, path: str, *, with_shared: bool = False) -> Memory:
        """Return the memory at `path` as `get` does, but without counting a read."""
        return self._find_memory(path, with_shared=with_shared)[1].memory

    def around(self, memory: Memory) -> Around:
        """Find the neighbours of a memory of this agent: links, predecessors, near duplicates."""
        return self._agent.answer(
            lambda store, connection: around(connection, store, memory),
            self._reporter,
            MEMORY_CHUNKS,
        )

    def near_pairs(self, memories: Sequence[Memory]) -> Sequence[tuple[float, str, str]]:
        """Return cosine and paths of each of this agent's `memories` and a near duplicate."""
        return self._agent.answer(
            lambda store, connection: near_pairs(connection, store, memories),
            self._reporter,
            MEMORY_CHUNKS,
        )

    def _find_memory(self, path: str, *, with_shared: bool) -> tuple[AgentDatabase, StoredMemory]:
        """Find the memory that `path` names, see `get`, and its agent."""
        path = escape_bytes(path)
        names = dict.fromkeys((path, *spellings(with_slashes(path))))

        def ask(
            readable: Sequence[Readable], _: Reporter
        ) -> tuple[AgentDatabase, StoredMemory] | None:
            for find, name in product((find_exact, find_by_beginning), names):
                for each in readable:
                    if stored := find(each.rows, name):
                        return each.agent, stored
            return None

        found = self._ask(ask, with_shared=with_shared)
        if found is None and self._index_unknown(path, with_shared=with_shared):
            found = self._ask(ask, with_shared=with_shared)
        if found is None:
            raise self._not_found(path, with_shared=with_shared)
        return found

    def _index_unknown(self, path: str, *, with_shared: bool) -> bool:
        """Index the file at `path`, saved or renamed a moment ago; return whether there is one."""
        for agent in (self._agent, self._agent.shared if with_shared else None):
            if agent is not None and why_not_indexed(agent, path) == NOT_YET:
                directory, file = parse_address(path)
                agent.index([check_path(file)], reporter=self._reporter, directory=directory)
                return True
        return False

    def _directory(self, name: str) -> KnowledgeDirectory:
        """Open the directory called `name`. Raises NotFound, but not for the agent's own."""
        return open_directory(self._agent, name)

    def _not_found(self, path: str, *, with_shared: bool) -> NotFound:
        """Make the error for a `path` without a memory; its hint names those with a like path.

        It says why a file there is none.
        """

        def ask(readable: Sequence[Readable], _: Reporter) -> list[str]:
            for each in readable:
                connection, is_read = each.rows.connection, with_shared or each.agent is self._agent
                reason = skip_reason(connection, path) or why_not_indexed(each.agent, path)
                if is_read and reason:
                    raise NotFound(
                        f"{path} exists, but is not a memory: {reason}",
                        hint="it is found as soon as that has changed",
                    )
            return [
                f"{found} (--agent shared)" if each.agent is self._agent.shared else found
                for each in readable
                for found in paths_like(each.rows.connection, path)
                if each.rows.find(found) is not None
            ]

        hint = f"`memory-sidecar list --agent {self._agent.name}` shows the paths"
        if like := self._ask(ask, with_shared=True):
            hint = f"there is {', '.join(like)}"
        return NotFound(f"{self._agent.name} has no memory {path!r}", hint=hint)

    def _complete_path(self, path: str) -> str:
        """Return the whole path of the agent's own memory that `path` names in short.

        Raises NotFound, also if `path` begins one memory's path but may be the whole name of
        another that is gone: the first must not be changed by mistake.
        """
        found = self.peek(path).path
        if is_another_whole_name(with_slashes(path), found[: -len(MEMORY_SUFFIX)]):  # or .MD
            raise NotFound(
                f"{self._agent.name} has no memory {path!r}",
                hint=f"{found} exists: give its full name",
            )
        return found

    def _ask(self, question: Question[T], *embedded: Corpus, with_shared: bool) -> T:
        """Ask `question` of one commit of each database that may be read.

        If one of them turns out to be damaged, it is made again and the question is repeated. So it
        is if rows have lost their files: see `ask_past_renames`.
        """

        def attempt_it(attempt: Attempt) -> T:
            with ExitStack() as stack:
                opened = self._open_readable(stack, attempt, *embedded, with_shared=with_shared)
                return question([*opened], attempt)

        def ask() -> T:
            return ask_past_renames(attempt_it, self._reporter)

        own, shared = self._agent.data, self._agent.shared
        if shared is None:
            return own.recovering(ask, self._reporter)
        return shared.data.recovering(lambda: own.recovering(ask, self._reporter), self._reporter)

    def _open_readable(
        self, stack: ExitStack, attempt: Attempt, *embedded: Corpus, with_shared: bool
    ) -> Iterator[Readable]:
        """Open a snapshot of the own database and, `with_shared`, of the shared one, if they exist.

        They are brought up to date before, unless another process does that. `stack` closes them.
        """
        own, shared = self._agent, self._agent.shared if with_shared else None
        existing = [agent for agent in (own, shared) if agent is not None and agent.exists]
        if not existing:
            attempt.notice(own.no_memories_error().with_hint)
        for agent in existing[1:]:  # they are asked in turn, but built in parallel
            with suppress(SidecarError):  # which is raised again below
                agent.data.begin_waiting(attempt)
        for agent in existing:
            try:
                snapshot = agent.snapshot(attempt, *embedded)
                store, connection = stack.enter_context(snapshot)
            except SidecarError as error:
                if agent is own or own not in existing or isinstance(error, StoreCorrupt):
                    raise
                attempt.notice(f"without shared memories: {error.with_hint}")
                continue
            yield Readable(agent, store, MemoryRows.of(agent, connection, attempt))


def _embedded(query: MemoryQuery) -> tuple[Corpus, ...]:
    """Return the corpora whose vectors `query` needs."""
    return (MEMORY_CHUNKS,) if query.uses_vectors else ()


def _count_read(agent: AgentDatabase, read: StoredMemory) -> None:
    """Count that `get` read a memory of `agent`; if the log cannot be written, only log that."""
    try:
        note_read(agent, read.memory.path)
        with suppress(NotFound):  # its directory is out of reach at the moment
            agent.on_read(agent.source(read.directory).root / read.file)
    except (OSError, SidecarError) as error:
        _log.warning("a read of %s is not counted: %s", read.memory.path, error)
