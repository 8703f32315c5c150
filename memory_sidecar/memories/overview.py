"""The memories of several agents at once, for the owner of the machine, who may see them all.

An agent that cannot be read is left out, and a notice says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import Reporter
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.report import rows_in
from memory_sidecar.memories.facets import Facets, count_by_facet
from memory_sidecar.memories.lists import MemoryRows, order_of, part_of
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery
from memory_sidecar.memories.recall import Recall
from memory_sidecar.memories.results import Memory, MemoryHit

T = TypeVar("T")


class Overview:
    """What `agents` remember, for one call of `reporter`'s."""

    def __init__(self, agents: Sequence[AgentDatabase], reporter: Reporter) -> None:
        self._agents = {agent.name: agent for agent in agents if agent.exists}
        self._reporter = reporter

    def listed(self, wanted: MemoryList) -> list[Memory]:
        """The memories that `wanted` describes, in its order, equal ones by path."""
        part, page = part_of(wanted, databases=len(self._agents))
        found = self._each(lambda rows: [(*place, rows.agent) for place in rows.placed(part)])
        places = order_of([each for some in found for each in some], wanted)[page]
        keys: dict[str, list[int]] = {}
        for _, _, key, name in places:
            keys.setdefault(name, []).append(key)
        read: dict[tuple[str, int], Memory] = {}
        for name, chosen in keys.items():
            agent = self._agents[name]
            with agent.snapshot(self._reporter) as (_, connection):
                known = MemoryRows(name, connection, agent.clock()).read(chosen)
            read |= {(name, key): stored.memory for key, stored in known.items()}
        # What was removed between the two looks is left out.
        return [read[name, key] for _, _, key, name in places if (name, key) in read]

    def query(self, query: MemoryQuery) -> list[MemoryHit]:
        """The best memories for `query`: relevances mean the same for every agent."""
        hits: list[MemoryHit] = []
        for agent in self._agents.values():
            try:
                hits += Recall(agent, self._reporter).query(query, with_shared=False)
            except SidecarError as error:
                self._reporter.notice(f"without {agent.name}: {error.with_hint}")
        return sorted(hits, key=lambda hit: (-hit.relevance, hit.path, hit.agent))[: query.top_k]

    def size(self) -> int:
        """How many memories there are, whatever they are like."""
        return sum(self._each(lambda rows: rows_in(rows.connection, "memories")))

    def facets(self, wanted: MemoryFilter) -> Facets:
        """How many memories that satisfy `wanted` have which property."""
        return Facets.of(self._each(lambda rows: (rows.agent, count_by_facet(rows, wanted))))

    def _each(self, ask: Callable[[MemoryRows], T]) -> list[T]:
        """What each agent answers, from one commit of its database."""
        answers = []
        for agent in self._agents.values():
            try:
                answers.append(self._one(agent, ask))
            except SidecarError as error:
                self._reporter.notice(f"without {agent.name}: {error.with_hint}")
        return answers

    def _one(self, agent: AgentDatabase, ask: Callable[[MemoryRows], T]) -> T:
        return agent.answer(
            lambda _, here: ask(MemoryRows(agent.name, here, agent.clock())), self._reporter
        )
