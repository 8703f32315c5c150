"""Reads session documents from the files of other programs: JSON, and JSON lines. Pure.

    one object, or a list of them        session documents as in our own files
    a list of messages                   one session
    an export of claude-mem              its sessions, see `claude_mem`
    an export of ChatGPT or Claude       its chats, see `chat_exports`
    JSON lines                           one message or session each: a transcript of Claude Code,
                                         Codex, Gemini CLI or Cursor, or plain objects with `role`
                                         and `content`

A session without an id gets one made of its file's name and first message, so that the file remains
the same session when it grows. A broken line is left out, and reported as a problem.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.sessions.chat_exports import chat_lines, is_chat
from memory_sidecar.sessions.claude_mem import exported_sessions, is_export
from memory_sidecar.sessions.documents import SESSION_ID, short_hash
from memory_sidecar.sessions.model import Role
from memory_sidecar.sessions.transcript_lines import SYNTHETIC, as_text, parse_message, unwrap_event

_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""By kind of a line that gives a transcript's title, the key that has it; the best kind last."""

# Keys of lines of Claude Code that have no session id.
_MARKS = frozenset({"leafUuid", "messageId"})
_NAME_CHARACTERS = 80
_NAMED_LINES = 3


@dataclass(frozen=True, slots=True)
class Transcript:
    """The documents of the sessions in a file, and what could not be read of it.

    No documents if the transcript has no messages: a session left at once, or a side conversation.
    """

    documents: tuple[dict[str, Any], ...]
    problems: tuple[str, ...] = ()


def read_sessions(data: bytes, *, name: str) -> Transcript:
    """Read the sessions in `data`, a file called `name`. Raises SessionInvalid if it has none."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as PowerShell writes by `>`
        data = data.decode("utf-16", "replace").encode()
    text = data.decode("utf-8-sig", "replace")
    broken: list[int] = []
    try:
        whole = read_json(text)
    except BrokenJson:
        items, broken = _lines(text)
    else:
        if is_export(whole):
            items = exported_sessions(whole, name=name)
        else:
            items = whole if isinstance(whole, list) else _unpack_chat(whole)
    items = [line for item in items for line in (chat_lines(item) if is_chat(item) else [item])]
    problems = [
        *_name_lines(broken, "{} {} not JSON"),
        *_name_lines(_lines_not_utf8(data), "bytes of {} are not UTF-8"),
    ]
    documents = [item for item in items if _is_session(item)]
    lines = [item for item in items if isinstance(item, dict) and not _is_session(item)]
    documents += _transcripts(lines, name)
    if not documents and not any(map(_is_of_transcript, lines)):
        raise SessionInvalid(
            f"{name} holds no session" + (f": {problems[0]}" if problems else ""),
            hint="JSON of sessions or messages, or a transcript with one JSON object a line",
        )
    for document in documents:
        if document.get("session_id") is None:
            document["session_id"] = _make_session_id(document, name, is_alone=len(documents) == 1)
    return Transcript(tuple(documents), tuple(problems))


def _unpack_chat(whole: Any) -> list[Any]:  # noqa: ANN401  JSON
    """Return the messages of a chat of Gemini CLI, which is one object; else `whole` alone."""
    messages = whole.get("messages") if isinstance(whole, dict) and "projectHash" in whole else None
    if not isinstance(messages, list):
        return [whole]
    return [
        {**each, "sessionId": whole.get("sessionId")} for each in messages if isinstance(each, dict)
    ]


def _lines(text: str) -> tuple[list[Any], list[int]]:
    """Parse each line as JSON; return the values, and the numbers of broken lines."""
    items, broken = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            items.append(read_json(line))
        except BrokenJson:
            broken.append(number)
    return items, broken


def _lines_not_utf8(data: bytes) -> list[int]:
    """Return the numbers of the lines that are not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        numbered = enumerate(data.split(b"\n"), start=1)
        return [at for at, line in numbered if line.decode("utf-8", "replace").encode() != line]
    return []


def _name_lines(lines: Sequence[int], problem: str) -> list[str]:
    if not lines:
        return []
    if len(lines) == 1:
        return [problem.format(f"line {lines[0]}", "is")]
    if len(lines) <= _NAMED_LINES:
        return [problem.format(f"lines {', '.join(map(str, lines))}", "are")]
    return [problem.format(f"{len(lines)} lines, the first of them line {lines[0]},", "are")]


def _is_session(item: object) -> bool:
    return isinstance(item, dict) and (
        isinstance(item.get("messages"), list)
        or isinstance(item.get("summary"), dict)
        or isinstance(item.get("code_snippets"), list)
    )


def _make_session_id(document: Mapping[str, Any], name: str, *, is_alone: bool) -> str:
    """Make an id of the file's name and the first message, or of the whole session if not alone."""
    messages: Any = document.get("messages")
    has_first = is_alone and isinstance(messages, list) and messages
    begins = messages[0] if has_first else {**document, "metadata": None}
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", PurePath(name).stem)[:_NAME_CHARACTERS].strip("-._")
    return "-".join(filter(None, (stem, short_hash(begins))))


@dataclass(slots=True)
class _Conversation:
    """The parts of one session, collected line by line."""

    messages: list[dict[str, str]] = field(default_factory=list)
    parts: dict[str, list[str]] = field(default_factory=dict)  # by id, the texts of a message
    lines: set[str] = field(default_factory=set)  # ids of lines, because a line may occur twice
    titles: dict[str, str] = field(default_factory=dict)
    project_path: str = ""
    metadata: dict[str, str] = field(default_factory=dict)

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Add the metadata, title and message of one line."""
        event, inner = unwrap_event(line), line.get("message")
        payload = inner if isinstance(inner, Mapping) else event
        git = event.get("git")
        self.project_path = (
            self.project_path or as_text(line.get("cwd")) or as_text(event.get("cwd"))
        )
        for key, value in (
            ("git_branch", line.get("gitBranch")),
            ("git_branch", git.get("branch") if isinstance(git, Mapping) else None),
            ("version", line.get("version") or event.get("cli_version")),
            ("model", payload.get("model") if payload.get("model") != SYNTHETIC else None),
        ):
            if as_text(value):
                self.metadata.setdefault(key, as_text(value))
        if title := as_text(line.get(_TITLES.get(as_text(line.get("type")), ""))).strip():
            self.titles[line["type"]] = title
        if (uuid := as_text(line.get("uuid"))) and uuid in self.lines:
            return
        self.lines.add(uuid)
        if message := parse_message(line):
            self._add(message, is_part=payload is inner and message["role"] == Role.ASSISTANT)

    def _add(self, message: dict[str, str], *, is_part: bool) -> None:
        """Add `message`; one answer is written in several lines, each a part of it."""
        known = self.parts.get(message.get("id", ""))
        if known is not None and is_part:
            known.append(message["content"])
            return
        if known is not None:
            del message["id"]  # several messages have it
        elif "id" in message:
            self.parts[message["id"]] = [message["content"]]
        self.messages.append(message)

    def document(self, session_id: str, name: str, unnamed: Mapping[str, str]) -> dict[str, Any]:
        """Make the document; `unnamed`: the titles in lines that name no session."""
        titles = {**unnamed, **self.titles}
        metadata = {"imported_from": PurePath(name).name, **self.metadata}
        if title := next((titles[kind] for kind in reversed(_TITLES) if kind in titles), ""):
            metadata["title"] = title
        document: dict[str, Any] = {"session_id": session_id} if session_id else {}
        for message in self.messages:
            if "id" in message:
                message["content"] = "\n\n".join(self.parts[message["id"]])
        times = [m["created_at"] for m in self.messages if "created_at" in m]
        if times:
            document["created_at"] = min(times)
        if self.project_path:
            document["project_path"] = self.project_path
        return {**document, "metadata": metadata, "messages": self.messages}


def _transcripts(lines: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Make a document of each session in `lines`, in the order of appearance."""
    sessions: dict[str, _Conversation] = {}
    current = ""
    is_rollout = False
    for line in lines:
        if line.get("type") == "session_meta":
            if is_rollout:
                continue  # copied from the session that this one was forked from
            is_rollout = True
            if _is_of_subagent(unwrap_event(line)):
                return []
        current = _session_id(line) or current
        if not line.get("isSidechain"):
            sessions.setdefault(current, _Conversation()).add_line(line)
    unnamed = sessions.get("", _Conversation()).titles
    return [
        conversation.document(session_id, name, unnamed)
        for session_id, conversation in sessions.items()
        if conversation.messages
    ]


def _session_id(line: Mapping[str, Any]) -> str:
    named = line.get("sessionId") or line.get("session_id")
    if not named and (line.get("type") == "session_meta" or _begins_old_rollout(line)):
        named = unwrap_event(line).get("id")
    return named if isinstance(named, str) and SESSION_ID.fullmatch(named) else ""


def _is_of_transcript(line: Mapping[str, Any]) -> bool:
    return bool(_session_id(line)) or not _MARKS.isdisjoint(line)


def _begins_old_rollout(line: Mapping[str, Any]) -> bool:
    """Whether `line` is the first of an old Codex file, from before Codex wrapped its lines."""
    return "instructions" in line and "timestamp" in line and "role" not in line


def _is_of_subagent(meta: Mapping[str, Any]) -> bool:
    source = meta.get("source")
    return meta.get("thread_source") == "subagent" or (
        isinstance(source, Mapping) and "subagent" in source
    )
