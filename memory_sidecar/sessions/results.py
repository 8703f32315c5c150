"""The results of commands and tools on sessions, promotion and journals. See `core.results`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import UNSET, UnsetType

from memory_sidecar.core.model import Explanation
from memory_sidecar.core.results import IsWeak, Score, Time, about
from memory_sidecar.core.times import parse_time
from memory_sidecar.sessions.model import HitKind, Outcome, spoken_date
from memory_sidecar.sessions.promotion import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A session without its messages."""

    session_id: str
    title: Annotated[str, about("its own, or the brief of its summary, or its first words")]
    brief: str
    project_path: str
    created_at: Time
    updated_at: Time
    ended_at: Annotated[Time, about("when its last message was said")]
    message_count: int
    topics: tuple[str, ...]
    outcome: Outcome | None
    pinned: Annotated[bool, about("by its metadata")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredSession(Head):
    """A session that pruning does not keep."""

    reason: str


@dataclass(frozen=True, slots=True)
class SessionsPruned:
    """The sessions that pruning archived, or would archive in a dry run."""

    dry_run: bool
    sessions: tuple[ExpiredSession, ...]
    archive: Annotated[str, about("the folder of theirs, which `session import` reads; or empty")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHit:
    """A ranked part of a session."""

    kind: HitKind
    session_id: str
    title: str
    text: str
    score: Score
    is_weak: IsWeak
    heading: Annotated[
        str, about("of a message: date, project, speaker; of a snippet: file, description")
    ]
    sequence: Annotated[int | None, about("of a message in its session, from 0")]
    created_at: Time
    project_path: str
    topics: tuple[str, ...]
    outcome: Outcome | None
    explain: Annotated[Explanation, about("with --explain")] | UnsetType = UNSET

    @property
    def headline(self) -> str:
        """The heading in one line, for a person: its time says that it is UTC."""
        when = spoken_date(parse_time(self.created_at) or 0)
        heading = self.heading.replace(when, f"{when} UTC", 1)
        return " · ".join(filter(None, heading.split("\n"))) or f"{when} UTC · {self.kind}"


@dataclass(frozen=True, slots=True)
class Promotion:
    """The memories that a session was promoted to."""

    session_id: str
    brief: str
    summary_made_by: str
    memories: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A session that was saved."""

    session_id: str
    agent: str
    path: Annotated[str, about("of its file, relative to the agent's session folder")]
    created: bool
    changed: bool
    created_at: Time
    message_count: int
    snippet_count: int
    has_summary: bool
    promotion: Annotated[Promotion, about("where sessions are promoted when saved")] | UnsetType = (
        UNSET
    )


@dataclass(frozen=True, slots=True)
class FailedImport:
    """A file of which no session was saved."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The sessions of imported files."""

    sessions: tuple[Saved, ...]
    failed: tuple[FailedImport, ...]


@dataclass(frozen=True, slots=True)
class SessionDeleted:
    """A session that was deleted."""

    session_id: str
    path: str
    deleted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """A text that was added to a journal."""

    ok: bool = True
    session_id: str
    uri: str
    agent: str
    created: bool
    timestamp: Time
    memvid: Annotated[str, about("what became of the .mv2 file")]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHit:
    """A ranked text of a journal."""

    text: str
    title: str
    score: Score
    uri: str
    timestamp: Time
    kind: HitKind
    session_id: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JournalHits:
    """The hits in a journal."""

    hits: tuple[JournalHit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A journal that is on the disk."""

    ok: bool = True
    agent: str
    file: str


# A document as in its file, with the properties that its author added, unlike a dataclass.


class ShownMessage(TypedDict):
    """A message of a session."""

    id: NotRequired[Annotated[str, about("in the transcript that it was imported from")]]
    role: Annotated[str, about("user, assistant or system")]
    content: str
    speaker: NotRequired[str]
    created_at: NotRequired[Time]


class ShownSummary(TypedDict):
    """The summary of a session."""

    brief: str
    detailed: NotRequired[str | None]
    key_decisions: NotRequired[list[str]]
    problems_solved: NotRequired[list[str]]
    technologies: NotRequired[list[str]]
    outcome: NotRequired[str | None]
    user_note: NotRequired[str | None]
    made_by: NotRequired[str]


class ShownSnippet(TypedDict):
    """A piece of code of a session."""

    code: str
    language: NotRequired[str | None]
    description: NotRequired[str | None]
    file_path: NotRequired[str | None]
    created_at: NotRequired[Time]


class ShownSession(TypedDict):
    """A session as it was saved; properties that its author added are kept."""

    session_id: str
    path: Annotated[str, about("of its file")]
    project_path: NotRequired[str | None]
    created_at: NotRequired[Time]
    updated_at: NotRequired[Time]
    metadata: NotRequired[dict[str, Any] | None]
    topics: NotRequired[list[str]]
    messages: NotRequired[list[ShownMessage]]
    summary: NotRequired[ShownSummary | None]
    code_snippets: NotRequired[list[ShownSnippet]]
