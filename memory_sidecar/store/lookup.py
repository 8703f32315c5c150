"""Reads chunks by what they are: their file, a name they define, their id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_sidecar.model import Chunk
from memory_sidecar.sqlite import Connection, integers
from memory_sidecar.store.codebase import chunk_from_row
from memory_sidecar.store.keyword import match_expression


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with where it comes from."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk


def indexed_paths(
    connection: Connection, *, sources: Sequence[str], languages: Sequence[str]
) -> list[tuple[str, str]]:
    """Source and path of every indexed file; an empty sequence restricts nothing."""
    rows: list[Any] = connection.execute(
        "SELECT source, path FROM files WHERE status = 'indexed'"
        " AND (?1 = '[]' OR source IN (SELECT value FROM json_each(?1)))"
        " AND (?2 = '[]' OR language IN (SELECT value FROM json_each(?2)))",
        (json.dumps(sources), json.dumps(languages)),
    ).fetchall()
    return rows


def chunks_of_files(connection: Connection, source: str, paths: Sequence[str]) -> list[int]:
    """Ids of all chunks of these files of `source`."""
    return integers(
        connection.execute(
            "SELECT id FROM code_chunks WHERE source = ?"
            " AND filename IN (SELECT value FROM json_each(?))",
            (source, json.dumps(paths)),
        )
    )


def chunks_with_symbol(connection: Connection, words: str, *, limit: int) -> list[int]:
    """Ids of chunks whose symbols hold `words` in a row."""
    return integers(
        connection.execute(
            "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? LIMIT ?",
            (f"symbols : ({match_expression([words])})", limit),
        )
    )


def chunks_at_path(connection: Connection, path: str, *, limit: int) -> list[int]:
    """Ids of chunks of the files whose path is `path` or ends in it."""
    return integers(
        connection.execute(
            "SELECT c.id FROM files f JOIN code_chunks c"
            " ON c.source = f.source AND c.filename = f.path"
            " WHERE f.path = ?1 OR substr(f.path, -length(?1) - 1) = '/' || ?1 LIMIT ?2",
            (path, limit),
        )
    )


def read_chunks(connection: Connection, ids: Sequence[int]) -> list[StoredChunk]:
    """The chunks with these ids; those that are gone are left out."""
    rows: list[Any] = connection.execute(
        "SELECT id, source, filename, language, start_line, end_line, code, symbols, scope,"
        " signature FROM code_chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    return [
        StoredChunk(chunk_id, source, filename, language, chunk_from_row(rest))
        for chunk_id, source, filename, language, *rest in rows
    ]
