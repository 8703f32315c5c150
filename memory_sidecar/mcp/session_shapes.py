"""How sessions are given and shown."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.sessions.model import Message, Session, SessionHit

Ended = Literal["success", "partial", "abandoned"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SavedMessage(_Part):
    role: Literal["user", "assistant", "system"]
    content: str
    created_at: str = Field(default="", description="ISO 8601.")


class SavedSummary(_Part):
    brief: str = Field(description="One or two sentences.")
    detailed: str = ""
    key_decisions: list[str] = Field(default=[])
    problems_solved: list[str] = Field(default=[])
    technologies: list[str] = Field(default=[])
    outcome: Ended | None = None
    user_note: str = Field(default="", description="What the user wants done alike next time.")


class SavedSnippet(_Part):
    code: str
    language: str = ""
    description: str = ""
    file_path: str = ""


class Said(BaseModel):
    session_id: str
    kind: Literal["summary", "message", "snippet"]
    title: str
    created_at: str
    text: str
    sequence: int | None = Field(description="Of a message, from 0: a cursor for get_session.")
    outcome: str | None
    score: float = Field(description="0…1")


class ShownMessage(BaseModel):
    sequence: int
    said_by: str
    created_at: str
    content: str


class Suggested(BaseModel):
    category: str
    text: str
    fate: Literal["new", "stored", "known", "near", "repeated", "refused"]
    path: str = Field(description="Of the memory that it is, or is like.")


def said_of(hit: SessionHit) -> Said:
    return Said(
        session_id=hit.session.session_id,
        kind=hit.kind.value,
        title=hit.session.title,
        created_at=iso_utc(hit.created_at),
        text=hit.text,
        sequence=hit.sequence,
        outcome=hit.session.outcome,
        score=round(hit.score, 6),
    )


def message_of(sequence: int, message: Message) -> ShownMessage:
    return ShownMessage(
        sequence=sequence,
        said_by=message.said_by,
        created_at=iso_utc(message.created_at),
        content=message.content,
    )


def summary_of(session: Session) -> SavedSummary | None:
    told = session.summary
    if told is None:
        return None
    return SavedSummary(
        brief=told.brief,
        detailed=told.detailed,
        key_decisions=list(told.key_decisions),
        problems_solved=list(told.problems_solved),
        technologies=list(told.technologies),
        outcome=told.outcome.value if told.outcome else None,
        user_note=told.user_note,
    )


def snippets_of(session: Session) -> list[SavedSnippet]:
    return [
        SavedSnippet(
            code=each.code,
            language=each.language,
            description=each.description,
            file_path=each.file_path,
        )
        for each in session.code_snippets
    ]


def without_empty(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """`value` without what a session's file leaves out."""
    if isinstance(value, dict):
        return {
            key: without_empty(each)
            for key, each in value.items()
            if each is not None and each not in ("", [], {})
        }
    return [without_empty(each) for each in value] if isinstance(value, list) else value
