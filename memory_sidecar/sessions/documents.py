"""A session's JSON document: read strictly, so that an error names its field. Pure.

What the document holds beyond what this version knows is not read, and not lost: files are
written from the document, not from what was read of it.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.sessions.model import Message, Outcome, Role, Session, Snippet, Summary

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?")

_DRIVE = re.compile(r"[A-Za-z]:")
_UNREADABLE = re.compile("[\0\ud800-\udfff]")


def parse_document(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises SessionInvalid."""
    try:
        document = read_json(data)
    except BrokenJson as broken:
        raise SessionInvalid(str(broken), hint=_SHAPE) from broken
    if not isinstance(document, dict):
        raise SessionInvalid("not a JSON object", hint=_SHAPE)
    return document


def read_session(document: dict[str, Any]) -> Session:
    """The session in `document`, which has a session_id and created_at.

    Raises SessionInvalid with the field's name, for example `messages[3].role`.
    """
    fields = _Fields(document, "")
    created_at = fields.time("created_at")
    messages = tuple(
        Message(
            role=each.choice("role", Role),
            content=each.text("content"),
            created_at=each.time("created_at", created_at),
            speaker=each.text("speaker", "").strip(),
        )
        for each in fields.objects("messages")
    )
    snippets = tuple(
        Snippet(
            code=each.text("code"),
            language=each.text("language", ""),
            description=each.text("description", ""),
            file_path=each.text("file_path", ""),
        )
        for each in fields.objects("code_snippets")
    )
    summary = fields.object("summary", _summary)
    if not (messages or snippets or summary):
        raise SessionInvalid(
            "messages: there is nothing to remember",
            hint="a session has messages, a summary or code_snippets",
        )
    latest = max((message.created_at for message in messages), default=created_at)
    return Session(
        session_id=checked_session_id(fields.text("session_id")),
        created_at=created_at,
        updated_at=fields.time("updated_at", max(latest, created_at)),
        project_path=normalised_project_path(fields.text("project_path", "")),
        metadata=fields.mapping("metadata"),
        topics=_distinct(topic.strip().lower() for topic in fields.texts("topics")),
        messages=messages,
        summary=summary,
        snippets=snippets,
    )


def read_summary(value: object) -> Summary:
    """The summary in `value`, an object as a session file has it. Raises SessionInvalid."""
    return _summary(_Fields(value, "summary"))


def summary_document(summary: Summary) -> dict[str, Any]:
    """The inverse of `read_summary`, without what is empty."""
    values = {
        "brief": summary.brief,
        "detailed": summary.detailed,
        "key_decisions": list(summary.key_decisions),
        "problems_solved": list(summary.problems_solved),
        "technologies": list(summary.technologies),
        "outcome": summary.outcome.value if summary.outcome else None,
        "user_note": summary.user_note,
        "made_by": summary.made_by,
    }
    return {name: value for name, value in values.items() if value}


def checked_session_id(text: str) -> str:
    """`text`, which is to name a file. Raises SessionInvalid."""
    if not SESSION_ID.fullmatch(text):
        raise SessionInvalid(
            f"session_id: {text[:80]!r} cannot name a file",
            hint="letters, digits, `.`, `_` and `-`, at most 128, a letter or digit first",
        )
    return text


def normalised_project_path(path: str) -> str:
    """`path` as it is compared: with `/`, without `.`, `..` and a last slash, drive lower case.

    Decided on the text alone, so that a session means the same project on every machine.
    """
    path = unicodedata.normalize("NFC", path.strip()).replace("\\", "/")
    if not path:
        return ""
    if _DRIVE.match(path):
        path = path[0].lower() + path[1:]
    path = posixpath.normpath(path)
    return "" if path == "." else path


def project_hash(normalised_path: str) -> str:
    """The first 16 hex digits of its SHA-256."""
    return hashlib.sha256(normalised_path.encode()).hexdigest()[:16]


def parse_time(text: str) -> int:
    """ISO 8601 as epoch milliseconds; without an offset it means UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    epoch_ms = round(moment.timestamp() * 1000)
    if epoch_ms < 0:
        raise ValueError(text)
    return epoch_ms


def readable(text: str) -> str:
    """`text` with what neither UTF-8 nor SQLite can hold replaced: lone surrogates and NUL."""
    if not _UNREADABLE.search(text):
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


_SHAPE = 'for example {"messages": [{"role": "user", "content": "…"}]}'


def _summary(fields: _Fields) -> Summary:
    brief = fields.text("brief").strip()
    if not brief:
        raise SessionInvalid(f"{fields.where('brief')}: is empty", hint="say it in a sentence")
    return Summary(
        brief=brief,
        detailed=fields.text("detailed", ""),
        key_decisions=fields.texts("key_decisions"),
        problems_solved=fields.texts("problems_solved"),
        technologies=fields.texts("technologies"),
        outcome=fields.choice("outcome", Outcome) if fields.has("outcome") else None,
        user_note=fields.text("user_note", ""),
        made_by=fields.text("made_by", ""),
    )


class _Fields:
    """The fields of one JSON object; `null` is the same as absent."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise SessionInvalid(f"{path}: must be an object, not {_kind(value)}")
        self._values: dict[str, Any] = value
        self._path = path

    def where(self, name: str) -> str:
        """The full name of a field: `messages[3].role`."""
        return f"{self._path}.{name}" if self._path else name

    def has(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required without `default`."""
        if not self.has(name):
            if default is None:
                raise SessionInvalid(f"{self.where(name)}: is missing", hint=_SHAPE)
            return default
        return readable(_as_text(self._values[name], self.where(name)))

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a list that are not blank."""
        items = (
            _as_text(item, f"{self.where(name)}[{at}]") for at, item in enumerate(self._list(name))
        )
        return tuple(readable(item) for item in items if item.strip())

    def time(self, name: str, default: int | None = None) -> int:
        """Epoch milliseconds."""
        if default is not None and not self.has(name):
            return default
        text = self.text(name)
        try:
            return parse_time(text)
        except (ValueError, OverflowError) as error:
            raise SessionInvalid(
                f"{self.where(name)}: {text[:40]!r} is no time since 1970",
                hint="ISO 8601, such as 2026-03-01T09:12:00Z",
            ) from error

    def choice(self, name: str, choices: type[E]) -> E:
        text = self.text(name)
        try:
            return choices(text)
        except ValueError as error:
            raise SessionInvalid(
                f"{self.where(name)}: {text[:40]!r} is none of {', '.join(choices)}"
            ) from error

    def mapping(self, name: str) -> dict[str, Any]:
        if not self.has(name):
            return {}
        return dict(_Fields(self._values[name], self.where(name))._values)

    def object(self, name: str, read: Callable[[_Fields], T]) -> T | None:
        if not self.has(name):
            return None
        return read(_Fields(self._values[name], self.where(name)))

    def objects(self, name: str) -> list[_Fields]:
        return [
            _Fields(item, f"{self.where(name)}[{at}]") for at, item in enumerate(self._list(name))
        ]

    def _list(self, name: str) -> list[Any]:
        if not self.has(name):
            return []
        value = self._values[name]
        if not isinstance(value, list):
            raise SessionInvalid(f"{self.where(name)}: must be a list, not {_kind(value)}")
        return value


def _as_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise SessionInvalid(f"{where}: must be a text, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return names.get(type(value), "null" if value is None else "a number")


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item))
