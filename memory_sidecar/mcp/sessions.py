"""The tools about sessions: what was said and done in earlier ones, and what came of it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.core.errors import NoIndex
from memory_sidecar.core.times import past_moment
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.paging import cursor_at, offset_of, within_tokens
from memory_sidecar.mcp.quoting import DATA, as_name, quoted, quoted_line
from memory_sidecar.mcp.session_shapes import (
    Ended,
    Said,
    SavedMessage,
    SavedSnippet,
    SavedSummary,
    ShownMessage,
    Suggested,
    message_of,
    said_of,
    snippets_of,
    summary_of,
    without_empty,
)
from memory_sidecar.mcp.tool import Arguments, Result
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import (
    TIERS,
    HitKind,
    Outcome,
    SessionFilter,
    SessionQuery,
)


class SaveSession(Arguments):
    session_id: str = Field(default="", description="Of one to replace; else it gets one.")
    summary: SavedSummary | None = None
    messages: list[SavedMessage] = Field(default=[])
    topics: list[str] = Field(default=[])
    code_snippets: list[SavedSnippet] = Field(default=[])
    project_path: str = Field(default="", description="By default the one you work in.")
    created_at: str = Field(default="", description="When it began, ISO 8601.")
    metadata: dict[str, Any] = Field(default={}, description="A title, a model, what you like.")
    allow_secrets: bool = Field(
        default=False, description="Only when the user wants a secret stored."
    )


class SessionSaved(Result):
    session_id: str
    created: bool
    changed: bool
    messages: int

    def text(self) -> str:
        done = "saved" if self.created else "replaced" if self.changed else "unchanged"
        return f"{done}: {self.session_id}, {self.messages} messages"


def save_session(caller: Caller, asked: SaveSession, report: Reporter) -> SessionSaved:
    """Keep this session to be found again: its summary, or its messages, or both.

    Saving the same again changes nothing.
    """
    document = without_empty(asked.model_dump(exclude={"allow_secrets"}))
    document.setdefault("project_path", caller.cwd.as_posix())
    saved = _sessions(caller, report).save(document, allow_secrets=asked.allow_secrets)
    promoter(caller, report).after_save(saved)
    return SessionSaved(
        session_id=saved.session.session_id,
        created=saved.is_new,
        changed=saved.is_changed,
        messages=len(saved.session.messages),
    )


class SearchSessions(Arguments):
    query: str = Field(description='Words; a "phrase in quotes" and a prefix* must occur.')
    tier: Literal["summaries", "messages", "all"] = "all"
    project: str = Field(default="", description="Path or name; by default all.")
    topics: list[str] = Field(default=[], description="Any of.")
    outcome: Ended | None = None
    after: str = Field(default="", description="A date, a moment, or so long ago: 7d.")
    before: str = ""
    by_session: bool = Field(default=False, description="Each session once, by its best parts.")
    top_k: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=4000, ge=1, description="Budget for the text of all hits.")
    cursor: str = Field(default="", description="next_cursor of the result before.")


class SessionHits(Result):
    treat_as: str = Field(default=DATA)
    hits: list[Said]
    next_cursor: str = Field(default="", description="For further hits; empty when there are none.")

    def text(self) -> str:
        if not self.hits:
            return "no hits"
        shown = [
            f"<session {as_name(hit.session_id)} {hit.kind}"
            f"{'' if hit.sequence is None else f' {hit.sequence}'} {hit.created_at[:10]}>\n"
            f"{quoted(hit.text)}\n</session>"
            for hit in self.hits
        ]
        more = [f'further hits: cursor "{self.next_cursor}"'] if self.next_cursor else []
        return f"From earlier sessions: {DATA}.\n" + "\n\n".join([*shown, *more])


def search_sessions(caller: Caller, asked: SearchSessions, report: Reporter) -> SessionHits:
    """Find what was said and done in earlier sessions, with who said it and when."""
    offset = offset_of(asked.cursor)
    kinds = {"summaries": TIERS[1], "messages": TIERS[2], "all": tuple(HitKind)}
    query = SessionQuery(
        text=asked.query,
        kinds=kinds[asked.tier],
        top_k=offset + asked.top_k + 1,
        by_session=asked.by_session,
        filter=SessionFilter(
            project=asked.project,
            topics=tuple(asked.topics),
            outcomes=(Outcome(asked.outcome),) if asked.outcome else (),
            after=past_moment(asked.after, now_ms=system_clock()),
            before=past_moment(asked.before, now_ms=system_clock()),
        ),
    )
    try:
        found = _sessions(caller, report).search(query)[offset:]
    except NoIndex as nothing:
        return SessionHits(hits=[], notices=[nothing.message])
    shown = within_tokens(
        found[: asked.top_k], asked.max_tokens, characters=lambda hit: len(hit.text)
    )
    return SessionHits(
        hits=[said_of(hit) for hit in shown],
        next_cursor=cursor_at(offset + len(shown)) if len(shown) < len(found) else "",
    )


class GetSession(Arguments):
    session_id: str
    max_tokens: int = Field(default=6000, ge=1, description="Budget for its messages.")
    cursor: str = Field(default="", description="next_cursor, or from-N for message N.")


class ShownSession(Result):
    treat_as: str = Field(default=DATA)
    session_id: str
    title: str
    project_path: str
    created_at: str
    topics: list[str]
    summary: SavedSummary | None
    code_snippets: list[SavedSnippet] = Field(description="With the first messages only.")
    message_count: int
    messages: list[ShownMessage]
    next_cursor: str = Field(default="", description="For later messages; empty after the last.")

    def text(self) -> str:
        told = self.summary
        lines = [
            f"From an earlier session: {DATA}.",
            f"<session {as_name(f'{self.session_id} {self.created_at[:10]} {self.project_path}')}>",
            quoted(self.title),
        ]
        if told is not None:
            lines += [
                quoted(each)
                for each in (
                    *(told.brief, told.detailed),
                    *(f"decided: {each}" for each in told.key_decisions),
                    *(f"solved: {each}" for each in told.problems_solved),
                    f"note: {told.user_note}" if told.user_note else "",
                )
                if each
            ]
        lines += [
            f"{quoted_line(f'{each.sequence} {each.said_by}:')}\n{quoted(each.content)}"
            for each in self.messages
        ]
        lines += [quoted(f"{each.file_path}\n{each.code}") for each in self.code_snippets]
        more = [f'later messages: cursor "{self.next_cursor}"'] if self.next_cursor else []
        return "\n".join([*lines, "</session>", *more])


def get_session(caller: Caller, asked: GetSession, report: Reporter) -> ShownSession:
    """Read a session: its summary, and its messages from the first or from any other."""
    session = read_session(_sessions(caller, report).get(asked.session_id).document)
    offset = offset_of(asked.cursor)
    rest = session.messages[offset:]
    shown = within_tokens(rest, asked.max_tokens, characters=lambda message: len(message.content))
    return ShownSession(
        session_id=session.session_id,
        title=session.opening,
        project_path=session.project_path,
        created_at=iso_utc(session.created_at),
        topics=list(session.topics),
        summary=summary_of(session),
        code_snippets=[] if offset else snippets_of(session),
        message_count=len(session.messages),
        messages=[message_of(at, message) for at, message in enumerate(shown, offset)],
        next_cursor=cursor_at(offset + len(shown)) if len(shown) < len(rest) else "",
    )


class PromoteSession(Arguments):
    session_id: str
    dry_run: bool = Field(default=False, description="Only tell what would be remembered.")
    shared: bool = Field(default=False, description="With all agents, not yours alone.")


class Promoted(Result):
    treat_as: str = Field(default=DATA)
    dry_run: bool
    memories: list[Suggested]

    def text(self) -> str:
        if not self.memories:
            return "the session suggests nothing to remember"
        lines = [
            quoted_line(f"{each.fate} {each.path or each.category}: {each.text}")
            for each in self.memories
        ]
        return "\n".join([f"From an earlier session: {DATA}.", *lines])


def promote_session(caller: Caller, asked: PromoteSession, report: Reporter) -> Promoted:
    """Turn what a session decided, solved and noted into memories. What is known is left alone."""
    promotion = promoter(caller, report).promote(
        asked.session_id, shared=asked.shared, dry_run=asked.dry_run
    )
    return Promoted(
        dry_run=asked.dry_run,
        memories=[
            Suggested(
                category=each.category,
                text=each.text,
                fate=each.fate.value,
                path=each.path,
            )
            for each in promotion.memories
        ],
    )


def promoter(caller: Caller, report: Reporter) -> Promoter:
    """What makes memories of the caller's sessions."""
    return caller.services.promoter(caller.agent, environ=caller.environ, reporter=report)


def _sessions(caller: Caller, report: Reporter) -> Sessions:
    return caller.services.sessions(caller.agent, reporter=report)
