"""`/sessions`: conversations by day, and one session with what is related to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Annotated, Any

from memory_sidecar.agents.around import AroundSession, around
from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.results import about
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.model import Snippet, spoken_date
from memory_sidecar.sessions.promotion import Fate
from memory_sidecar.sessions.results import Head, Promotion
from memory_sidecar.web.asking import session_filter, sessions_of
from memory_sidecar.web.colours import Line, coloured_lines
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.rendering import MAX_TITLE
from memory_sidecar.web.visit import PAGE_ROWS, Done, View, Visit

SNIPPETS = 10  # of a session that are shown; the others are named
MAX_SHOWN = 2000  # characters of a message, a snippet or a summary; a link shows all of it


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session, with the agent that it belongs to."""

    agent: str
    session: Head


@dataclass(frozen=True, slots=True)
class SessionsShown:
    """A page of sessions, the latest first."""

    sessions: tuple[ListedSession, ...]
    more: Annotated[bool, about("there are further ones")]


@dataclass(frozen=True, slots=True)
class OneSession:
    """A session, and what is related to it."""

    agent: str
    session: Annotated[dict[str, Any], about("as `session show` has it")]
    around: AroundSession
    promotion: Annotated[Promotion | None, about("what would be remembered, where that is asked")]


def show(visit: Visit) -> View:
    stop = visit.offset + PAGE_ROWS + 1
    wanted = session_filter(visit)
    found = [
        ListedSession(sessions.agent.name, head)
        for sessions in sessions_of(visit)
        for head in sessions.list_sessions(wanted, limit=stop)
    ]
    found.sort(key=lambda each: (each.session.created_at, each.session.session_id), reverse=True)
    listed = found[visit.offset : stop - 1]
    return View(
        template="sessions.html",
        title="Sessions",
        data=SessionsShown(tuple(listed), len(found) >= stop),
        more={"days": _by_day},
    )


def _by_day(listed: Sequence[ListedSession]) -> list[tuple[date, list[ListedSession]]]:
    days = groupby(listed, lambda each: date.fromisoformat(each.session.created_at[:10]))
    return [(day, list(of_day)) for day, of_day in days]


def show_one(visit: Visit) -> View:
    agent = visit.require_readable(visit.text("agent"))
    document = visit.services.sessions(agent, reporter=visit).get(visit.text("id")).document
    session, _ = mask_document(read_session(document))
    promotion = None
    if visit.text("promote"):
        promotion = _promoter(visit).promote(session.session_id, dry_run=True)
    whole = visit.text("whole")  # the key of the one part that is shown uncut
    messages = [(f"m{number}", each) for number, each in enumerate(session.messages)]
    snippets = [(f"s{number}", each) for number, each in enumerate(session.code_snippets)]
    stop = visit.offset + PAGE_ROWS
    most = len(str(document)) if whole else MAX_SHOWN
    return View(
        template="session.html",
        title=session.called or session.session_id,
        data=OneSession(agent, document, around(visit.services, agent, session), promotion),
        more={
            "session": session,
            "clock": spoken_date,
            "whole": whole,
            "most": most,
            "items": most // MAX_TITLE,
            "is_long": len(str(session.summary)) > most,
            "snippets": [
                (key, len(each.code) > most, _draw_snippet(each, most))
                for key, each in snippets[: None if whole else SNIPPETS]
                if (key == whole if whole else visit.page == 1)
            ],
            "further": [] if whole or visit.page > 1 else snippets[SNIPPETS:],
            "messages": [each for each in messages if each[0] == whole]
            if whole
            else messages[visit.offset : stop],
            "has_more": not whole and len(messages) > stop,
        },
    )


@dataclass(frozen=True, slots=True)
class DrawnSnippet:
    """A snippet as it is shown, highlighted and cut."""

    title: str
    lines: tuple[Line, ...]


def _draw_snippet(snippet: Snippet, most: int) -> DrawnSnippet:
    parts = [part for part in (snippet.file_path, snippet.description) if part]
    lines = coloured_lines(snippet.code[:most], snippet.language or "text")
    return DrawnSnippet(" · ".join(parts) or snippet.language, tuple(enumerate(lines, 1)))


def promote(visit: Visit) -> Done:
    """Store the memories that a session suggests, and tell which were new."""
    promoted = _promoter(visit).promote(visit.text("id"), shared=bool(visit.text("shared")))
    stored = [each.path for each in promoted.memories if each.fate is Fate.STORED]
    text = f"Stored: {', '.join(stored)}" if stored else "All of these were stored already"
    return Done(_session_address(visit), Flash(text))


def _session_address(visit: Visit) -> str:
    """Return the address of the session that the form names."""
    return visit.to("/sessions/one", agent=visit.text("agent"), id=visit.text("id"))


def _promoter(visit: Visit) -> Promoter:
    agent, settings = visit.require_readable(visit.text("agent")), visit.services.settings
    environ = child_environment(visit.environ, settings.child_environment)
    return visit.services.promoter(agent, environ=environ, reporter=visit)
