"""A session as a value: its messages in order, its summary, and what else its file holds.

The fields are those of the file, which `documents` reads; moments are epoch milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.times import parse_past_time, system_clock

MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
OPENING_MESSAGES = 5  # of the user; they tell what a session without a summary is about
OPENING_CHARACTERS = 200  # of each
EMBEDDED_CHARACTERS = 4000  # of a message; the model sees 512 tokens, which rarely take more
MAX_REQUIRED = 16  # phrases of a query, and as many prefixes

_PHRASE = re.compile(r'"([^"]*)"')
_PREFIX = re.compile(r"(?<!\S)([^\W_]\w*)\*(?!\S)")
_WORD = re.compile(r"[^\W_]")


class Moment(int):
    """Epoch milliseconds from 0 on; in a file a text, ISO 8601."""


UNSAID = Moment(-1)
"""What a document says of a moment that it leaves out; `read_session` fills it in."""


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
    created_at: Moment = UNSAID
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
    created_at: Moment
    updated_at: Moment = UNSAID
    project_path: str = ""  # normalised; "" where there was none
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topics: tuple[str, ...] = ()  # lower case
    messages: tuple[Message, ...] = ()
    summary: Summary | None = None
    code_snippets: tuple[Snippet, ...] = ()

    @property
    def project(self) -> str:
        """The name of the project's folder."""
        return self.project_path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """What its author called it, "" if nothing."""
        title = self.metadata.get("title")
        return title if isinstance(title, str) else ""

    @property
    def called(self) -> str:
        """What tells it from others: its title, or its brief, or else its first words."""
        if told := self.title or (self.summary.brief if self.summary else ""):
            return told
        first = next(iter(self._asked()), "")
        return first or next(
            (_first_words(s.description or s.code) for s in self.code_snippets), ""
        )

    @property
    def overview(self) -> str:
        """All that tier 1 finds it by: date, project, title, summary or first words, topics."""
        told = self.summary
        if told is None:
            lines = [self.called, *self._asked()]
        else:
            lines = [
                *(self.title, told.brief, told.detailed),
                *(*told.key_decisions, *told.problems_solved),
                *(", ".join(told.technologies), told.user_note),
            ]
        lines = [self._heading(self.created_at), *lines, ", ".join(self.topics)]
        return "\n".join(dict.fromkeys(line for line in lines if line))

    def heading(self, message: Message) -> str:
        """What goes before a message for the model: date, project, and who says it.

        On LoCoMo's conversations date and speaker take recall@10 by vector from .551 to .596.
        """
        return f"{self._heading(message.created_at)}\n{message.said_by}"

    def _heading(self, epoch_ms: int) -> str:
        date = spoken_date(epoch_ms)
        return f"{date}, {self.project}" if self.project else date

    def _asked(self) -> list[str]:
        asked = [m for m in self.messages if m.role is Role.USER] or list(self.messages)
        lines = (_first_words(message.content) for message in asked)
        return [line for line in lines if line][:OPENING_MESSAGES]


def spoken_date(epoch_ms: int) -> str:
    """`8 May 2023, 13:56`, in UTC: as questions speak of dates."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, tz=UTC)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M}"


def _first_words(text: str) -> str:
    line = " ".join(text[: 4 * OPENING_CHARACTERS].split())
    if len(line) <= OPENING_CHARACTERS:
        return line
    return line[:OPENING_CHARACTERS].rpartition(" ")[0] + " …"


class HitKind(StrEnum):
    """What was found: tier 1 finds summaries, tier 2 messages and snippets."""

    SUMMARY = "summary"
    MESSAGE = "message"
    SNIPPET = "snippet"


TIERS: Mapping[int, tuple[HitKind, ...]] = {
    1: (HitKind.SUMMARY,),
    2: (HitKind.MESSAGE, HitKind.SNIPPET),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions a search or list covers; every arm applies it. Empty means no restriction."""

    project: str = ""  # a path, or the name of its last folder
    topics: tuple[str, ...] = ()  # any of
    outcomes: tuple[Outcome, ...] = ()  # any of
    after: int | None = None  # began at or after, epoch ms
    before: int | None = None  # began before

    @classmethod
    def said(
        cls,
        *,
        project: str,
        topics: Iterable[str],
        outcomes: Iterable[str],
        after: str | None,
        before: str | None,
    ) -> SessionFilter:
        """Return the filter a caller wrote; times as by `parse_past_time`. Raises UsageError."""
        try:
            ended = tuple(map(Outcome, outcomes))
        except ValueError:
            raise UsageError(
                "not an outcome of a session", hint=f"one of {', '.join(Outcome)}"
            ) from None
        now = system_clock()
        return cls(
            project=project,
            topics=tuple(topics),
            outcomes=ended,
            after=parse_past_time(after, now_ms=now),
            before=parse_past_time(before, now_ms=now),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery:
    """A search as asked for. `"a phrase"` and `word*` in the text must occur, the rest ranks."""

    text: str
    kinds: tuple[HitKind, ...] = (*TIERS[1], *TIERS[2])
    top_k: int = 10
    mode: SearchMode = SearchMode.HYBRID
    filter: SessionFilter = field(default_factory=SessionFilter)
    min_score: float = 0.0  # no hit below it
    by_session: bool = False  # each session once, by its best parts
    explain: bool = False  # say what each score is made of
    rerank: bool = False  # by the cross-encoder, where there is one


@dataclass(frozen=True, slots=True)
class Required:
    """What a query insists on: `"a phrase"` and `word*` must occur, the other words only rank."""

    text: str  # all of it, without the signs
    phrases: tuple[str, ...]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Required:
        """A quote without its counterpart, or around no word, is no sign."""
        phrases = [phrase for phrase in _PHRASE.findall(query) if _WORD.search(phrase)]
        prefixes = _PREFIX.findall(_PHRASE.sub(" ", query))
        text = _PREFIX.sub(r"\1", _PHRASE.sub(r" \1 ", query))
        return cls(
            text=" ".join(text.split()),
            phrases=tuple(dict.fromkeys(phrases))[:MAX_REQUIRED],
            prefixes=tuple(dict.fromkeys(prefixes))[:MAX_REQUIRED],
        )

    @property
    def is_any(self) -> bool:
        """Whether the query insists on something."""
        return bool(self.phrases or self.prefixes)
