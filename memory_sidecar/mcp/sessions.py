"""The tools about sessions: what was said and done in earlier ones, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.core.clock import iso_utc, system_clock
from memory_sidecar.core.results import Time, about, told_as
from memory_sidecar.core.times import past_moment
from memory_sidecar.disk.questions import Asked
from memory_sidecar.index.reporter import Reporter, tell_weak
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.paging import cursor_after, offset_of, within_tokens
from memory_sidecar.mcp.quoting import DATA, as_name, quoted, quoted_line
from memory_sidecar.mcp.tool import Answer, Arguments, StoredAnswer, Unlisted
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import (
    TIERS,
    HitKind,
    Outcome,
    SessionFilter,
    SessionQuery,
    Snippet,
    Summary,
)
from memory_sidecar.sessions.promotion import Candidate
from memory_sidecar.sessions.results import SessionHit


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SavedMessage(_Part):
    role: Literal["user", "assistant", "system"]
    content: str
    created_at: str = ""


class SavedSummary(_Part):
    brief: str
    detailed: str = ""
    key_decisions: list[str] = Field(default=[])
    problems_solved: list[str] = Field(default=[])
    technologies: list[str] = Field(default=[])
    outcome: Literal["success", "partial", "abandoned"] | None = None
    user_note: str = ""  # what the user wants done alike next time


class SavedSnippet(_Part):
    code: str
    language: str = ""
    description: str = ""
    file_path: str = ""


class SaveSession(Arguments):
    session_id: str = Field(default="", description="To replace one")
    summary: SavedSummary | None = None
    messages: list[SavedMessage] = Field(default=[])
    topics: list[str] = Field(default=[])
    code_snippets: list[SavedSnippet] = Field(default=[])
    project_path: str = ""
    created_at: str = ""
    metadata: dict[str, Any] = Field(default={})
    allow_secrets: Unlisted[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSaved(Answer):
    session_id: str
    created: bool
    changed: bool
    messages: int

    def text(self) -> str:
        done = "saved" if self.created else "replaced" if self.changed else "unchanged"
        return f"{done}: {self.session_id}, {self.messages} messages"


def save_session(caller: Caller, asked: SaveSession, report: Reporter) -> SessionSaved:
    """Keep this session to be found again: its summary, its messages, or both."""
    document = _without_empty(asked.model_dump(exclude={"allow_secrets"}))
    document.setdefault("project_path", caller.folders[0].as_posix())
    saved = _promoter(caller, report).save(document, allow_secrets=asked.allow_secrets)
    return told_as(SessionSaved, saved, messages=saved.message_count)


class SearchSessions(Arguments):
    query: str
    tier: Literal["summaries", "messages", "all"] = "all"
    project: str = ""
    topics: list[str] = Field(default=[])
    outcome: Literal["success", "partial", "abandoned"] | None = None
    after: str = Field(default="", description="Date or age: 7d")
    before: str = ""
    by_session: bool = Field(default=False, description="Each session once")
    top_k: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=2000, ge=1)
    min_score: float = Field(default=0, ge=0, le=1)
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHits(StoredAnswer):
    hits: tuple[SessionHit, ...]
    next_cursor: Annotated[str, about("For further hits; empty when there are none.")] = ""

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
    """Find what was said and done in earlier sessions."""
    offset = offset_of(asked.cursor)
    kinds = {"summaries": TIERS[1], "messages": TIERS[2], "all": tuple(HitKind)}
    query = SessionQuery(
        text=asked.query,
        kinds=kinds[asked.tier],
        top_k=offset + asked.top_k + 1,
        by_session=asked.by_session,
        min_score=asked.min_score,
        filter=SessionFilter(
            project=asked.project,
            topics=tuple(asked.topics),
            outcomes=(Outcome(asked.outcome),) if asked.outcome else (),
            after=past_moment(asked.after, now_ms=system_clock()),
            before=past_moment(asked.before, now_ms=system_clock()),
        ),
    )
    found = caller.asking(
        Asked.SESSIONS, asked.query, lambda: _sessions(caller, report).search(query)
    )[offset:]
    tell_weak(found, report)
    shown = within_tokens(
        found[: asked.top_k], asked.max_tokens, characters=lambda hit: len(hit.text)
    )
    return SessionHits(
        hits=tuple(shown),
        next_cursor=cursor_after(offset, shown, found),
    )


class GetSession(Arguments):
    session_id: str
    max_tokens: int = Field(default=6000, ge=1)
    cursor: str = Field(default="", description="from-N: message N")


@dataclass(frozen=True, slots=True)
class Turn:
    sequence: Annotated[int, about("From 0.")]
    said_by: str
    created_at: Time
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionText(StoredAnswer):
    session_id: str
    title: str
    project_path: str
    created_at: Time
    topics: tuple[str, ...]
    summary: Summary | None
    code_snippets: Annotated[tuple[Snippet, ...], about("With the first messages only.")]
    message_count: int
    messages: tuple[Turn, ...]
    next_cursor: Annotated[str, about("For later messages; empty after the last.")] = ""

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


def get_session(caller: Caller, asked: GetSession, report: Reporter) -> SessionText:
    """Read a session's summary and messages."""
    session = read_session(_sessions(caller, report).get(asked.session_id).document)
    offset = offset_of(asked.cursor)
    rest = session.messages[offset:]
    shown = within_tokens(rest, asked.max_tokens, characters=lambda message: len(message.content))
    return told_as(
        SessionText,
        session,
        title=session.opening,
        created_at=iso_utc(session.created_at),
        code_snippets=() if offset else session.code_snippets,
        message_count=len(session.messages),
        messages=tuple(
            Turn(at, each.said_by, iso_utc(each.created_at), each.content)
            for at, each in enumerate(shown, offset)
        ),
        next_cursor=cursor_after(offset, shown, rest),
    )


class PromoteSession(Arguments):
    session_id: str
    dry_run: bool = False
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted(StoredAnswer):
    dry_run: bool
    memories: tuple[Candidate, ...]

    def text(self) -> str:
        if not self.memories:
            return "the session suggests nothing to remember"
        lines = [
            quoted_line(f"{each.fate} {each.path or each.category}: {each.text}")
            for each in self.memories
        ]
        return "\n".join([f"From an earlier session: {DATA}.", *lines])


def promote_session(caller: Caller, asked: PromoteSession, report: Reporter) -> Promoted:
    """Turn what a session decided, solved and noted into memories."""
    promotion = _promoter(caller, report).promote(
        asked.session_id, shared=asked.shared, dry_run=asked.dry_run
    )
    return Promoted(dry_run=asked.dry_run, memories=promotion.memories)


def _promoter(caller: Caller, report: Reporter) -> Promoter:
    """What makes memories of the caller's sessions."""
    return caller.services.promoter(caller.agent, environ=caller.environ, reporter=report)


def _sessions(caller: Caller, report: Reporter) -> Sessions:
    return caller.services.sessions(caller.agent, reporter=report)


def _without_empty(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """`value` without what a session's file leaves out."""
    if isinstance(value, dict):
        return {
            key: _without_empty(each)
            for key, each in value.items()
            if each is not None and each not in ("", [], {})
        }
    return [_without_empty(each) for each in value] if isinstance(value, list) else value
