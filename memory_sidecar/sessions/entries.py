"""Entries of a journal: which sessions are entries, and how several of them become one session.

An entry is a session of its own, so that it is found by itself. Its tags stand in its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

KIND = "journal"


def is_entry(document: Mapping[str, Any]) -> bool:
    """Whether the session in `document` is an entry of a journal."""
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and metadata.get("kind") == KIND


def has_tag(document: Mapping[str, Any], tag: str) -> bool:
    """Whether it carries `tag`, `key:value`, or has it among its topics."""
    metadata = document.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
    if isinstance(tags, Mapping):
        tags = [f"{key}:{value}" if value else str(key) for key, value in tags.items()]
    topics = document.get("topics")
    known = [*(tags if isinstance(tags, list) else []), *(topics or [])]
    return tag.lower() in (str(each).lower() for each in known)


def as_one(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sessions in `documents`, the oldest first, as one: all that was said, in that order.

    Of a session with a summary, the summary stands for its messages.
    """
    paths = {str(each.get("project_path") or "") for each in documents} - {""}
    topics = dict.fromkeys(topic for each in documents for topic in each.get("topics") or ())
    return {
        "session_id": documents[-1]["session_id"],
        "created_at": documents[0]["created_at"],
        "topics": list(topics),
        "messages": [message for each in documents for message in _said(each)],
        **({"project_path": paths.pop()} if len(paths) == 1 else {}),
    }


def _said(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    summary = document.get("summary")
    if not summary:
        return document.get("messages") or ()
    told = [summary.get("brief"), summary.get("detailed")]
    told += [*(summary.get("key_decisions") or ()), *(summary.get("problems_solved") or ())]
    return [{"role": "assistant", "content": "\n".join(filter(None, told))}]
