"""The database of code: what a document's rows are, and what each is found by."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_sidecar.chunking.chunk import CHUNKER_VERSION
from memory_sidecar.code.directory import ChunkDirectory, ChunkFile
from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.fusion import is_data
from memory_sidecar.code.history import delete_history
from memory_sidecar.core.model import Chunk, Document
from memory_sidecar.core.times import Clock
from memory_sidecar.index.derived import DerivedStore, note_change
from memory_sidecar.index.schema import Corpus, Schema
from memory_sidecar.index.writing import Write

CHUNKS = Corpus(
    name="chunk",
    rows="code_chunks",
    text="head",
    columns=("body", "symbols", "path"),
    weights=(1.0, 2.0, 4.0),
    source="source",
    path="filename",
    has_static=True,
)


class CodeStore(DerivedStore):
    """`codebase.sqlite`."""

    SCHEMA = Schema(kind="code", version=8, scripts=("code/codebase.sql",), corpora=(CHUNKS,))

    def __init__(self, path: Path, *, clock: Clock) -> None:
        super().__init__(path, clock=clock)
        self.directory = ChunkDirectory()

    def unload(self) -> None:
        super().unload()
        self.directory.unload()

    def leave_out(self, source: str, tracked: Mapping[str, str]) -> None:
        """Delete the chunks of the files in `tracked`, by path, and note what is tracked of them.

        Another database has them. Their names stay.
        """
        with self.writing() as write:
            note_change(write)
            for path, fingerprint in tracked.items():
                write.delete_rows(CHUNKS, "source = ? AND filename = ?", (source, path))
                write.connection.execute(
                    "UPDATE files SET fingerprint = ?, chunks = 0 WHERE source = ? AND path = ?",
                    (fingerprint, source, path),
                )

    def _replace_rows(self, write: Write, document: Document) -> None:
        """A chunk that reads as before keeps its row, with the words and vectors that find it.

        Of a large file that is saved, most do.
        """
        assert isinstance(document, CodeDocument)
        path = document.file.path
        kept = _kept_rows(write, document)
        self._delete_rows(write, document.source, path, but=kept.values())
        _move(write, {row_id: document.chunks[number] for number, row_id in kept.items()})
        rows = zip(document.chunks, document.found, strict=True)
        for number, (chunk, found) in enumerate(rows):
            if number in kept:
                continue
            write.connection.execute(
                "INSERT INTO code_chunks (source, filename, location, language, code, start_line,"
                " end_line, symbols, scope, signature, head, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(document.source, path, chunk.location, document.language, chunk.code),
                    *(chunk.start_line, chunk.end_line, " ".join(chunk.symbols)),
                    *(chunk.scope, chunk.signature, found.text, write.now),
                ),
            )
            write.index_row(CHUNKS, found, can_wait=is_data(path))
        file = ChunkFile(document.source, path, document.language)
        document.names.insert(write.connection, file)

    def _delete_rows(
        self, write: Write, source: str, path: str | None, *, but: Collection[int] = ()
    ) -> None:
        condition = "source = ?" if path is None else "source = ? AND filename = ?"
        values = [each for each in (source, path) if each is not None]
        others = "id NOT IN (SELECT value FROM json_each(?))"
        write.delete_rows(CHUNKS, f"{condition} AND {others}", [*values, json.dumps([*but])])
        write.connection.execute(f"DELETE FROM code_files WHERE {condition}", values)
        if path is None:
            delete_history(write.connection, source)


def _kept_rows(write: Write, document: CodeDocument) -> dict[int, int]:
    """The rows of the file that hold chunks of `document` already, by the number of the chunk.

    None where another version of the chunker made them, or a static vector is to come with them.
    """
    rows: Any = write.connection.execute(
        "SELECT c.id, c.code, c.symbols, c.scope, c.signature, c.head FROM code_chunks c"
        " JOIN sources s ON s.name = c.source AND s.chunker = ?"
        " WHERE c.source = ? AND c.filename = ? AND c.language = ?"
        " AND (NOT ? OR c.id IN (SELECT id FROM chunk_static)) ORDER BY c.start_line DESC",
        (
            *(CHUNKER_VERSION, document.source, document.file.path, document.language),
            write.brings_static,
        ),
    )
    known: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row_id, *texts in rows:
        known[tuple(texts)].append(row_id)
    kept = {}
    for number, (chunk, found) in enumerate(zip(document.chunks, document.found, strict=True)):
        symbols = " ".join(chunk.symbols)
        if alike := known.get((chunk.code, symbols, chunk.scope, chunk.signature, found.text)):
            kept[number] = alike.pop()
    return kept


def _move(write: Write, chunks: Mapping[int, Chunk]) -> None:
    """Note where the rows of `chunks` stand now. They count as written again, as their file is."""
    places = [
        (chunk.location, chunk.start_line, chunk.end_line, write.now, row_id)
        for row_id, chunk in chunks.items()
    ]
    # Out of each other's way first: no two chunks of a file stand at one place.
    write.connection.executemany(
        "UPDATE code_chunks SET location = id WHERE id = ?", [(row_id,) for row_id in chunks]
    )
    write.connection.executemany(
        "UPDATE code_chunks SET location = ?, start_line = ?, end_line = ?, updated_at = ?"
        " WHERE id = ?",
        places,
    )
    write.queue_again(CHUNKS, chunks)
    write.indexed += len(chunks)
    write.deleted += len(chunks)


def chunk_from_row(row: Sequence[Any]) -> Chunk:
    """The columns start_line, end_line, code, symbols, scope, signature as a chunk."""
    start, end, code, symbols, scope, signature = row
    return Chunk(
        start_line=start,
        end_line=end,
        code=code,
        symbols=tuple(symbols.split()),
        scope=scope,
        signature=signature,
    )


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with where it comes from."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk
