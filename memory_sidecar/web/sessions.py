"""`/sessions`: conversations by day, and one session with what is related to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from typing import Any

from memory_sidecar.agents.around import around
from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.model import spoken_date
from memory_sidecar.sessions.promotion import Fate
from memory_sidecar.web.asking import session_filter, sessions_of
from memory_sidecar.web.colours import coloured_lines
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.rendering import MAX_TITLE
from memory_sidecar.web.visit import PAGE_ROWS, Done, View, Visit

SNIPPETS = 10  # of a session that are shown; the others are named
MAX_SHOWN = 2000  # characters of a message, a snippet or a summary; a link shows all of it


def show(visit: Visit) -> View:
    stop = visit.offset + PAGE_ROWS + 1
    wanted = session_filter(visit)
    found = [
        (head, sessions.agent.name)
        for sessions in sessions_of(visit)
        for head in sessions.list_sessions(wanted, limit=stop)
    ]
    found.sort(key=lambda each: (each[0].created_at, each[0].session_id), reverse=True)
    listed = [{"agent": agent, "session": head} for head, agent in found[visit.offset : stop - 1]]
    return View(
        template="sessions.html",
        title="Sessions",
        data={"sessions": listed, "more": len(found) >= stop},
        more={"days": _by_day},
    )


def _by_day(listed: Sequence[dict[str, Any]]) -> list[tuple[date, list[dict[str, Any]]]]:
    days = groupby(listed, lambda each: date.fromisoformat(each["session"].created_at[:10]))
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
        data={
            "agent": agent,
            "session": document,  # as `session show` has it
            "around": around(visit.services, agent, session),
            "promotion": promotion,  # what would be remembered, if that is asked
        },
        more={
            "session": session,
            "clock": spoken_date,
            "whole": whole,
            "most": most,
            "items": most // MAX_TITLE,
            "is_long": len(str(session.summary)) > most,
            "snippets": [
                (
                    key,
                    len(each.code) > most,
                    " · ".join(filter(None, (each.file_path, each.description))) or each.language,
                    list(enumerate(coloured_lines(each.code[:most], each.language or "text"), 1)),
                )
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


def promote(visit: Visit) -> Done:
    """Store the memories that a session suggests, and tell which were new."""
    promoted = _promoter(visit).promote(visit.text("id"), shared=bool(visit.text("shared")))
    stored = [each.path for each in promoted.memories if each.fate is Fate.STORED]
    text = f"Stored: {', '.join(stored)}" if stored else "All of these were stored already"
    address = visit.to("/sessions/one", agent=visit.text("agent"), id=visit.text("id"))
    return Done(address, Flash(text))


def _promoter(visit: Visit) -> Promoter:
    agent, settings = visit.require_readable(visit.text("agent")), visit.services.settings
    environ = child_environment(visit.environ, settings.child_environment)
    return visit.services.promoter(agent, environ=environ, reporter=visit)
