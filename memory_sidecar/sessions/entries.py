"""Entries of a journal: which sessions are some, many as one; and which files were imported.

An entry is a session of its own, so that it is found by itself. Its tags stand in its metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_sidecar.core.atomic import replace_file
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.core.opening import Tree

KIND = "journal"
MAX_BYTES = 1 << 20


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

    What its author sums up himself is not told by its messages.
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


@dataclass(frozen=True, slots=True)
class ImportedFiles:
    """Which `.mv2` files are known as they are, by path: noted in the file `path` of `tree`."""

    tree: Tree
    path: Path

    def knows(self, file: Path) -> bool:
        """Whether `file` is as it was when it was noted."""
        return self._noted().get(str(file)) == _state(file)

    def note(self, file: Path) -> None:
        """Take `file`, as it is now, for known. Raises OSError."""
        noted = self._noted() | {str(file): _state(file)}
        replace_file(self.tree, self.path, json.dumps(noted).encode())

    def _noted(self) -> dict[str, Any]:
        try:
            noted = read_json(self.tree.read(self.path, MAX_BYTES))
        except (OSError, BrokenJson):
            return {}
        return noted if isinstance(noted, dict) else {}


def _state(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]
