"""What the commands about sessions and journals print."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from memory_sidecar.core.results import about
from memory_sidecar.outputs.common import Explanation, Score, Time


class Candidate(TypedDict):
    """Something that a session suggests to remember, and what became of it."""

    category: str
    text: str
    tags: list[str]
    evidence: list[str]
    fate: str
    agent: str
    path: Annotated[str, about("of the memory that says it, or empty")]
    cosine: float | None
    repeats: Annotated[str, about("the text of the other candidate that it repeats, or empty")]


class Promotion(TypedDict):
    """What a session was turned into."""

    session_id: str
    brief: str
    summary_made_by: str
    memories: list[Candidate]


class Saved(TypedDict):
    """A session that was saved."""

    session_id: str
    agent: str
    path: str
    created: bool
    changed: bool
    created_at: Time
    message_count: int
    promotion: NotRequired[Annotated[Promotion, about("where sessions are promoted when saved")]]


class FailedImport(TypedDict):
    """A file of which no session was saved."""

    file: str
    reason: str


class Imported(TypedDict):
    """The sessions of imported files."""

    sessions: list[Saved]
    failed: list[FailedImport]


class Head(TypedDict):
    """A session, without what was said in it."""

    session_id: str
    title: str
    brief: str
    project_path: str
    created_at: Time
    updated_at: Time
    message_count: int
    topics: list[str]
    outcome: str | None
    pinned: bool


class Gone(Head):
    """A session that is not kept."""

    reason: str


class SessionsPruned(TypedDict):
    """What was moved to the archive, or would be."""

    dry_run: bool
    sessions: list[Gone]


class SessionHit(TypedDict):
    """A ranked part of a session."""

    kind: str
    session_id: str
    title: str
    text: str
    score: Score
    heading: str
    sequence: Annotated[int | None, about("of the message")]
    created_at: Time
    project_path: str
    topics: list[str]
    outcome: str | None
    explain: NotRequired[Annotated[Explanation, about("with --explain")]]


class Message(TypedDict):
    """What was said."""

    role: Annotated[str, about("user, assistant or system")]
    content: str
    created_at: NotRequired[Time]


class Summary(TypedDict):
    """What a session came to."""

    brief: str
    detailed: NotRequired[str | None]
    key_decisions: NotRequired[list[str]]
    problems_solved: NotRequired[list[str]]
    technologies: NotRequired[list[str]]
    outcome: NotRequired[str | None]
    user_note: NotRequired[str | None]
    made_by: NotRequired[str]


class Snippet(TypedDict):
    """Code of a session."""

    code: str
    language: NotRequired[str | None]
    description: NotRequired[str | None]
    file_path: NotRequired[str | None]
    created_at: NotRequired[Time]


class Session(TypedDict):
    """A session as it was saved; properties that its author added are kept."""

    session_id: str
    path: Annotated[str, about("of its file")]
    project_path: NotRequired[str | None]
    created_at: NotRequired[Time]
    updated_at: NotRequired[Time]
    metadata: NotRequired[dict[str, Any] | None]
    topics: NotRequired[list[str]]
    messages: NotRequired[list[Message]]
    summary: NotRequired[Summary | None]
    code_snippets: NotRequired[list[Snippet]]


class SessionDeleted(TypedDict):
    """A session that was deleted."""

    session_id: str
    path: str
    deleted: bool


class Put(TypedDict):
    """A text that was added to a journal."""

    ok: bool
    session_id: str
    uri: str
    agent: str
    created: bool
    timestamp: Time
    memvid: Annotated[str, about("what became of the .mv2 file")]


class JournalHit(TypedDict):
    """A ranked text of a journal."""

    text: str
    title: str
    score: Score
    uri: str
    timestamp: Time
    kind: str
    session_id: str
    topics: list[str]


class JournalHits(TypedDict):
    """The hits in a journal."""

    hits: list[JournalHit]


class Committed(TypedDict):
    """A journal that is on the disk."""

    ok: bool
    agent: str
    file: str
