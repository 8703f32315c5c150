"""Makes session documents from an export of claude-mem, which observes sessions. Pure.

The export is one object with lists of rows of its database: `prompts` of the user, `observations`
of tool calls, and `summaries`, one for each answered prompt. `sessions` maps the coding agent's
sessions, which prompts name, to those of claude-mem, which observations and summaries name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.times import parse_time
from memory_sidecar.sessions.documents import SESSION_ID
from memory_sidecar.sessions.model import Role
from memory_sidecar.sessions.transcript_lines import as_text

_ROWS = ("prompts", "observations", "summaries")
_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_OBSERVED = {"decision": "key_decisions", "bugfix": "problems_solved"}
"""By the type of an observation, the field of our summary that takes its title."""

Row = Mapping[str, Any]


def is_export(whole: object) -> bool:
    """Whether `whole`, the JSON of a file, is an export of claude-mem."""
    return isinstance(whole, dict) and all(isinstance(whole.get(name), list) for name in _ROWS)


def exported_sessions(whole: Row, *, name: str) -> list[dict[str, Any]]:
    """Make a document of each session in `whole`, the export in the file called `name`."""
    ids = {_agent_id(row): own for row in _rows(whole, "sessions") if (own := _own_id(row))}
    sessions: dict[str, dict[str, list[Row]]] = defaultdict(lambda: {kind: [] for kind in _ROWS})
    for kind in _ROWS:
        for row in _rows(whole, kind):
            session = _own_id(row) or ids.get(_agent_id(row)) or _agent_id(row)
            sessions[session][kind].append(row)
    documents = [_document(session, rows, name) for session, rows in sessions.items()]
    return [each for each in documents if each["messages"] or "summary" in each]


def _document(session: str, rows: Mapping[str, list[Row]], name: str) -> dict[str, Any]:
    messages = [
        _message(row, Role.USER, as_text(row.get("prompt_text"))) for row in rows["prompts"]
    ]
    messages += [_message(row, Role.ASSISTANT, _describe(row)) for row in rows["observations"]]
    every = [row for kind in _ROWS for row in rows[kind]]
    metadata = {"imported_from": PurePath(name).name}
    if project := next(filter(None, (as_text(row.get("project")) for row in every)), ""):
        metadata["project"] = project
    document: dict[str, Any] = {
        "metadata": metadata,
        "topics": sorted({topic for row in every for topic in _texts(row.get("concepts"))}),
        "messages": sorted(
            (each for each in messages if each["content"]),
            key=lambda each: parse_time(each.get("created_at", "")) or 0,
        ),
    }
    if session and SESSION_ID.fullmatch(own := f"claude-mem-{session}"):
        document["session_id"] = own
    if times := [time for row in every if (time := _time(row))]:
        document["created_at"] = min(times, key=lambda time: parse_time(time) or 0)
    if summary := _summary(rows):
        document["summary"] = summary
    return document


def _summary(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    parts = (
        [f"{part}: {text}" for part in _PARTS if (text := as_text(row.get(part)))]
        for row in rows["summaries"]
    )
    briefs = (
        as_text(row.get(key)) for key in ("request", "completed") for row in rows["summaries"]
    )
    brief = next((text for text in briefs if text.strip()), "")
    if not brief:
        return {}
    summary: dict[str, Any] = {
        "brief": brief,
        "detailed": "\n\n".join(filter(None, map(_lines, parts))),
    }
    for kind, key in _OBSERVED.items():
        titles = (
            as_text(row.get("title")) for row in rows["observations"] if row.get("type") == kind
        )
        summary[key] = [title for title in titles if title]
    return summary


def _message(row: Row, role: Role, content: str) -> dict[str, str]:
    message = {"role": role.value, "content": content.strip()}
    return message | ({"created_at": time} if (time := _time(row)) else {})


def _describe(observation: Row) -> str:
    """Write an observation as text: its titles, what happened, its facts and its files."""
    texts = (as_text(observation.get(key)) for key in ("title", "subtitle", "narrative", "text"))
    files = [*_texts(observation.get("files_read")), *_texts(observation.get("files_modified"))]
    return _lines(
        [
            *texts,
            *(f"- {fact}" for fact in _texts(observation.get("facts"))),
            f"Files: {', '.join(dict.fromkeys(files))}" if files else "",
        ]
    )


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(text.strip() for text in texts if text.strip())


def _rows(whole: Row, kind: str) -> list[Row]:
    found = whole.get(kind)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _own_id(row: Row) -> str:
    return as_text(row.get("memory_session_id")) or as_text(row.get("sdk_session_id"))


def _agent_id(row: Row) -> str:
    return as_text(row.get("content_session_id")) or as_text(row.get("claude_session_id"))


def _time(row: Row) -> str:
    time = as_text(row.get("created_at"))
    return time if time and parse_time(time) else ""


def _texts(value: object) -> list[str]:
    """Return the texts in a list, which claude-mem's database stores as JSON text."""
    try:
        items = read_json(value) if isinstance(value, str) else value
    except BrokenJson:
        return []
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
