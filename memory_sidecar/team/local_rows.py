"""Reads documents back from the rows of `codebase.sqlite`, with their vectors, to move them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory_sidecar.code.document import CodeDocument, findable
from memory_sidecar.code.store import CHUNKS, CodeStore, chunk_from_row
from memory_sidecar.core.model import FileStatus, SourceFile
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.vectors import stored_vector
from memory_sidecar.index.writing import ReadyVectors


def read_documents(
    store: CodeStore, source: str, paths: Sequence[str]
) -> tuple[list[CodeDocument], ReadyVectors]:
    """Return the documents at `paths`, without their names, and the vectors by head."""
    documents: list[CodeDocument] = []
    known: dict[str, Floats] = {}
    static: dict[str, Floats] = {}
    tables = [(CHUNKS.vector_table, known)]
    tables += [(CHUNKS.static_table, static)] if CHUNKS.static_table else []
    with store.reading() as connection:
        for path in paths:
            rows: list[Any] = connection.execute(
                "SELECT id, head, start_line, end_line, code, symbols, scope, signature"
                " FROM code_chunks WHERE source = ? AND filename = ? ORDER BY id",
                (source, path),
            ).fetchall()
            chunks = tuple(chunk_from_row(chunk) for _, _, *chunk in rows)
            language, fingerprint = connection.execute(
                "SELECT language, fingerprint FROM files WHERE source = ? AND path = ?",
                (source, path),
            ).get
            documents.append(
                CodeDocument(
                    source=source,
                    file=SourceFile(path, 0, 0, 0),
                    fingerprint=fingerprint,
                    language=language,
                    status=FileStatus.INDEXED,
                    chunks=chunks,
                    found=findable(path, chunks, [head for _, head, *_ in rows]),
                )
            )
            for table, vectors in tables:
                for row_id, head, *_ in rows:
                    if (vector := stored_vector(connection, table, row_id)) is not None:
                        vectors[head] = vector
    return documents, ReadyVectors(known, static)
