"""`/sessions`: conversations by day, and one session with what is related to it."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from datetime import date
from itertools import groupby
from typing import Any

from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.agents.services import Services
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.errors import NoIndex
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.usage import reads_since
from memory_sidecar.memories.lookup import memories_with_evidence, paths_there
from memory_sidecar.sessions.documents import EVIDENCE_PREFIX, read_session
from memory_sidecar.sessions.model import Session, spoken_date
from memory_sidecar.sessions.promotion import Fate
from memory_sidecar.web.asking import session_filter, sessions_of
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.rendering import MAX_TITLE, coloured_lines
from memory_sidecar.web.visit import PAGE_ROWS, Done, View, Visit

SNIPPETS = 10  # of a session that are shown; the others are named
AFTER_MS = 60_000  # after the last message; reads and questions until then are of the session
MAX_SHOWN = 2000  # characters of a message, a snippet or a summary; a link shows all of it


def show(visit: Visit) -> View:
    stop = visit.offset + PAGE_ROWS + 1
    wanted = session_filter(visit)
    found = [
        (head, sessions.agent.name)
        for sessions in sessions_of(visit)
        for head in sessions.list_sessions(wanted, limit=stop)
    ]
    found.sort(key=lambda each: each[0].ended_at, reverse=True)  # equal ones stay as listed
    listed = [{"agent": agent, "session": head} for head, agent in found[visit.offset : stop - 1]]
    return View(
        template="sessions.html",
        title="Sessions",
        data={"sessions": listed, "more": len(found) >= stop},
        more={
            "days": lambda rows: groupby(
                rows, lambda each: date.fromisoformat(each["session"].ended_at[:10])
            )
        },
    )


def show_one(visit: Visit) -> View:
    agent = visit.require_readable(visit.text("agent"))
    document = visit.services.sessions(agent, reporter=visit).get(visit.text("id")).document
    read = read_session(document)
    session = mask_document(replace(read, messages=()))  # below: those shown
    promotion = None
    if visit.text("promote"):
        promotion = _promoter(visit).promote(session.session_id, dry_run=True)
    return View(
        template="session.html",
        title=read.called or session.session_id,
        data={
            "agent": agent,
            "session": document if visit.text("json") else None,  # as `session show` has it
            "around": _around(visit.services, agent, read),
            "promotion": promotion,  # what would be remembered, if that is asked
        },
        more={"session": session, "clock": spoken_date, **_shown_parts(visit, read, session)},
    )


def _shown_parts(visit: Visit, read: Session, session: Session) -> dict[str, Any]:
    """Return the page of messages, the snippets, and how much is shown of each part.

    `session`: as `read`, masked and without messages. The part that the parameter `whole` names, if
    any, is shown alone and uncut.
    """
    whole = visit.text("whole")
    most = sys.maxsize if whole else MAX_SHOWN
    stop = visit.offset + PAGE_ROWS
    messages = [(f"m{number}", each) for number, each in enumerate(read.messages)]
    snippets = [(f"s{number}", each) for number, each in enumerate(session.code_snippets)]
    if whole:
        chosen = [each for each in messages if each[0] == whole]
        cut, further = [each for each in snippets if each[0] == whole], []
    else:
        chosen = messages[visit.offset : stop]
        first = snippets if visit.page == 1 else []
        cut, further = first[:SNIPPETS], first[SNIPPETS:]
    return {
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
            for key, each in cut
        ],
        "further": further,
        "messages": mask_document(chosen),
        "message_count": len(messages),
        "has_more": not whole and len(messages) > stop,
    }


def _around(services: Services, name: str, session: Session) -> dict[str, Any]:
    """Find the memories read, the questions asked and the memories made of `session` of `name`.

    No transcript tells what was recalled, so times decide: what the agent read and asked between
    the first message and shortly after the last one. `became`: agent and path. `is_there`: false
    for a memory that was moved or archived since.
    """
    agent = services.agent(name)
    ends = session.ended_at + AFTER_MS
    recalled: dict[str, int] = {}
    for path, at in reads_since(agent.paths.tree, agent.paths.access_log, session.created_at):
        if at <= ends:
            recalled.setdefault(path, at)
    became: list[tuple[str, str]] = []
    there: set[str] = set()
    for each in filter(None, (agent, agent.shared)):
        with suppress(NoIndex), each.short_connection() as connection:
            paths = memories_with_evidence(connection, EVIDENCE_PREFIX + session.session_id)
            became += [(each.name, path) for path in paths]
            if each is agent:
                there.update(paths_there(connection, recalled))
    return {
        "recalled": [
            {"path": path, "first_at": iso_utc(at), "is_there": path in there}
            for path, at in recalled.items()
        ],
        "asked": [
            {"text": q.text, "kind": q.kind, "at": iso_utc(q.at), "hits": q.hits, "weak": q.weak}
            for q in services.questions.since(session.created_at)
            if q.agent == name and q.at <= ends
        ],
        "became": became,
    }


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
