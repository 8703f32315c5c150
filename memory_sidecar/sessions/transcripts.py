"""Reads sessions out of what other programs keep: JSON, and JSON lines. Pure.

    one object, or a list of them        session documents as in our own files
    a list of messages                   one session
    JSON lines                           one message or session each: a transcript of Claude Code or
                                         Codex, or plain objects with `role` and `content`

Of a message the words are taken; tool calls and their results, thoughts and side conversations
are not: they are long, and another session's search would drown in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.times import parse_time
from memory_sidecar.sessions.documents import SESSION_ID
from memory_sidecar.sessions.model import Role

_TEXT_KINDS = frozenset({"text", "input_text", "output_text"})
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}
_TIME_KEYS = ("created_at", "timestamp", "time", "date")
_ABOUT_TRANSCRIPT = ("summary", "session_meta")  # lines that tell of all of it

# What programs put into messages for the model alone.
_INJECTED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|command-message|local-command-stdout"
    r"|ide_opened_file)\b[^>]*>.*?</\1>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The documents of the sessions in a file, and what could not be read of it."""

    documents: tuple[dict[str, Any], ...]
    problems: tuple[str, ...] = ()


def sessions_in(data: bytes, *, name: str) -> Transcript:
    """The sessions in a file called `name`. Raises SessionInvalid where it holds none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SessionInvalid(f"{name} is not UTF-8 (byte {error.start})") from error
    try:
        whole = read_json(text)
    except BrokenJson:
        items, problems = _lines(text)
    else:
        items, problems = (whole if isinstance(whole, list) else [whole]), []
    documents = [item for item in items if _is_session(item)]
    documents += _transcripts([item for item in items if not _is_session(item)], name)
    if not documents:
        raise SessionInvalid(
            f"{name} holds no session" + (f": {problems[0]}" if problems else ""),
            hint="JSON of sessions or messages, or a transcript with one JSON object a line",
        )
    return Transcript(tuple(documents), tuple(problems))


def _lines(text: str) -> tuple[list[Any], list[str]]:
    """The JSON of each line. A transcript that is still written to ends in half a line."""
    items, problems = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            items.append(read_json(line))
        except BrokenJson:
            problems.append(f"line {number} is not JSON")
    return items, problems


def _is_session(item: object) -> bool:
    return isinstance(item, dict) and (
        isinstance(item.get("messages"), list)
        or isinstance(item.get("summary"), dict)
        or isinstance(item.get("code_snippets"), list)
    )


@dataclass(slots=True)
class _Transcript:
    """What is known so far of one session."""

    messages: list[dict[str, str]] = field(default_factory=list)
    last_key: str = ""  # of the message that the last line belongs to
    title: str = ""
    project_path: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


def _transcripts(lines: Sequence[object], name: str) -> list[dict[str, Any]]:
    """The sessions that these lines tell of, each by its own id, in order of appearance."""
    sessions: dict[str, _Transcript] = {}
    current = ""
    title = ""
    for line in lines:
        if not isinstance(line, dict):
            continue
        payload = line.get("payload")
        event = payload if isinstance(payload, dict) else line
        if line.get("type") in _ABOUT_TRANSCRIPT:
            title = title or _text(line.get("summary"))
        current = _session_id(line, event) or current
        _take(sessions.setdefault(current, _Transcript()), line, event)
    return [
        _document(session_id, transcript, name, title)
        for session_id, transcript in sessions.items()
        if transcript.messages
    ]


def _session_id(line: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    named = line.get("sessionId") or line.get("session_id")
    if not named and line.get("type") == "session_meta":
        named = event.get("id")
    return named if isinstance(named, str) and SESSION_ID.fullmatch(named) else ""


def _take(transcript: _Transcript, line: Mapping[str, Any], event: Mapping[str, Any]) -> None:
    """Add what one line tells."""
    transcript.project_path = (
        transcript.project_path or _text(line.get("cwd")) or _text(event.get("cwd"))
    )
    for key in ("gitBranch", "version"):
        if told := _text(line.get(key)):
            transcript.metadata.setdefault(_snake_case(key), told)
    inner = line.get("message")
    message = inner if isinstance(inner, dict) else event
    if line.get("isMeta") or line.get("isSidechain"):
        return
    role = _role(message)
    words = _INJECTED.sub("", _words(message.get("content"))).strip()
    if not (role and words):
        return
    if told := _text(message.get("model")):
        transcript.metadata.setdefault("model", told)
    _append(transcript, message, role, words, _time(line) or _time(message))


def _append(
    transcript: _Transcript, message: Mapping[str, Any], role: str, words: str, time: str
) -> None:
    key = _text(message.get("id"))
    if key and key == transcript.last_key:  # one answer, written in several lines
        transcript.messages[-1]["content"] += "\n\n" + words
        return
    transcript.last_key = key
    taken = {"role": role, "content": words}
    if speaker := _text(message.get("speaker")) or _text(message.get("name")):
        taken["speaker"] = speaker
    if time:
        taken["created_at"] = time
    transcript.messages.append(taken)


def _document(session_id: str, transcript: _Transcript, name: str, title: str) -> dict[str, Any]:
    metadata = {"imported_from": PurePath(name).name, **transcript.metadata}
    if title:
        metadata["title"] = title
    document: dict[str, Any] = {"session_id": session_id} if session_id else {}
    times = [m["created_at"] for m in transcript.messages if "created_at" in m]
    if times:
        document["created_at"] = min(times)
    if transcript.project_path:
        document["project_path"] = transcript.project_path
    return {**document, "metadata": metadata, "messages": transcript.messages}


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role") or message.get("type")
    role = _ROLES.get(role, role) if isinstance(role, str) else ""
    return role if role in set(Role) else ""


def _words(content: object) -> str:
    """The words of a message's content: a text, or blocks of which some are texts."""
    if isinstance(content, str):
        return content
    blocks: Iterable[object] = content if isinstance(content, list) else ()
    words = (
        _text(block.get("text")) if isinstance(block, dict) else _text(block)
        for block in blocks
        if not isinstance(block, dict) or block.get("type", "text") in _TEXT_KINDS
    )
    return "\n\n".join(each for each in words if each.strip())


def _time(fields: Mapping[str, Any]) -> str:
    """The moment that a line tells, as ISO 8601, or ""."""
    moments = (parse_time(fields.get(key)) for key in _TIME_KEYS)
    return next((iso_utc(at) for at in moments if at is not None and at >= 0), "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
