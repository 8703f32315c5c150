"""One text of a journal as a session: a message, with its title and tags. Pure.

A text is put once a day, however often that is tried, and what an `.mv2` file has of it is the
same session, though memvid keeps neither blank lines nor parts of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory_sidecar.core.clock import iso_utc
from memory_sidecar.sessions.documents import made_id


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a journal."""

    text: str
    title: str
    tags: Mapping[str, str]
    created_at: int  # epoch ms


def entry_document(entry: Entry) -> dict[str, Any]:
    """The session that `entry` is; its tags `topic` and `project` are those of the session."""
    began_at = entry.created_at // 1000 * 1000
    document: dict[str, Any] = {
        "session_id": made_id(began_at, [entry.title, entry.text.split()]),
        "created_at": iso_utc(began_at),
        "metadata": {
            "kind": "journal",
            **({"title": entry.title} if entry.title else {}),
            **({"tags": dict(entry.tags)} if entry.tags else {}),
        },
        "messages": [{"role": "assistant", "content": entry.text}],
    }
    if topic := entry.tags.get("topic"):
        document["topics"] = [topic]
    if project := entry.tags.get("project"):
        document["project_path"] = project
    return document
