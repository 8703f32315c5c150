"""Lists and searches the memories of several agents at once, for the owner of the machine.

An agent whose database cannot be read is left out, and a notice says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import Reporter, ask_each
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.report import row_count
from memory_sidecar.memories.facets import Facets, count_by_facet
from memory_sidecar.memories.hit import best_hits
from memory_sidecar.memories.lists import MemoryRows, list_memories
from memory_sidecar.memories.lookup import note_unknown_values
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery
from memory_sidecar.memories.recall import Recall
from memory_sidecar.memories.results import Memory, MemoryHit

T = TypeVar("T")
Names = Collection[str] | None


class Overview:
    """Reads the memories of all `agents`, for one call."""

    def __init__(self, agents: Sequence[AgentDatabase], reporter: Reporter) -> None:
        self._agents = {agent.name: agent for agent in agents if agent.exists}
        self._reporter = reporter

    def list_memories(self, wanted: MemoryList) -> list[Memory]:
        """List the memories that `wanted` describes, in its order, equal ones by path."""
        return [stored.memory for stored in list_memories(self._ask_each, wanted)]

    def query(self, query: MemoryQuery) -> list[MemoryHit]:
        """Search all agents; the cross-encoder, which takes longest, reads the best of all once.

        One agent, with the shared memories or without, is answered as it is itself.
        """
        own = [*self._agents.keys() - {SHARED}]
        if len(own) == 1 and (answers := self._collect(partial(self._query_as, query), own)):
            return answers[0]
        recalls = {name: Recall(agent, self._reporter) for name, agent in self._agents.items()}
        judge = next((recall.judge_of(query) for recall in recalls.values()), None)
        query = replace(query, rerank=judge is not None)
        found = self._collect(lambda agent: recalls[agent.name].search(query))
        hits = best_hits(query, found, judge)
        if not hits:
            note_unknown_values(self._ask_each, query.filter, self._reporter)
        return [hit.to_hit(explain=query.explain) for hit in hits]

    def _query_as(self, query: MemoryQuery, agent: AgentDatabase) -> list[MemoryHit]:
        recall = Recall(agent, self._reporter)
        return recall.query(query, with_shared=SHARED in self._agents)

    def count(self) -> int:
        """Count all memories."""
        return sum(self._ask_each(lambda rows: row_count(rows.connection, "memories")))

    def facets(self, wanted: MemoryFilter) -> Facets:
        """Count the memories that satisfy `wanted` by each property."""
        return Facets.of(self._ask_each(lambda rows: (rows.agent, count_by_facet(rows, wanted))))

    def _ask_each(self, ask: Callable[[MemoryRows], T], agents: Names = None) -> list[T]:
        """Collect the answers of all agents, or those named, each from one commit."""
        return self._collect(
            lambda agent: agent.answer(
                lambda _, connection: ask(MemoryRows.of(agent, connection)), self._reporter
            ),
            agents,
        )

    def _collect(self, ask: Callable[[AgentDatabase], T], agents: Names = None) -> list[T]:
        names = [name for name in self._agents if agents is None or name in agents]
        return ask_each(names, lambda name: ask(self._agents[name]), self._reporter)
