"""Reads an agent's memories: searches, lists, and single memories by path."""

from __future__ import annotations

import logging
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TypeVar

from memory_sidecar.core.errors import NotFound, PathRefused, SidecarError, StoreCorrupt, UsageError
from memory_sidecar.core.model import SearchMode, SourceFile
from memory_sidecar.core.opening import Tree, escape_bytes
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.short_names import is_another_whole_name, sole_match
from memory_sidecar.embedding.models import Judge, make_judge
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.report import count_vectors
from memory_sidecar.index.schema import Corpus
from memory_sidecar.memories.around import Around, around, near_pairs
from memory_sidecar.memories.directory import KnowledgeDirectory
from memory_sidecar.memories.hit import RankedMemory, Searched, best_hits
from memory_sidecar.memories.lists import MemoryRows, asking, list_memories
from memory_sidecar.memories.lookup import (
    list_categories,
    note_unknown_values,
    paths_beginning,
    paths_like,
    skip_reason,
)
from memory_sidecar.memories.model import OWN_DIRECTORY, MemoryList, MemoryQuery, StoredMemory
from memory_sidecar.memories.names import MEMORY_SUFFIX, check_path, spellings, with_slashes
from memory_sidecar.memories.reads import note_read
from memory_sidecar.memories.results import Category, Memory, MemoryHit
from memory_sidecar.memories.search import Readable, search_memories
from memory_sidecar.memories.store import MEMORY_CHUNKS

T = TypeVar("T")

RENAMED_PATIENCE_S = 0.5  # a question waits so long for the new names of files that are gone

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

        def ask(readable: Sequence[Readable]) -> list[RankedMemory]:
            found = best_hits(query, [self._search(query, readable)], judge)
            if not found:
                ask_each = asking(*(each.rows for each in readable))
                note_unknown_values(ask_each, query.filter, self._reporter)
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

    def _search(self, query: MemoryQuery, readable: Sequence[Readable]) -> Searched:
        if query.uses_vectors:
            readable = [self._with_vectors(query, each) for each in readable]
        return search_memories(query, readable)

    def _with_vectors(self, query: MemoryQuery, readable: Readable) -> Readable:
        agent, connection = readable.agent, readable.rows.connection
        # Shared memories are an addition: a missing model is an error for the agent's own,
        # and for the shared ones only if there are no own ones.
        is_main = agent is self._agent or not self._agent.exists
        embed_query = agent.data.questions.by_model(
            connection,
            count_vectors(connection, [MEMORY_CHUNKS]),
            self._reporter,
            query.mode,
            is_main=is_main,
            whose=agent.name,
        )
        return replace(readable, embed_query=embed_query)

    def _list_stored(self, wanted: MemoryList, *, with_shared: bool = False) -> list[StoredMemory]:
        def ask(readable: Sequence[Readable]) -> list[StoredMemory]:
            ask_each = asking(*(each.rows for each in readable))
            found = list_memories(ask_each, wanted)
            if not found:
                note_unknown_values(ask_each, wanted.filter, self._reporter)
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
        if not _is_current(agent, stored):
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

        def ask(readable: Sequence[Readable]) -> tuple[AgentDatabase, StoredMemory] | None:
            for find, name in product((_find_exact, _find_by_beginning), names):
                for each in readable:
                    if stored := find(each.rows, name):
                        return each.agent, stored
            for each in readable:
                skipped = skip_reason(each.rows.connection, path)
                if reason := skipped or _why_not_indexed(each.agent, path):
                    raise NotFound(
                        f"{path} exists, but is not a memory: {reason}",
                        hint="it is found as soon as that has changed",
                    )
            return None

        found = self._ask(ask, with_shared=with_shared)
        if found is None:
            raise self._not_found(path)
        return found

    def _directory(self, name: str) -> KnowledgeDirectory:
        """Open the directory called `name`. Raises NotFound, but not for the agent's own."""
        paths = self._agent.paths
        if name == OWN_DIRECTORY:
            return KnowledgeDirectory.of_agent(paths)
        return KnowledgeDirectory(name, self._agent.source(name).root, paths.locks, paths.tree)

    def _not_found(self, path: str) -> NotFound:
        """Make the error for a `path` without a memory; its hint names those with a like path."""

        def ask(readable: Sequence[Readable]) -> list[str]:
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

    def _ask(
        self, question: Callable[[Sequence[Readable]], T], *embedded: Corpus, with_shared: bool
    ) -> T:
        """Ask `question` of one commit of each database that may be read.

        If one of them turns out to be damaged, it is made again and the question is repeated. So it
        is, once, if rows have lost their files: these may have new names, which are indexed first.
        """

        def ask_once() -> tuple[T, list[Readable]]:
            with ExitStack() as stack:
                readable = [*self._open_readable(stack, *embedded, with_shared=with_shared)]
                return question(readable), readable

        def ask() -> T:
            answer, readable = ask_once()
            if not self._reporter.waits:
                return answer
            fresh = [
                each.agent.data.wait_fresh(each.rows.gone_from, patience_s=RENAMED_PATIENCE_S)
                for each in readable
                if each.rows.gone_from and each.agent.data.is_watching
            ]
            return ask_once()[0] if any(fresh) else answer

        own, shared = self._agent.data, self._agent.shared
        if shared is None:
            return own.recovering(ask, self._reporter)
        return shared.data.recovering(lambda: own.recovering(ask, self._reporter), self._reporter)

    def _open_readable(
        self, stack: ExitStack, *embedded: Corpus, with_shared: bool
    ) -> Iterator[Readable]:
        """Open a snapshot of the own database and, `with_shared`, of the shared one, if they exist.

        They are brought up to date before, unless another process does that. `stack` closes them.
        """
        own, shared = self._agent, self._agent.shared if with_shared else None
        existing = [agent for agent in (own, shared) if agent is not None and agent.exists]
        if not existing:
            self._reporter.notice(own.no_memories_error().with_hint)
        for agent in existing[1:]:  # they are asked in turn, but built in parallel
            with suppress(SidecarError):  # which is raised again below
                agent.data.begin_waiting(self._reporter)
        for agent in existing:
            try:
                snapshot = agent.snapshot(self._reporter, *embedded)
                store, connection = stack.enter_context(snapshot)
            except SidecarError as error:
                if agent is own or own not in existing or isinstance(error, StoreCorrupt):
                    raise
                self._reporter.notice(f"without shared memories: {error.with_hint}")
                continue
            yield Readable(agent, store, MemoryRows.of(agent, connection))


def _embedded(query: MemoryQuery) -> tuple[Corpus, ...]:
    """Return the corpora whose vectors `query` needs."""
    return (MEMORY_CHUNKS,) if query.uses_vectors else ()


def _find_exact(rows: MemoryRows, path: str) -> StoredMemory | None:
    """Find the memory at `path`, or the atom with that id. Raises UsageError for several atoms."""
    if (found := rows.find(path)) is not None:
        return found
    atoms = rows.find_atoms(path)
    if len(atoms) > 1:
        paths = ", ".join(atom.memory.path for atom in atoms)
        raise UsageError(f"several are called {path}", hint=f"name one of {paths}")
    return next(iter(atoms), None)


def _why_not_indexed(agent: AgentDatabase, path: str) -> str:
    """Say why the agent's own file at `path` is not in the database; "" if there is no file."""
    directory = KnowledgeDirectory.of_agent(agent.paths)
    try:
        named = check_path(path)
        if _is_file(directory, named) and directory.find(named) is not None:
            return "it is not indexed yet"
    except UsageError as error:
        if isinstance(error, PathRefused):  # nothing is told of files elsewhere
            return ""
    except SidecarError as error:
        return error.message
    return "its name cannot be that of a memory" if _is_file(directory, path) else ""


def _is_file(directory: KnowledgeDirectory, path: str) -> bool:
    with suppress(OSError, ValueError):  # for example behind a link
        status = directory.tree.status(directory.root / path)
        return status is not None and not stat.S_ISDIR(status.st_mode)
    return False


def _find_by_beginning(rows: MemoryRows, first: str) -> StoredMemory | None:
    paths = paths_beginning(rows.connection, first) if first else []
    path = sole_match(first, paths)
    return rows.find(path) if path else None


def _is_current(agent: AgentDatabase, stored: StoredMemory) -> bool:
    """Whether the file of a memory is still the one that was indexed, as far as can be told."""
    with suppress(OSError, NotFound):  # its directory is out of reach at the moment
        source = agent.source(stored.directory)
        known = agent.data.open().manifest(source.name, under=[stored.file]).get(stored.file)
        if source.root.is_dir() and known is not None:
            there = Tree(source.root).status(source.root / stored.file)
            return there is not None and SourceFile.of(stored.file, there).stamp == known.stamp
    return True


def _count_read(agent: AgentDatabase, read: StoredMemory) -> None:
    """Count that `get` read a memory of `agent`; if the log cannot be written, only log that."""
    try:
        note_read(agent, read.memory.path)
        with suppress(NotFound):  # its directory is out of reach at the moment
            agent.on_read(agent.source(read.directory).root / read.file)
    except (OSError, SidecarError) as error:
        _log.warning("a read of %s is not counted: %s", read.memory.path, error)
