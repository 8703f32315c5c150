"""The database of code: writes the rows of documents, and the words and vectors of chunks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_sidecar.chunking.lines import CHUNKER_VERSION
from memory_sidecar.code.asides import is_data
from memory_sidecar.code.directory import ChunkDirectory
from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.history import delete_history
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import Chunk, Document
from memory_sidecar.core.times import Clock
from memory_sidecar.index.derived import DerivedStore, note_change
from memory_sidecar.index.schema import Corpus, Schema, SqlFile
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
    """`codebase.sqlite`: the chunks, names and commits of all registered sources."""

    SCHEMA = Schema(kind="code", own_scripts=(SqlFile("code/codebase.sql"),), corpora=(CHUNKS,))

    def __init__(self, path: Path, *, clock: Clock) -> None:
        super().__init__(path, clock=clock)
        self.directory = ChunkDirectory()

    def unload(self) -> None:
        super().unload()
        self.directory.unload()

    def drop_team_chunks(self, source: str, tracked: Mapping[str, str]) -> None:
        """Delete the chunks of files whose chunks the team's database has; keep their names.

        `tracked` has the new fingerprint of each file, by path: see `code.builder`.
        """
        with self.writing() as write:
            note_change(write)
            among = "source = ? AND filename IN (SELECT value FROM json_each(?))"
            write.delete_rows(CHUNKS, among, (source, json.dumps([*tracked])))
            write.connection.executemany(
                "UPDATE files SET fingerprint = ?, chunks = 0 WHERE source = ? AND path = ?",
                [(fingerprint, source, path) for path, fingerprint in tracked.items()],
            )

    def _replace_rows(self, write: Write, document: Document) -> None:
        """Write the rows of a document; unchanged chunks keep their row, words and vectors.

        That is most chunks of a large file that is saved.
        """
        assert isinstance(document, CodeDocument)
        path = document.file.path
        kept = _reusable_rows(write, document)
        self._delete_rows(write, document.source, path, but=kept.values())
        _move_rows(write, {row_id: document.chunks[number] for number, row_id in kept.items()})
        rows = zip(document.chunks, document.found, strict=True)
        for number, (chunk, found) in enumerate(rows):
            if number in kept:
                continue
            write.connection.execute(
                "INSERT INTO code_chunks"
                f" (source, filename, location, language, head, updated_at, {CHUNK_COLUMNS})"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(document.source, path, chunk.location, document.language),
                    *(found.text, write.now, *chunk_row(chunk)),
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


def _reusable_rows(write: Write, document: CodeDocument) -> dict[int, int]:
    """Return the ids of stored rows that equal chunks of `document`, by the number of the chunk.

    Rows made by another version of the chunker do not count, nor do rows without a static vector
    when static vectors are being written.
    """
    rows: Any = write.connection.execute(
        f"SELECT c.id, c.head, {CHUNK_COLUMNS} FROM code_chunks c"
        " JOIN sources s ON s.name = c.source AND s.chunker = ?"
        " WHERE c.source = ? AND c.filename = ? AND c.language = ?"
        " AND (NOT ? OR c.id IN (SELECT id FROM chunk_static)) ORDER BY c.start_line DESC",
        (
            *(CHUNKER_VERSION, document.source, document.file.path, document.language),
            write.brings_static,
        ),
    )
    known = by_key(((head, *texts), row_id) for row_id, head, _, _, *texts in rows)
    kept = {}
    for number, (chunk, found) in enumerate(zip(document.chunks, document.found, strict=True)):
        _, _, *texts = chunk_row(chunk)
        if alike := known.get((found.text, *texts)):
            kept[number] = alike.pop()
    return kept


def _move_rows(write: Write, chunks: Mapping[int, Chunk]) -> None:
    """Update the lines of unchanged `chunks`, by row id. They count as written, like all others."""
    places = [
        (chunk.location, chunk.start_line, chunk.end_line, write.now, row_id)
        for row_id, chunk in chunks.items()
    ]
    # Free all locations first: (source, filename, location) is unique.
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


def join_symbols(symbols: Iterable[str]) -> str:
    """Return the column `symbols` of a chunk, in which U+00A0 is a space within a symbol."""
    return " ".join(symbol.replace(" ", "\u00a0") for symbol in symbols)


def split_symbols(column: str) -> list[str]:
    """Return what `join_symbols` joined."""
    return [symbol.replace("\u00a0", " ") for symbol in column.split(" ")] if column else []


CHUNK_COLUMNS = "start_line, end_line, code, symbols, scope, signature"
"""The fields of `Chunk`, in order: the columns of `chunk_row`, here and in a team's database."""


def chunk_row(chunk: Chunk) -> tuple[int | str, ...]:
    """Return what CHUNK_COLUMNS hold of a chunk."""
    symbols = join_symbols(chunk.symbols)
    return chunk.start_line, chunk.end_line, chunk.code, symbols, chunk.scope, chunk.signature


def chunk_from_row(row: Sequence[Any]) -> Chunk:
    """Return the chunk that `chunk_row` made `row` of."""
    start, end, code, symbols, *texts = row
    return Chunk(start, end, code, tuple(split_symbols(symbols)), *texts)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it is stored, with its id and its file."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk

    @property
    def place(self) -> tuple[str, str, int]:
        """Where it begins: to sort by."""
        return self.source, self.filename, self.chunk.start_line
