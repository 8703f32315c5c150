"""A session as a value: what was said in which order, and what came of it.

Times are epoch milliseconds. Reading and writing its file is `sources.session_files`' affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class Outcome(StrEnum):
    """How a session ended."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str
    created_at: int
    speaker: str = ""  # a name, where the role says too little

    @property
    def said_by(self) -> str:
        """The speaker's name, else the role."""
        return self.speaker or self.role.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A piece of code that the session was about."""

    code: str
    language: str = ""
    description: str = ""
    file_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of a session."""

    brief: str
    detailed: str = ""
    key_decisions: tuple[str, ...] = ()
    problems_solved: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    outcome: Outcome | None = None
    user_note: str = ""
    made_by: str = ""  # "" its author, else what made it: "extract", or the summarizer's command


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded conversation. It has messages, a summary or snippets, or several of them."""

    session_id: str
    created_at: int
    updated_at: int
    project_path: str = ""  # normalised; "" where there was none
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topics: tuple[str, ...] = ()  # lower case
    messages: tuple[Message, ...] = ()
    summary: Summary | None = None
    snippets: tuple[Snippet, ...] = ()

    @property
    def project(self) -> str:
        """The name of the project's folder."""
        return self.project_path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """What its author called it, "" if nothing."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else ""
