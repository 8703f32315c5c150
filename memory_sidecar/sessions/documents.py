"""Reads a session's JSON document, with errors that name the field, and completes it for saving.

Properties that this version does not know are kept: files are written from the document, not from
the values read from it. Saving is idempotent: the same document again, or one without an id but
with the same content on the same day, is the same session. Pure.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import msgspec

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.results import convert
from memory_sidecar.core.times import iso_utc, parse_time
from memory_sidecar.sessions.model import (
    NO_MOMENT,
    Message,
    Moment,
    Outcome,
    Role,
    Session,
    Summary,
)

T = TypeVar("T")

SUMMARY_KEYS = tuple(each.name for each in fields(Summary))
SESSION_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?")
EVIDENCE_PREFIX = "session:"  # before the id of a session, in the evidence of a memory

_SEQUENCE = re.compile(r"[0-9]{1,9}")
# The path is that of its file, which `session show` adds to what it prints.
_SET_BY_SAVING = ("session_id", "created_at", "updated_at", "path")
_DRIVE = re.compile(r"[A-Za-z]:")
_SHAPE = 'for example {"messages": [{"role": "user", "content": "…"}]}'
_SUMMARY_SHAPE = 'for example {"summary": {"brief": "…", "key_decisions": ["…"]}}'


def parse_document(data: bytes, *, strictly: bool = False) -> dict[str, Any]:
    """Parse the JSON object in `data`; `strictly` as in `read_json`. Raises SessionInvalid."""
    try:
        document = read_json(data, strictly=strictly)
    except BrokenJson as broken:
        raise SessionInvalid(str(broken), hint=_SHAPE) from broken
    if not isinstance(document, dict):
        raise SessionInvalid("not a JSON object", hint=_SHAPE)
    return document


def read_session(document: Mapping[str, Any]) -> Session:
    """Read the session in `document`, which must have a session_id and created_at.

    `null` is the same as absent. Raises SessionInvalid, which names the field, for example
    `messages[3].role`.
    """
    session = _convert(document, Session, "")
    if not (session.messages or session.code_snippets or session.summary):
        raise SessionInvalid(
            "messages: there is nothing to remember",
            hint="a session has messages, a summary or code_snippets",
        )
    messages, said_at = list[Message](), session.created_at
    for each in session.messages:  # one without a time follows the one before it
        said_at = said_at if each.created_at == NO_MOMENT else each.created_at
        messages.append(replace(each, created_at=said_at, speaker=each.speaker.strip()))
    return replace(
        session,
        session_id=check_session_id(session.session_id),
        updated_at=session.ended_at if session.updated_at == NO_MOMENT else session.updated_at,
        project_path=normalise_project_path(session.project_path),
        topics=tuple(
            dict.fromkeys(filter(None, (each.strip().lower() for each in session.topics)))
        ),
        messages=tuple(messages),
        summary=_clean_summary(session.summary) if session.summary else None,
    )


def read_summary(value: object) -> Summary:
    """Read the summary in `value`, an object as in a session file. Raises SessionInvalid."""
    return _clean_summary(_convert(value, Summary, "summary"))


def unread_in_summary(document: Mapping[str, Any]) -> list[str]:
    """Return the keys of the summary in `document` that are kept, but not searched or promoted."""
    summary = document.get("summary")
    return sorted(summary.keys() - SUMMARY_KEYS) if isinstance(summary, dict) else []


def summary_document(summary: Summary) -> dict[str, Any]:
    """Convert `summary` to the object that `read_summary` reads, without empty values."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in msgspec.to_builtins(summary).items()
        if value
    }


# Completing a document for its file


def parse_session_address(text: str) -> tuple[str, int]:
    """Parse the address by which hits and memories name a session: its id, and a message's number.

    The id may stand behind `session:`, and before `#` and the number, which is 0 by default.
    """
    session_id, sign, sequence = text.removeprefix(EVIDENCE_PREFIX).partition("#")
    if sign and not _SEQUENCE.fullmatch(sequence):
        return text, 0
    return session_id, int(sequence or 0)


def session_id_of(document: Mapping[str, Any], *, now: int) -> str:
    """Return the id in `document`, or else make one of the day and the content.

    Raises SessionInvalid.
    """
    given = document.get("session_id")
    if isinstance(given, str):
        return check_session_id(given)
    if given is not None:
        raise SessionInvalid("session_id: must be a string")
    content = {key: value for key, value in document.items() if key not in _SET_BY_SAVING}
    return make_id(_began_at(document, now), content)


def make_id(began_at: int, content: object) -> str:
    """Make an id like `2026-03-01-`, followed by twelve hex digits of the content's hash."""
    return f"{iso_utc(began_at)[:10]}-{short_hash(content)}"


def short_hash(content: object) -> str:
    """Return the first twelve hex digits of the SHA-256 of `content` as JSON with sorted keys."""
    canonical = json.dumps(content, sort_keys=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def with_known(document: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return `document` with the rest of `known`, but without a summary made of other messages."""
    summary, full = known.get("summary"), {**known, **document}
    is_made = isinstance(summary, Mapping) and bool(summary.get("made_by"))
    if is_made and "summary" not in document and full.get("messages") != known.get("messages"):
        del full["summary"]
    return full


def complete_document(
    document: Mapping[str, Any], known: Mapping[str, Any] | None, *, session_id: str, now: int
) -> tuple[dict[str, Any], Session]:
    """Fill in id and times of `document`; return it, and the session read from it.

    It equals `known`, the document in the file so far, if it changes nothing there. The session
    keeps its created_at unless `document` has another. Raises SessionInvalid.
    """
    began_at = (known or {}).get("created_at") or iso_utc(_began_at(document, now))
    full = {
        "session_id": session_id,
        "created_at": document.get("created_at") or began_at,
        **{key: value for key, value in document.items() if key not in _SET_BY_SAVING},
    }
    if known is not None:
        if {**known, "updated_at": None} == {**full, "updated_at": None}:
            return dict(known), read_session(known)
        full["updated_at"] = iso_utc(now)
    elif document.get("updated_at"):
        full["updated_at"] = document["updated_at"]
    return full, read_session(full)


def _began_at(document: Mapping[str, Any], now: int) -> int:
    """Return the first valid time in the unchecked `document`, its own or a message's, else `now`.

    For invalid times `read_session` raises errors later.
    """
    messages = document.get("messages")
    times = [document.get("created_at")]
    if isinstance(messages, list):
        times += [m.get("created_at") for m in messages if isinstance(m, dict)]
    moments = (_moment(text) for text in times if isinstance(text, str))
    return next((at for at in moments if at is not None), now)


# Fields


def check_session_id(text: str) -> str:
    """Return `text` if it can be an id, and so name a file. Raises SessionInvalid."""
    if not SESSION_ID.fullmatch(text):
        raise SessionInvalid(
            f"session_id: {text[:80]!r} cannot name a file",
            hint="letters, digits, `.`, `_` and `-`, at most 128, a letter or digit first",
        )
    return text


def normalise_project_path(path: str) -> str:
    """Normalise `path` for comparison: `/`, no `.`, `..` or last slash, the drive in lower case.

    Looks at the text alone, so that a session has the same project on every machine.
    """
    path = unicodedata.normalize("NFC", path.strip()).replace("\\", "/")
    if not path:
        return ""
    if _DRIVE.match(path):
        path = path[0].lower() + path[1:]
    path = posixpath.normpath(path)
    return "" if path == "." else path


def project_hash(normalised_path: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of a normalised project path."""
    return hashlib.sha256(normalised_path.encode()).hexdigest()[:16]


def _clean_summary(summary: Summary) -> Summary:
    """Remove the blank items of `summary`. Raises SessionInvalid without a brief."""
    if not summary.brief.strip():
        raise SessionInvalid("summary.brief: is empty", hint="give one sentence")
    return replace(
        summary,
        brief=summary.brief.strip(),
        key_decisions=tuple(filter(str.strip, summary.key_decisions)),
        problems_solved=tuple(filter(str.strip, summary.problems_solved)),
        technologies=tuple(filter(str.strip, summary.technologies)),
    )


# Conversion from JSON, with error messages of our own

_PLACE = re.compile(r"(?P<problem>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_EXPECTED = re.compile(r"Expected `(\w+)[^`]*`, got `(\w+)`")
_KINDS = {
    "object": "an object", "array": "a list", "str": "a string", "bool": "a boolean",
    "int": "a number", "float": "a number",
}  # fmt: skip
_CHOICES = {"role": ", ".join(Role), "outcome": ", ".join(Outcome)}


def _convert(value: object, shape: type[T], at: str) -> T:
    """Convert the JSON `value` at the field `at` to `shape`. Raises SessionInvalid."""
    try:
        return convert(_sanitize(value), shape, dec_hook=_decode_moment)
    except msgspec.ValidationError as error:
        raise _invalid(str(error), at) from error
    except RecursionError as error:
        raise SessionInvalid("nested too deeply", hint=_SHAPE) from error


def _sanitize(value: Any) -> Any:  # noqa: ANN401  whatever JSON has
    """Remove the properties that are null, and the characters that UTF-8 or SQLite cannot hold.

    Lone surrogates and NUL become U+FFFD.
    """
    if isinstance(value, str):
        try:
            value.encode()  # a hundred times as fast as a search for surrogates
        except UnicodeEncodeError:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value.replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return {name: _sanitize(each) for name, each in value.items() if each is not None}
    return [_sanitize(each) for each in value] if isinstance(value, list) else value


def _decode_moment(kind: type, value: object) -> object:
    assert kind is Moment
    if not isinstance(value, str):
        names: dict[type, str] = {dict: "object", list: "array"}  # that msgspec has for types
        raise TypeError(f"Expected `str`, got `{names.get(type(value), type(value).__name__)}`")
    if (at := _moment(value)) is None:
        raise ValueError(f"{value[:40]!r} is not a time since 1970")
    return Moment(at)


def _moment(text: str) -> int | None:
    at = parse_time(text)
    return at if at is not None and at >= 0 else None


def _invalid(problem: str, at: str) -> SessionInvalid:
    """Make one line of msgspec's message `problem` about the field `at`, the field's path first."""
    path = at
    if placed := _PLACE.fullmatch(problem):
        problem, path = placed["problem"], ".".join(filter(None, (at, placed["path"])))
    if missing := _MISSING.fullmatch(problem):
        path, problem = ".".join(filter(None, (path, missing[1]))), "missing"
    elif kinds := _EXPECTED.fullmatch(problem):
        problem = f"must be {_KINDS[kinds[1]]}, not {_KINDS.get(kinds[2], 'null')}"
    hint = _SUMMARY_SHAPE if path.startswith("summary") else _SHAPE
    if problem.startswith("Invalid enum value "):
        choices = _CHOICES[path.rpartition(".")[2]]
        problem, hint = f"{problem.removeprefix('Invalid enum value ')} is none of {choices}", ""
    elif problem.endswith("since 1970"):
        hint = "ISO 8601, such as 2026-03-01T09:12:00Z"
    return SessionInvalid(f"{path}: {problem}", hint=hint)
