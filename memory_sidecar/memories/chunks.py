"""What a search asks of the chunks of memories. Only reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from memory_sidecar.core.sqlite import Connection, integers
from memory_sidecar.index.vectors import Ids
from memory_sidecar.memories.store import MemoryChunk
from memory_sidecar.memories.strength import STRENGTH_SQL, today

MAX_NAMES = 64


class ChunkPlace(NamedTuple):
    """A chunk's memory, and what decides where that is ranked beside what it says."""

    chunk: int
    memory: int
    path: str
    strength: float
    is_outdated: bool  # superseded, invalidated or expired


def read_places(connection: Connection, ids: Ids, *, now: int) -> dict[int, ChunkPlace]:
    """The places of these chunks, by id; of those that are gone there is none."""
    rows: list[Any] = connection.execute(
        f"SELECT id, memory, path, {STRENGTH_SQL}, standing <> 'active' OR superseded"
        "  OR expires_at IS NOT NULL AND expires_at <= :now"
        " FROM (SELECT id, memory FROM memory_chunks"
        "  WHERE id IN (SELECT value FROM json_each(:ids)))"
        " JOIN (SELECT key, path, standing, superseded, expires_at, pinned, updated_at, used_at,"
        "  uses, evidence FROM memories) ON key = memory",
        {"ids": json.dumps(ids.tolist()), "now": now, "today": today(now)},
    ).fetchall()
    return {row[0]: ChunkPlace._make((*row[:4], bool(row[4]))) for row in rows}


def read_passages(connection: Connection, ids: Collection[int]) -> dict[int, MemoryChunk]:
    """The chunks with these ids."""
    rows: list[Any] = connection.execute(
        "SELECT id, text, context, heading, start_line, end_line FROM memory_chunks"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    ).fetchall()
    return {row[0]: MemoryChunk(*row[1:]) for row in rows}


def first_by_path(connection: Connection, ids: Ids, *, limit: int) -> list[int]:
    """Of the chunks with these ids the first `limit`, by path and line."""
    return integers(
        connection.execute(
            "SELECT c.id FROM memory_chunks c JOIN memories m ON m.key = c.memory"
            " WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY m.path, c.start_line LIMIT ?",
            (json.dumps(ids.tolist()), limit),
        )
    )


def named_chunks(connection: Connection, words: Sequence[str]) -> list[int]:
    """The chunks of memories of which one of `words` is the path or the atom's id."""
    names: dict[str, Any] = {"words": json.dumps(list(dict.fromkeys(words))[:MAX_NAMES])}
    named = "SELECT value FROM json_each(:words)"
    return integers(
        connection.execute(
            "SELECT id FROM memory_chunks WHERE memory IN ("
            f"SELECT key FROM memories WHERE path IN ({named})"
            f" UNION SELECT key FROM memories WHERE path IN (SELECT value || '.md' FROM ({named}))"
            f" UNION SELECT key FROM memories WHERE atom_id <> '' AND atom_id IN ({named}))",
            names,
        )
    )
