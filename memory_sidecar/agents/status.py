"""How much is remembered of each agent, for `status`. Reads databases as they are; makes none."""

from __future__ import annotations

from dataclasses import dataclass

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.store import AgentStore, count_contents
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.sqlite import connect, snapshot
from memory_sidecar.index.activity import Failure
from memory_sidecar.index.report import count_pending, count_rows


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """One agent in numbers, all 0 where its database is not there or cannot be read."""

    name: str
    memories: int
    sessions: int
    texts: int  # passages of memories, summaries, messages: what has a vector
    vectors_pending: int
    is_current: bool | None  # every change that was heard of is indexed; `None`: nobody watches
    problem: str  # "" where there is none
    last_failure: Failure | None


def agent_states(services: Services) -> list[AgentStatus]:
    """Every agent of the data directory, by name."""
    return [_state_of(services.agent(name)) for name in services.agent_names()]


def _state_of(agent: Agent) -> AgentStatus:
    live = agent.data.states()
    memories = sessions = texts = pending = 0
    problem = next((f"{each.name}: {each.error}" for each in live if each.error), "")
    if not agent.paths.db.exists():
        problem = "not indexed yet, the next access does it"
    else:
        try:
            memories, sessions, texts, pending = _count(agent)
        except SidecarError as error:
            problem = error.message
    return AgentStatus(
        name=agent.name,
        memories=memories,
        sessions=sessions,
        texts=texts,
        vectors_pending=pending,
        is_current=all(each.is_current for each in live) if live else None,
        problem=problem,
        last_failure=agent.data.activity.last_failure,
    )


def _count(agent: Agent) -> tuple[int, int, int, int]:
    """By a connection of its own: very many agents shall not stay open for having been counted."""
    connection = connect(agent.paths.db, read_only=True)
    try:
        with snapshot(connection):
            return (
                *count_contents(connection),
                count_rows(connection, AgentStore.SCHEMA.corpora),
                count_pending(connection, AgentStore.SCHEMA.corpora),
            )
    finally:
        connection.close()
