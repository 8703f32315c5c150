"""Searches code, memories and sessions for a visit, each within what the visit may see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memory_sidecar.agents.session_projects import session_projects
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.code.results import CodeHit
from memory_sidecar.code.shared import WITHOUT_TEAM
from memory_sidecar.core.model import Asked, SearchMode
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.memories.results import MemoryHit
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import TIERS, HitKind, SessionFilter, SessionQuery
from memory_sidecar.sessions.results import SessionHit
from memory_sidecar.web.memories import filter_of, overview_of
from memory_sidecar.web.visit import Visit

SIDE_BY_SIDE = "compare"  # the mode that shows all others
FEW, MANY, MOST = 5, 20, 200  # hits: of each of several kinds, of one kind, and at most


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A hit in a session, with the agent that the session belongs to."""

    agent: str
    hit: SessionHit

    @property
    def is_weak(self) -> bool:
        return self.hit.is_weak


@dataclass(frozen=True, slots=True)
class FoundByKind:
    """The best hits of each kind that was searched."""

    code: tuple[CodeHit, ...] = ()
    memories: tuple[MemoryHit, ...] = ()
    sessions: tuple[FoundSession, ...] = ()


def find(visit: Visit, question: str, kinds: Sequence[Asked], mode: SearchMode) -> FoundByKind:
    """Return the best hits of each of `kinds`, and record the question in the question log.

    Not recorded with the parameter `n`, `file` or `json`, which links to a recorded question have.
    """
    limit = limit_of(visit, kinds)
    asks: dict[Asked, Callable[[Visit, str, SearchMode, int], list[Any]]] = {
        Asked.CODE: _in_code,
        Asked.MEMORIES: _in_memories,
        Asked.SESSIONS: _in_sessions,
    }
    asker = visit.seen_as or visit.services.settings.agent
    is_only = visit.text("mode") != SIDE_BY_SIDE or mode is SearchMode.HYBRID
    is_new = is_only and not any(map(visit.text, ("n", "file", "json")))
    found: dict[str, tuple[Any, ...]] = {}
    for kind in kinds:
        ask = partial(asks[kind], visit, question, mode, limit)
        try:
            log = visit.services.questions
            hits = log.ask_and_log(kind, asker, question, ask) if is_new else ask()
        except WITHOUT_TEAM as error:  # memories and sessions may answer all the same
            visit.notice(error.with_hint)
            hits = []
        found[kind.value] = tuple(hits)
    return FoundByKind(**found)


def limit_of(visit: Visit, kinds: Sequence[Asked]) -> int:
    """Return how many hits of each kind are shown. Raises UsageError."""
    return min(visit.number("n", FEW if len(kinds) > 1 else MANY) or 1, MOST)


def _in_code(visit: Visit, question: str, mode: SearchMode, limit: int) -> list[CodeHit]:
    query = CodeQuery(question, top_k=limit, mode=mode, filter=code_filter(visit), explain=True)
    return visit.services.codebase().search(query, reporter=visit)


def code_filter(visit: Visit) -> CodeFilter:
    if visit.text("in") != Asked.CODE:
        return CodeFilter()
    chosen = visit.texts("source")
    known = visit.services.codebase().registry.all()
    return CodeFilter.of(chosen, visit.texts("language"), visit.texts("path"), known)


def _in_memories(visit: Visit, question: str, mode: SearchMode, limit: int) -> list[MemoryHit]:
    query = MemoryQuery(text=question, top_k=limit, mode=mode, explain=True)
    if visit.text("in") == Asked.MEMORIES:
        query = replace(query, filter=filter_of(visit))
    return overview_of(visit).query(query)


def _in_sessions(visit: Visit, question: str, mode: SearchMode, limit: int) -> list[FoundSession]:
    query = SessionQuery(text=question, top_k=limit, mode=mode, explain=True)
    if visit.text("in") == Asked.SESSIONS:
        tier = visit.text("tier")
        query = replace(
            query,
            kinds=TIERS[int(tier)] if tier in ("1", "2") else tuple(HitKind),
            by_session=bool(visit.text("by_session")),
            filter=session_filter(visit),
        )
    hits = [
        FoundSession(sessions.agent.name, hit)
        for sessions in sessions_of(visit)
        for hit in sessions.search(query)
    ]
    return sorted(hits, key=lambda each: -each.hit.score)[:limit]


def sessions_of(visit: Visit) -> list[Sessions]:
    """Return the sessions of each readable agent that has some, or of the one in the address."""

    def open_sessions(name: str) -> Sessions | None:
        sessions = visit.services.sessions(name, reporter=visit)
        is_shown = sessions.has_any() and visit.can_show(visit.services.agent(name))
        return sessions if is_shown else None

    return visit.ask_each_agent(open_sessions)


def session_filter(visit: Visit) -> SessionFilter:
    """Parse the session filter in the address. Raises UsageError."""
    return SessionFilter.parse(
        projects=session_projects(visit.text("project").strip(), visit.folder, visit.services),
        topics=visit.texts("topic"),
        outcomes=visit.texts("outcome"),
        after=visit.text("after").strip(),
        before=visit.text("before").strip(),
    )
