"""A session's JSON document: read strictly, so that errors name the field; completed to be saved.

What the document holds beyond what this version knows is not read, and not lost: files are written
from the document, not from what was read of it. Saving is idempotent: the same document again, or
one without an id but with the same content on the same day, is the session that is there. Pure.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.results import convert
from memory_sidecar.core.times import iso_utc, parse_time
from memory_sidecar.sessions.model import UNSAID, Moment, Outcome, Role, Session, Summary

T = TypeVar("T")

SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?")

_OF_SAVING = ("session_id", "created_at", "updated_at")
_DRIVE = re.compile(r"[A-Za-z]:")
_SHAPE = 'for example {"messages": [{"role": "user", "content": "…"}]}'


def parse_document(data: bytes, *, strictly: bool = False) -> dict[str, Any]:
    """The JSON object in `data`; `strictly` as `read_json` has it. Raises SessionInvalid."""
    try:
        document = read_json(data, strictly=strictly)
    except BrokenJson as broken:
        raise SessionInvalid(str(broken), hint=_SHAPE) from broken
    if not isinstance(document, dict):
        raise SessionInvalid("not a JSON object", hint=_SHAPE)
    return document


def read_session(document: Mapping[str, Any]) -> Session:
    """The session in `document`, which has a session_id and created_at.

    `null` is the same as absent. Raises SessionInvalid with the field's name, for example
    `messages[3].role`.
    """
    session = _converted(document, Session, "")
    if not (session.messages or session.code_snippets or session.summary):
        raise SessionInvalid(
            "messages: there is nothing to remember",
            hint="a session has messages, a summary or code_snippets",
        )
    began_at = session.created_at
    messages = tuple(
        replace(
            each,
            created_at=began_at if each.created_at == UNSAID else each.created_at,
            speaker=each.speaker.strip(),
        )
        for each in session.messages
    )
    updated_at = session.updated_at
    if updated_at == UNSAID:
        updated_at = max([began_at, *(each.created_at for each in messages)])
    return replace(
        session,
        session_id=checked_session_id(session.session_id),
        updated_at=updated_at,
        project_path=normalised_project_path(session.project_path),
        topics=_distinct(topic.strip().lower() for topic in session.topics),
        messages=messages,
        summary=_told(session.summary) if session.summary else None,
    )


def read_summary(value: object) -> Summary:
    """The summary in `value`, an object as a session file has it. Raises SessionInvalid."""
    return _told(_converted(value, Summary, "summary"))


def summary_document(summary: Summary) -> dict[str, Any]:
    """The inverse of `read_summary`, without what is empty."""
    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.to_builtins(summary).items()
    }
    return {name: value for name, value in values.items() if value}


# For its file


@dataclass(frozen=True, slots=True)
class Completed:
    """A document ready to be written, and the session that it says."""

    document: dict[str, Any]
    session: Session
    is_changed: bool  # against the one that is known


def identified(document: Mapping[str, Any], *, now: int) -> str:
    """The id of the session in `document`: its own, or one made of the day and the content."""
    given = document.get("session_id")
    if isinstance(given, str):
        return checked_session_id(given)
    if given is not None:
        raise SessionInvalid("session_id: must be a text")
    content = {key: value for key, value in document.items() if key not in _OF_SAVING}
    return made_id(_began_at(document, now), content)


def made_id(began_at: int, content: object) -> str:
    """`2026-03-01-` and twelve hex digits of the content's hash."""
    return f"{iso_utc(began_at)[:10]}-{hash_of(content)}"


def hash_of(content: object) -> str:
    """The first twelve hex digits of what JSON says of it."""
    canonical = json.dumps(content, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def completed(
    document: Mapping[str, Any], known: Mapping[str, Any] | None, *, session_id: str, now: int
) -> Completed:
    """`document` with the fields that saving fills in; `known` is the document in the file so far.

    A session keeps its beginning unless the document says another one. Raises SessionInvalid.
    """
    began_at = (known or {}).get("created_at") or iso_utc(_began_at(document, now))
    full = {
        "session_id": session_id,
        "created_at": document.get("created_at") or began_at,
        **{key: value for key, value in document.items() if key not in _OF_SAVING},
    }
    if known is not None:
        if {**known, "updated_at": None} == {**full, "updated_at": None}:
            return Completed(dict(known), read_session(known), is_changed=False)
        full["updated_at"] = iso_utc(now)
    elif document.get("updated_at"):
        full["updated_at"] = document["updated_at"]
    return Completed(full, read_session(full), is_changed=True)


def _began_at(document: Mapping[str, Any], now: int) -> int:
    """When the session began, as far as the document can be trusted; `now` where it says nothing.

    What is wrong with it is told when it is read as a session.
    """
    messages = document.get("messages")
    times = [document.get("created_at")]
    if isinstance(messages, list):
        times += [m.get("created_at") for m in messages if isinstance(m, dict)]
    said = (_moment(text) for text in times if isinstance(text, str))
    return next((at for at in said if at is not None), now)


# Its parts


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


def _told(summary: Summary) -> Summary:
    """`summary` without what is blank. Raises SessionInvalid without a brief."""
    if not summary.brief.strip():
        raise SessionInvalid("summary.brief: is empty", hint="give one sentence")
    return replace(
        summary,
        brief=summary.brief.strip(),
        key_decisions=tuple(filter(str.strip, summary.key_decisions)),
        problems_solved=tuple(filter(str.strip, summary.problems_solved)),
        technologies=tuple(filter(str.strip, summary.technologies)),
    )


def _distinct(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for item in items if item))


# From JSON to values, and what is wrong in our own words

_PLACE = re.compile(r"(?P<told>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_EXPECTED = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`")
_KINDS = {
    "object": "an object", "array": "a list", "str": "a text", "bool": "a truth value",
    "int": "a number", "float": "a number",
}  # fmt: skip
_CHOICES = {"role": ", ".join(Role), "outcome": ", ".join(Outcome)}


def _converted(value: object, shape: type[T], at: str) -> T:
    """`value` as JSON has it as a `shape`, which is found at the field `at`."""
    try:
        return convert(_stated(value), shape, dec_hook=_decoded)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), at) from error
    except RecursionError as error:
        raise SessionInvalid("nested too deeply", hint=_SHAPE) from error


def _stated(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """`value` without properties that are null, and as UTF-8 and SQLite can hold it.

    Halves of characters and NUL become U+FFFD.
    """
    if isinstance(value, str):
        try:
            value.encode()  # a hundred times as fast as to search for halves
        except UnicodeEncodeError:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value.replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return {name: _stated(each) for name, each in value.items() if each is not None}
    return [_stated(each) for each in value] if isinstance(value, list) else value


def _decoded(kind: type, value: object) -> object:
    assert kind is Moment
    if not isinstance(value, str):
        raise TypeError(f"Expected `str`, got `{_name_of(value)}`")
    if (at := _moment(value)) is None:
        raise ValueError(f"{value[:40]!r} is not a time since 1970")
    return Moment(at)


def _moment(text: str) -> int | None:
    at = parse_time(text)
    return at if at is not None and at >= 0 else None


def _name_of(value: object) -> str:
    """What msgspec calls the type of `value`."""
    known: dict[type, str] = {dict: "object", list: "array"}
    return known.get(type(value), type(value).__name__)


def _invalid(told: str, at: str) -> SessionInvalid:
    """The error in one line, its field first."""
    path = at
    if placed := _PLACE.fullmatch(told):
        told, path = placed["told"], ".".join(filter(None, (at, placed["path"])))
    if missing := _MISSING.fullmatch(told):
        path, told = ".".join(filter(None, (path, missing[1]))), "is missing"
    elif kinds := _EXPECTED.fullmatch(told):
        told = f"must be {_KINDS[kinds[1]]}, not {_KINDS.get(kinds[2], 'null')}"
    elif told.startswith("Invalid enum value "):
        choices = _CHOICES[path.rpartition(".")[2]]
        told = f"{told.removeprefix('Invalid enum value ')} is none of {choices}"
    return SessionInvalid(f"{path}: {told}", hint=_hint_for(told))


def _hint_for(told: str) -> str:
    return "ISO 8601, such as 2026-03-01T09:12:00Z" if told.endswith("since 1970") else _SHAPE
