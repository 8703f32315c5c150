"""The values of this package: a session with its parts, filters and queries.

The fields of a session are those of its file, which `documents` reads; times are epoch ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from memory_sidecar.core.credentials import first_words
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Query
from memory_sidecar.core.times import parse_past_time
from memory_sidecar.index.words import MARKS, QUESTION_WORD, count_words

MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
OPENING_MESSAGES = 5  # of the user, which stand in for a missing summary
OPENING_CHARACTERS = 200  # of each
EMBEDDED_CHARACTERS = 4000  # of a message; the model sees 512 tokens, which rarely take more
EXTRACT = "extract"  # `made_by` of a summary of the session's own sentences
ASKING_WORDS = 15  # with which a request begins, and which state nothing
MAX_REQUIRED = 16  # phrases of a query, and as many prefixes

_PHRASE = re.compile(r'"([^"]*)"')
_PREFIX = re.compile(rf"(?<!\S)([^\W_][\w{MARKS}]*)\*(?!\S)")
_WORD = re.compile(r"[^\W_]")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")  # Latin, full width, Arabic
_ENDS = f".!\u3002\uff01{''.join(_QUESTION_MARKS)}"
_BETWEEN_SENTENCES = re.compile(rf"[{_ENDS}]\s|\n")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(rf"[^{_ENDS}\n]*+[{_ENDS}]*+\n?")


class Moment(int):
    """A time in epoch milliseconds from 0 on; ISO 8601 in a file."""


NO_MOMENT = Moment(-1)
"""The value of a missing time, until `read_session` fills it in."""


class Role(StrEnum):
    """The role of a message's author."""

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
    created_at: Moment = NO_MOMENT
    speaker: str = ""  # a name, where the role says too little

    @property
    def said_by(self) -> str:
        """The speaker's name, else the role."""
        return self.speaker or self.role.value

    @property
    def asks(self) -> bool:
        """Whether the message ends with a question, by its mark or a word such as *why*."""
        last = _BETWEEN_SENTENCES.split(self.content.rstrip())[-1]
        is_unmarked = not last.endswith(tuple(_ENDS))
        return _ends_as_question(last) or bool(is_unmarked and QUESTION_WORD.match(last))

    @property
    def stated(self) -> int:
        """How many words it has outside of its questions and its fenced code."""
        sentences = _SENTENCE.findall(_FENCED.sub("\n", self.content))
        return sum(count_words(each) for each in sentences if not _ends_as_question(each))


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A piece of code that the session was about."""

    code: str
    language: str = ""
    description: str = ""
    file_path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a session: what was decided and solved, and how it ended."""

    brief: str
    detailed: str = ""
    key_decisions: tuple[str, ...] = ()
    problems_solved: tuple[str, ...] = ()
    technologies: tuple[str, ...] = ()
    outcome: Outcome | None = None
    user_note: str = ""
    made_by: str = ""  # "" for the author, else EXTRACT or the summarizer's command

    @property
    def lines(self) -> list[str]:
        """All that it says, as it is shown to a reader."""
        technologies = ", ".join(self.technologies)
        lines = [self.brief, self.detailed]
        lines += [f"decided: {each}" for each in self.key_decisions]
        lines += [f"solved: {each}" for each in self.problems_solved]
        lines += [f"technologies: {technologies}"] if technologies else []
        lines += [f"note: {self.user_note}"] if self.user_note else []
        return [each for each in lines if each]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded conversation. It has messages, a summary or snippets, or several of them."""

    session_id: str
    created_at: Moment
    updated_at: Moment = NO_MOMENT
    project_path: str = ""  # normalised; "" where there was none
    metadata: Mapping[str, Any] = field(default_factory=dict)
    topics: tuple[str, ...] = ()  # lower case
    messages: tuple[Message, ...] = ()
    summary: Summary | None = None
    code_snippets: tuple[Snippet, ...] = ()

    @property
    def ended_at(self) -> Moment:
        """When its last message was said; when it began, if no message has a time.

        Without messages, when its summary was saved last.
        """
        said = [each.created_at for each in self.messages] or [self.updated_at]
        return max([self.created_at, *said])

    @property
    def project(self) -> str:
        """The name of the project's folder."""
        return self.project_path.rpartition("/")[2]

    @property
    def title(self) -> str:
        """The title in its metadata, "" if there is none but blanks."""
        title = self.metadata.get("title")
        return title.strip() if isinstance(title, str) else ""

    @property
    def called(self) -> str:
        """A name for lists: the title, else the summary's brief, else the first words."""
        if text := self.title or (self.summary.brief if self.summary else ""):
            return text
        first = next(iter(self._opening_lines()), "")
        return first or next(
            (_first_words(s.description or s.code) for s in self.code_snippets), ""
        )

    def subject(self, summary: Summary) -> str:
        """What it was about, in its first words: its title, else its `summary`, else the request.

        The most central sentence, which an extract has for a brief, says that less often.
        """
        brief = "" if summary.made_by == EXTRACT else summary.brief
        return _first_words(self.title or brief) or next(iter(self._opening_lines()), "")

    @property
    def overview(self) -> str:
        """The text that tier 1 searches: date, project, title, summary or first words, topics."""
        summary = self.summary
        if summary is None:
            lines = [self.called, *self._opening_lines()]
        else:
            lines = [
                *(self.title, summary.brief, summary.detailed),
                *(*summary.key_decisions, *summary.problems_solved),
                *(", ".join(summary.technologies), summary.user_note),
            ]
        lines = [self._heading(self.created_at), *lines, ", ".join(self.topics)]
        return "\n".join(dict.fromkeys(line for line in lines if line))

    @property
    def _begins_with_request(self) -> bool:
        """Whether its first message is a request: what a user says first in a project is one.

        That holds whatever its form; between people it may be news.
        """
        return bool(self.project) and [m.said_by for m in self.messages[:1]] == [Role.USER]

    def stated_words(self) -> Iterator[int]:
        """Yield how many words each message states; the first words of a request ask for it."""
        asking = ASKING_WORDS if self._begins_with_request else 0
        for message in self.messages:
            yield max(message.stated - asking, 0)
            asking = 0

    def steps_to_questions(self) -> Iterator[int]:
        """Yield how far before each message another speaker's question stands that it may answer.

        0 for none. An answer may take several messages, until another speaker's next one.
        """
        is_request = self._begins_with_request
        steps, before = 0, None
        for message in self.messages:
            if before and before.said_by != message.said_by:
                steps, is_request = int(before.asks or is_request), False
            elif steps:
                steps += 1
            yield 0 if message.asks and not message.stated else steps
            before = message

    def heading(self, message: Message) -> str:
        """Make the prefix of a message for the model: date, project and speaker.

        On LoCoMo's conversations date and speaker take recall@10 by vector from .551 to .596.
        """
        return f"{self._heading(message.created_at)}\n{message.said_by}"

    def _heading(self, epoch_ms: int) -> str:
        date = spoken_date(epoch_ms)
        return f"{date}, {self.project}" if self.project else date

    def _opening_lines(self) -> list[str]:
        asked = [m for m in self.messages if m.role is Role.USER] or list(self.messages)
        lines = (_first_words(message.content) for message in asked)
        return [line for line in lines if line][:OPENING_MESSAGES]


def spoken_date(epoch_ms: int) -> str:
    """Format a time as `8 May 2023, 13:56`, in UTC, the way questions write dates."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, tz=UTC)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment:%H:%M}"


def _ends_as_question(text: str) -> bool:
    return text.rstrip().endswith(_QUESTION_MARKS)


def _first_words(text: str) -> str:
    return first_words(" ".join(text[: 4 * OPENING_CHARACTERS].split()), OPENING_CHARACTERS)


class HitKind(StrEnum):
    """The kind of a hit: tier 1 finds summaries, tier 2 messages and snippets."""

    SUMMARY = "summary"
    MESSAGE = "message"
    SNIPPET = "snippet"


TIERS: Mapping[int, tuple[HitKind, ...]] = {
    1: (HitKind.SUMMARY,),
    2: (HitKind.MESSAGE, HitKind.SNIPPET),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """The sessions that a search or list covers. Empty and `None` mean no restriction."""

    projects: tuple[str, ...] = ()  # any of; paths, or names of their last folders
    topics: tuple[str, ...] = ()  # any of
    outcomes: tuple[Outcome, ...] = ()  # any of
    after: int | None = None  # went on at or after, epoch ms
    before: int | None = None  # began before

    @classmethod
    def parse(
        cls,
        *,
        projects: Iterable[str],
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
        return cls(
            projects=tuple(filter(None, projects)),
            topics=tuple(topics),
            outcomes=ended,
            after=parse_past_time(after),
            before=parse_past_time(before),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionQuery(Query):
    """A search as a caller asks for it: `"a phrase"` and `word*` must occur, other words rank."""

    kinds: tuple[HitKind, ...] = tuple(HitKind)
    filter: SessionFilter = field(default_factory=SessionFilter)
    by_session: bool = False  # each session once, ranked by its best parts
    rerank: bool = False  # by the cross-encoder, where there is one


@dataclass(frozen=True, slots=True)
class Required:
    """The required terms of a query: `"a phrase"` and `word*`; its other words only rank.

    A question has none: its answer need not repeat a title that the question quotes.
    """

    text: str  # the whole query, without quotes and asterisks
    phrases: tuple[str, ...]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Required:
        """Parse `query`. A quote without its counterpart, or around no word, is ignored."""
        phrases = [phrase for phrase in _PHRASE.findall(query) if _WORD.search(phrase)]
        prefixes = _PREFIX.findall(_PHRASE.sub(" ", query))
        text = " ".join(_PREFIX.sub(r"\1", _PHRASE.sub(r" \1 ", query)).split())
        if QUESTION_WORD.match(query) or _ends_as_question(query):
            return cls(text, (), ())
        return cls(
            text,
            phrases=tuple(dict.fromkeys(phrases))[:MAX_REQUIRED],
            prefixes=tuple(dict.fromkeys(prefixes))[:MAX_REQUIRED],
        )

    @property
    def has_any(self) -> bool:
        """Whether the query has required terms."""
        return bool(self.phrases or self.prefixes)
