"""The tools that save, search and read sessions, and turn them into memories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from memory_sidecar.agents.promotion import Promoter
from memory_sidecar.code.excerpt import shorten, stems_of
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Asked, budget
from memory_sidecar.core.results import Reporter, Time, about, build_from, pluralize, warn_if_weak
from memory_sidecar.core.times import iso_utc
from memory_sidecar.mcp.arguments import ArgumentPart, Arguments, Unlisted, without
from memory_sidecar.mcp.budget import cut_to_fit
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.pages import NextCursor, cursor_after, further, offset_of
from memory_sidecar.mcp.quoting import DATA, in_tag, quote, quote_line
from memory_sidecar.mcp.tool import Answer, StoredAnswer
from memory_sidecar.sessions.documents import parse_session_address, read_session
from memory_sidecar.sessions.files import SessionFiles
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import (
    TIERS,
    HitKind,
    Outcome,
    Role,
    SessionFilter,
    SessionQuery,
    Snippet,
    Summary,
)
from memory_sidecar.sessions.promotion import Candidate
from memory_sidecar.sessions.results import Head, SessionHit
from memory_sidecar.sessions.transcript_lines import ROLES

MIN_BRIEF = 200  # characters of a summary that are shown with any max_tokens

_AS_OURS = BeforeValidator(lambda role: ROLES.get(str(role), role))


class SavedMessage(ArgumentPart):
    role: Annotated[Role, _AS_OURS]
    content: str
    created_at: str = ""


class SavedSummary(ArgumentPart):
    brief: str
    detailed: str = ""
    key_decisions: list[str] = Field(default=[])
    problems_solved: list[str] = Field(default=[])
    technologies: list[str] = Field(default=[])
    outcome: Outcome | None = None
    user_note: str = ""  # what the user wants done alike next time


class SavedSnippet(ArgumentPart):
    code: str
    language: str = ""
    description: str = ""
    file_path: str = ""


def _as_summary(given: Any) -> Any:  # noqa: ANN401  whatever JSON has
    return {"brief": given} if isinstance(given, str) else given


class SaveSession(Arguments):
    session_id: str = Field(default="", description="To change one")
    summary: Annotated[SavedSummary | None, BeforeValidator(_as_summary)] = None
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
        done = "saved" if self.created else "changed" if self.changed else "unchanged"
        return f"{done}: {self.session_id}, {pluralize(self.messages, 'message')}"


def save_session(caller: Caller, asked: SaveSession, report: Reporter) -> SessionSaved:
    """Save this session: its summary, its messages, or both."""
    document = without(asked.model_dump(exclude={"allow_secrets"}), None, "", [], {})
    files = SessionFiles.of_agent(caller.services.agent(caller.agent).paths)
    if files.find(asked.session_id) is None:  # a known session keeps its project
        document.setdefault("project_path", caller.folders[0].as_posix())
    saved = _promoter(caller, report).save(document, allow_secrets=asked.allow_secrets)
    return build_from(SessionSaved, saved, messages=saved.message_count)


class SearchSessions(Arguments):
    query: str = Field(default="", description="By default the latest")
    tier: Literal["summaries", "messages", "all"] = "all"
    project: str = ""
    topics: list[str] = Field(default=[])
    outcome: Outcome | None = None
    after: str = Field(default="", description="Date or age: 7d")
    before: str = ""
    by_session: bool = Field(default=False, description="Each session once")
    top_k: int = Field(default=8, ge=1, le=50)
    max_tokens: int = Field(default=2000, ge=1)
    min_score: Unlisted[float] = Field(default=0, ge=0, le=1)
    cursor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHits(StoredAnswer):
    hits: tuple[SessionHit, ...]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        if not self.hits:
            return "no hits"
        return f"From earlier sessions: {DATA}.\n" + "\n\n".join(
            [*map(_hit_text, self.hits), *further(self.next_cursor)]
        )


def _hit_text(hit: SessionHit) -> str:
    said_by = hit.heading.rpartition("\n")[2]
    place = "" if hit.sequence is None else f" {hit.sequence} {said_by}"
    weak = " weak match" if hit.is_weak else ""
    head = in_tag(f"{hit.session_id} {hit.kind}{place} {hit.created_at[:10]}{weak}")
    return f"<session {head}>\n{quote(hit.text)}\n</session>"


def search_sessions(caller: Caller, asked: SearchSessions, report: Reporter) -> SessionHits:
    """Find what was said and done in earlier sessions."""
    page = caller.pages.page(asked.question, asked.cursor, asked.top_k)
    wanted = SessionFilter.parse(
        projects=caller.session_projects(asked.project),
        topics=asked.topics,
        outcomes=[asked.outcome] if asked.outcome else [],
        after=asked.after,
        before=asked.before,
    )
    kinds = {"summaries": TIERS[1], "messages": TIERS[2], "all": tuple(HitKind)}

    def search() -> list[SessionHit]:
        query = SessionQuery(
            text=asked.query,
            kinds=kinds[asked.tier],
            top_k=page.depth,
            by_session=asked.by_session,
            min_score=asked.min_score,
            filter=wanted,
        )
        return _sessions(caller, report).search(query)

    if asked.query.strip():
        hits = caller.ask(Asked.SESSIONS, asked.query, page, search)
    else:
        hits = [*map(_as_hit, _sessions(caller, report).list_sessions(wanted, limit=page.depth))]
    found = page.fill(hits, lambda hit: (hit.session_id, hit.kind, hit.sequence, hit.text))
    warn_if_weak(found, report)
    characters = budget(asked.max_tokens, "".join(hit.text for hit in found))
    shown, is_cut = cut_to_fit(
        found, characters, "text", _hit_text, share=2, stems=stems_of(asked.query)
    )
    if is_cut:
        report.notice('some are cut: get_session reads on from message N with cursor "from-N"')
    return SessionHits(hits=tuple(shown), next_cursor=page.cursor_after(shown))


def _as_hit(head: Head) -> SessionHit:
    """Make a hit of a session's summary, for an answer to no query."""
    text = "\n".join(dict.fromkeys(filter(None, (head.title, head.brief))))
    return build_from(
        SessionHit,
        head,
        kind=HitKind.SUMMARY,
        text=text,
        score=0.0,
        is_weak=False,
        heading="",
        sequence=None,
        created_at=head.ended_at,
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
    summary: Annotated[Summary | None, about("With the first messages only.")]
    code_snippets: Annotated[tuple[Snippet, ...], about("With the first messages only.")]
    message_count: int
    messages: tuple[Turn, ...]
    next_cursor: NextCursor = ""

    def text(self) -> str:
        head = in_tag(f"{self.session_id} {self.created_at[:10]} {self.project_path}")
        intro = dict.fromkeys([self.title, *(self.summary.lines if self.summary else ())])
        lines = [f"From an earlier session: {DATA}.", f"<session {head}>", *map(quote, intro)]
        lines += map(_turn_text, self.messages)
        lines += map(_snippet_text, self.code_snippets)
        return "\n".join([*lines, "</session>", *further(self.next_cursor, "messages")])


def _turn_text(turn: Turn) -> str:
    return f"{quote_line(f'{turn.sequence} {turn.said_by}:')}\n{quote(turn.content)}"


def _snippet_text(snippet: Snippet) -> str:
    return quote(f"{snippet.file_path}\n{snippet.code}")


def get_session(caller: Caller, asked: GetSession, report: Reporter) -> SessionText:
    """Read a session's summary and messages."""
    whole_id, first = parse_session_address(asked.session_id)
    session = read_session(_sessions(caller, report).get(whole_id).document)
    offset, count = offset_of(asked.cursor) if asked.cursor else first, len(session.messages)
    if offset and offset >= count:
        problem = f"the session has {pluralize(count, 'message')}"
        raise UsageError(problem, hint='"from-0" is the first of them')
    summary, snippets = (None, ()) if offset else (session.summary, session.code_snippets)
    left = budget(asked.max_tokens, "".join(each.content for each in session.messages))
    short = summary and _shorten_summary(summary, left // 2)
    left -= sum(map(len, short.lines)) if short else 0
    later = [
        Turn(at, each.said_by, iso_utc(each.created_at), each.content)
        for at, each in enumerate(session.messages[offset:], offset)
    ]
    turns, is_cut = cut_to_fit(later, left, "content", _turn_text)
    left -= sum(map(len, map(_turn_text, turns)))
    shown, are_cut = cut_to_fit(snippets if left > 0 else (), left, "code", _snippet_text)
    if is_cut or are_cut or short != summary or len(shown) < len(snippets):
        report.notice("some of it is cut: with more max_tokens there is more of it")
    return build_from(
        SessionText,
        session,
        title=shorten(session.called, MIN_BRIEF),
        created_at=iso_utc(session.created_at),
        summary=short,
        code_snippets=tuple(shown),
        message_count=count,
        messages=tuple(turns),
        next_cursor=cursor_after(offset, turns, session.messages[offset:]),
    )


def _shorten_summary(summary: Summary, left: int) -> Summary:
    """Cut the parts of `summary` to `left` characters: the brief first, the details last."""

    def part(text: str) -> str:
        nonlocal left
        shown = shorten(text, left)
        left -= len(shown)
        return shown

    return replace(
        summary,
        brief=shorten(summary.brief, max(left, MIN_BRIEF)),
        key_decisions=tuple(filter(None, map(part, summary.key_decisions))),
        problems_solved=tuple(filter(None, map(part, summary.problems_solved))),
        technologies=tuple(filter(None, map(part, summary.technologies))),
        user_note=part(summary.user_note),
        detailed=part(summary.detailed),
    )


class PromoteSession(Arguments):
    session_id: str
    dry_run: bool = False
    shared: bool = Field(default=False, description="For all agents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted(StoredAnswer):
    dry_run: bool
    memories: tuple[Candidate, ...]

    def text(self) -> str:
        if not self.memories:
            return "the session suggests nothing to remember"
        lines = [
            quote_line(f"{each.outcome} — {each.category}: {each.text}") for each in self.memories
        ]
        return "\n".join([f"From an earlier session: {DATA}.", *lines])


def promote_session(caller: Caller, asked: PromoteSession, report: Reporter) -> Promoted:
    """Turn what a session decided, solved and noted into memories."""
    promotion = _promoter(caller, report).promote(
        asked.session_id, shared=asked.shared, dry_run=asked.dry_run
    )
    return Promoted(dry_run=asked.dry_run, memories=promotion.memories)


def _promoter(caller: Caller, report: Reporter) -> Promoter:
    return caller.services.promoter(caller.agent, environ=caller.environ, reporter=report)


def _sessions(caller: Caller, report: Reporter) -> Sessions:
    return caller.services.sessions(caller.agent, reporter=report)
