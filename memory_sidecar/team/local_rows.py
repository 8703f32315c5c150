"""Reads documents back from the rows of `codebase.sqlite`, with their vectors, to move them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_sidecar.code.document import CodeDocument, findable
from memory_sidecar.code.store import CHUNK_COLUMNS, CHUNKS, CodeStore, chunk_from_row
from memory_sidecar.core.model import FileStatus, SourceFile
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.vectors import VectorTable, stored_vector
from memory_sidecar.index.writing import ReadyVectors


def read_documents(
    store: CodeStore, source: str, paths: Sequence[str]
) -> tuple[list[CodeDocument], ReadyVectors]:
    """Return the documents at `paths`, without their names, and the vectors by head."""
    with store.reading() as connection:
        rows = {path: _chunk_rows(connection, source, path) for path in paths}
        documents = [_document(connection, source, path, rows[path]) for path in paths]
        heads = {row_id: head for path in paths for row_id, head, *_ in rows[path]}
        known = _vectors_by_head(connection, CHUNKS.vector_table, heads)
        static = CHUNKS.static_table
        return documents, ReadyVectors(
            known, _vectors_by_head(connection, static, heads) if static else {}
        )


def _chunk_rows(connection: Connection, source: str, path: str) -> list[Any]:
    return connection.execute(
        f"SELECT id, head, {CHUNK_COLUMNS} FROM code_chunks"
        " WHERE source = ? AND filename = ? ORDER BY id",
        (source, path),
    ).fetchall()


def _document(connection: Connection, source: str, path: str, rows: Sequence[Any]) -> CodeDocument:
    language, fingerprint = connection.execute(
        "SELECT language, fingerprint FROM files WHERE source = ? AND path = ?", (source, path)
    ).get
    chunks = tuple(chunk_from_row(chunk) for _, _, *chunk in rows)
    return CodeDocument(
        source=source,
        file=SourceFile(path, 0, 0, 0),
        fingerprint=fingerprint,
        language=language,
        status=FileStatus.INDEXED,
        chunks=chunks,
        found=findable(path, language, chunks, [head for _, head, *_ in rows]),
    )


def _vectors_by_head(
    connection: Connection, table: VectorTable, heads: Mapping[int, str]
) -> dict[str, Floats]:
    vectors = ((head, stored_vector(connection, table, row)) for row, head in heads.items())
    return {head: vector for head, vector in vectors if vector is not None}
