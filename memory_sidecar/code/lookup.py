"""Reads chunks by what they are: their file, a name they define, their id."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_sidecar.code.store import CHUNKS, chunk_from_row
from memory_sidecar.core.model import Chunk
from memory_sidecar.core.sqlite import Connection, integers
from memory_sidecar.index.keyword import match_expression
from memory_sidecar.index.report import VectorCounts, count_vectors, source_names


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with where it comes from."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk


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
            # Files first: there are fewer of them, and an index leads to their chunks.
            "SELECT c.id FROM files f CROSS JOIN code_chunks c"
            " ON c.source = f.source AND c.filename = f.path"
            " WHERE f.path = ?1 OR substr(f.path, -length(?1) - 1) = '/' || ?1 LIMIT ?2",
            (path, limit),
        )
    )


def count_chunk_vectors(connection: Connection, sources: Sequence[str]) -> VectorCounts:
    """How far the vectors of the chunks of `sources` are, of all chunks without them."""
    if not sources or set(sources) >= set(source_names(connection)):
        return count_vectors(connection, [CHUNKS])
    of_these = "SELECT id FROM code_chunks WHERE source IN (SELECT value FROM json_each(?1))"
    counted: Any = connection.execute(
        f"SELECT (SELECT count(*) FROM ({of_these})),"
        f" (SELECT count(*) FROM chunk_pending WHERE id IN ({of_these}))",
        (json.dumps(sources),),
    ).get
    return VectorCounts(*counted)


def count_at_path(connection: Connection, source: str, path: str) -> VectorCounts:
    """How many chunks the file at `path` has, and how many of them wait for a vector."""
    counted: Any = connection.execute(
        "SELECT count(*), count(p.id) FROM code_chunks c LEFT JOIN chunk_pending p ON p.id = c.id"
        " WHERE c.source = ? AND c.filename = ?",
        (source, path),
    ).fetchone()
    return VectorCounts(*counted)


def read_symbols(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[list[str], str]]:
    """What the chunks with these ids define, and their scope; those that are gone are left out."""
    rows: list[Any] = connection.execute(
        "SELECT id, symbols, scope FROM code_chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    return {chunk_id: (symbols.split(), scope) for chunk_id, symbols, scope in rows}


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


def read_around(connection: Connection, stored: StoredChunk, *, lines: int) -> tuple[str, str]:
    """The text of the same file before and behind a chunk, so many lines of it or a few more."""
    first, last = stored.chunk.start_line, stored.chunk.end_line
    rows: list[Any] = connection.execute(
        "SELECT start_line, code FROM code_chunks"
        " WHERE source = ? AND filename = ? AND end_line >= ? AND start_line <= ?"
        " ORDER BY start_line",
        (stored.source, stored.filename, first - lines, last + lines),
    ).fetchall()
    before = "".join(f"{code}\n" for start, code in rows if start < first)
    after = "".join(f"\n{code}" for start, code in rows if start > last)
    return before, after
