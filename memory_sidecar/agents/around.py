"""Finds what belongs to a session: memories read, questions asked, and memories made of it.

No transcript tells what was recalled, so times decide: the agent's reads and questions between the
first message and shortly after the last one count as the session's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.agents.services import Services
from memory_sidecar.core.model import Asked
from memory_sidecar.core.results import Time, about
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.usage import reads_since
from memory_sidecar.memories.lookup import memories_with_evidence
from memory_sidecar.sessions.model import Session
from memory_sidecar.sessions.promotion import EVIDENCE_PREFIX

AFTER_MS = 60_000  # of the last message, in which reads and questions still count


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """A memory that was read, once or more, during a session."""

    path: str
    first_at: Time


@dataclass(frozen=True, slots=True)
class AskedDuring:
    """A question that the agent asked during a session."""

    text: str
    kind: Asked
    at: Time
    hits: int
    weak: bool


@dataclass(frozen=True, slots=True)
class AroundSession:
    """The memories and questions that belong to a session."""

    recalled: tuple[RecalledMemory, ...]
    asked: tuple[AskedDuring, ...]
    became: Annotated[tuple[tuple[str, str], ...], about("agent and path of what names it")]


def around(services: Services, name: str, session: Session) -> AroundSession:
    """Find the reads, questions and memories of `session` of the agent `name`; indexes nothing."""
    agent = services.agent(name)
    ends = max([*(each.created_at for each in session.messages), session.created_at]) + AFTER_MS
    recalled: dict[str, int] = {}
    for path, at in reads_since(agent.paths.tree, agent.paths.access_log, session.created_at):
        if at <= ends:
            recalled.setdefault(path, at)
    became: list[tuple[str, str]] = []
    for each in (agent, agent.shared):
        if each is not None and each.paths.db.exists():
            with each.short_connection() as connection:
                paths = memories_with_evidence(connection, EVIDENCE_PREFIX + session.session_id)
            became += [(each.name, path) for path in paths]
    return AroundSession(
        recalled=tuple(RecalledMemory(path, iso_utc(at)) for path, at in recalled.items()),
        asked=tuple(
            AskedDuring(each.text, each.kind, iso_utc(each.at), each.hits, each.weak)
            for each in services.questions.since(session.created_at)
            if each.agent == name and each.at <= ends
        ),
        became=tuple(became),
    )
