"""The database of code: what a document's rows are, and what each is found by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_sidecar.code.directory import ChunkDirectory, ChunkFile
from memory_sidecar.code.fusion import is_data
from memory_sidecar.code.history import follow_history, forget_history
from memory_sidecar.code.names import FileNames
from memory_sidecar.core.clock import Clock
from memory_sidecar.core.model import Chunk, Document
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.derived import DerivedStore, note_change
from memory_sidecar.index.keyword import index_words
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


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """What the keyword arm finds a chunk by, beside its path, as FTS5 is given it."""

    body: str
    symbols: str

    @classmethod
    def of(cls, chunk: Chunk) -> ChunkWords:
        return cls(body=index_words(chunk.code), symbols=index_words(" ".join(chunk.symbols)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDocument(Document):
    """A file as chunks, each with its words and its head, and as names; its builder draws them."""

    chunks: tuple[Chunk, ...] = ()
    words: tuple[ChunkWords, ...] = ()
    heads: tuple[str, ...] = ()
    names: FileNames = field(default_factory=FileNames)

    @property
    def embedded_texts(self) -> tuple[str, ...]:
        return self.heads


class CodeStore(DerivedStore):
    """`codebase.sqlite`."""

    SCHEMA = Schema(kind="code", version=8, scripts=("code/codebase.sql",), corpora=(CHUNKS,))

    def __init__(self, path: Path, *, clock: Clock) -> None:
        super().__init__(path, clock=clock)
        self.directory = ChunkDirectory()

    def unload(self) -> None:
        super().unload()
        self.directory.unload()

    def complete(self, source: Source) -> None:
        """Have the newest commits of the repository around `source`."""
        follow_history(source, self)

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

    def _insert_rows(self, write: Write, document: Document) -> None:
        assert isinstance(document, CodeDocument)
        path = document.file.path
        path_words = index_words(path)
        rows = zip(document.chunks, document.words, document.heads, strict=True)
        for chunk, words, head in rows:
            write.connection.execute(
                "INSERT INTO code_chunks (source, filename, location, language, code, start_line,"
                " end_line, symbols, scope, signature, head, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(document.source, path, chunk.location, document.language, chunk.code),
                    *(chunk.start_line, chunk.end_line, " ".join(chunk.symbols)),
                    *(chunk.scope, chunk.signature, head, write.now),
                ),
            )
            write.index_row(
                CHUNKS,
                write.connection.last_insert_rowid(),
                (words.body, words.symbols, path_words),
                head,
                can_wait=is_data(path),
            )
        file = ChunkFile(document.source, path, document.language)
        document.names.insert(write.connection, file)

    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        condition = "source = ?" if path is None else "source = ? AND filename = ?"
        values = [each for each in (source, path) if each is not None]
        write.delete_rows(CHUNKS, condition, values)
        write.connection.execute(f"DELETE FROM code_files WHERE {condition}", values)
        if path is None:
            forget_history(write.connection, source)


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
