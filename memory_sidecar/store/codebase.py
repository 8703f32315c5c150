"""One codebase database: its only writer, and readers that see whole documents.

All writing goes through `CodeStore.write`, `begin_source`, `forget_source` and the vector queue,
each one transaction; the store is the target of the flows. One process writes at a time (the
caller holds the writer's lock); any number read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from memory_sidecar.clock import Clock
from memory_sidecar.model import Chunk, Document, FileStatus, SourceFile
from memory_sidecar.sqlite import connect, integers, snapshot, transaction
from memory_sidecar.store.identity import open_current, read_identity, write_identity
from memory_sidecar.store.keyword import ChunkWords, index_words
from memory_sidecar.store.vectors import VectorIndex, raise_vector_version

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A document, and what is known of its chunks: words for each, vectors by position."""

    document: Document
    words: Sequence[ChunkWords]
    vectors: Mapping[int, Vector]


@dataclass(frozen=True, slots=True)
class Removal:
    """A document that is gone from its source."""

    source: str
    path: str


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What one transaction did to the chunks."""

    indexed: int
    deleted: int


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that waits for its vector."""

    chunk_id: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the database knows of one source; see the `sources` table."""

    root: Path
    state_id: str
    chunker: str
    scanned_at: int | None


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the last scan knew of a file."""

    stamp: tuple[int, int, int]  # size, mtime_ns, ctime_ns
    fingerprint: str
    status: FileStatus
    reason: str


class CodeStore:
    """The database at `path`, made if it is missing."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self.vectors = VectorIndex()
        self._clock = clock
        self._write_lock = threading.Lock()
        self._writer = open_current(path)
        self._readers: SimpleQueue[apsw.Connection] = SimpleQueue()

    def close(self) -> None:
        with suppress(Empty):
            while True:
                self._readers.get_nowait().close()
        with self._write_lock:
            self._writer.close()  # last: closing a reader last would leave the log behind

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection whose every query sees the same commit. One for each thread at a time."""
        try:
            connection = self._readers.get_nowait()
        except Empty:
            connection = connect(self.path, read_only=True)
        try:
            with snapshot(connection):
                yield connection
        except BaseException:
            connection.close()
            raise
        self._readers.put(connection)

    @contextmanager
    def _writing(self) -> Iterator[_Write]:
        """One transaction; what it did to vectors reaches the index as soon as it is committed."""
        with self._write_lock:
            with transaction(self._writer):
                write = _Write(self._writer)
                yield write
                version = raise_vector_version(self._writer) if write.moves_vectors else None
            if version is not None:
                self.vectors.apply(version=version, removed=write.removed, added=write.added)

    # Sources

    def begin_source(self, name: str, *, root: Path, state_id: str, chunker: str) -> None:
        """Start `name` from nothing: whatever it had here goes, in one transaction."""
        with self._writing() as write:
            write.delete_source(name)
            write.connection.execute(
                "INSERT INTO sources VALUES (?, ?, ?, ?, NULL)",
                (name, str(root), state_id, chunker),
            )

    def forget_source(self, name: str) -> None:
        """Remove everything of `name`."""
        with self._writing() as write:
            write.delete_source(name)

    def source_state(self, name: str) -> SourceState | None:
        """What is known of `name` here; `None` for a source that was never begun."""
        with self.reading() as connection:
            row: Any = connection.execute(
                "SELECT root, state_id, chunker, scanned_at FROM sources WHERE name = ?", (name,)
            ).fetchone()
        return SourceState(Path(row[0]), *row[1:]) if row else None

    def manifest(
        self, source: str, *, under: Iterable[str] | None = None
    ) -> dict[str, ManifestEntry]:
        """Every file of `source` by its path, as the last scan left it.

        With `under`, only the files that these paths are or that lie below them.
        """
        rows: list[Any] = []
        with self.reading() as connection:
            for path in [""] if under is None else under:
                rows += connection.execute(
                    "SELECT path, size, mtime_ns, ctime_ns, fingerprint, status, reason FROM files"
                    " WHERE source = ?1"
                    # '0' follows '/': the range holds what begins with the path and a slash.
                    " AND (?2 = '' OR path = ?2 OR (path > ?2 || '/' AND path < ?2 || '0'))",
                    (source, path),
                ).fetchall()
        return {
            path: ManifestEntry((size, mtime_ns, ctime_ns), fingerprint, FileStatus(status), reason)
            for path, size, mtime_ns, ctime_ns, fingerprint, status, reason in rows
        }

    def end_scan(self, source: str, *, chunker: str) -> None:
        """Note that the rows of `source` are now what a complete scan found."""
        with self._writing() as write:
            write.connection.execute(
                "UPDATE sources SET scanned_at = ?, chunker = ? WHERE name = ?",
                (self._clock(), chunker, source),
            )

    def touch(self, source: str, files: Sequence[SourceFile]) -> None:
        """Note new times of files whose content is what it was, so that they are not read again."""
        with self._writing() as write:
            write.connection.executemany(
                "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?"
                " WHERE source = ? AND path = ?",
                [(f.size, f.mtime_ns, f.ctime_ns, source, f.path) for f in files],
            )

    def fail(self, source: str, failures: Sequence[tuple[SourceFile, str]]) -> None:
        """Note files that could not be read and why. What was indexed of them stays."""
        with self._writing() as write:
            write.connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, 0, 0, '', '', 'failed', ?, 0, ?)"
                " ON CONFLICT DO UPDATE SET status = 'failed', reason = excluded.reason",
                [(source, f.path, f.size, why, self._clock()) for f, why in failures],
            )

    # Documents

    def write(self, changes: Sequence[Replacement | Removal]) -> WriteCounts:
        """Make every change in one transaction. Writing the same again changes nothing."""
        indexed = 0
        with self._writing() as write:
            now = self._clock()
            for change in changes:
                if isinstance(change, Removal):
                    write.delete_document(change.source, change.path)
                else:
                    document = change.document
                    write.delete_document(document.source, document.file.path)
                    write.insert_document(change, now)
                    indexed += len(document.chunks)
        return WriteCounts(indexed=indexed, deleted=len(write.removed))

    # Vectors

    def adopt_model(self, model: str) -> bool:
        """Make `model` (its file's hash) the one whose vectors are kept here.

        True when another one's vectors were here: they go, and every chunk waits for a new one.
        """
        with self._writing() as write:
            connection = write.connection
            if read_identity(connection, "model") == model:
                return False
            write.removed += integers(connection.execute("SELECT chunk_id FROM chunk_vectors"))
            connection.execute("DELETE FROM chunk_vectors")
            connection.execute(
                "INSERT OR IGNORE INTO pending_vectors SELECT id, ? FROM code_chunks",
                (self._clock(),),
            )
            write_identity(connection, "model", model)
        return True

    @property
    def model(self) -> str:
        """Hash of the model whose vectors are kept here; "" before there was one."""
        with self.reading() as connection:
            return read_identity(connection, "model")

    def pending(self, limit: int) -> list[PendingChunk]:
        """The next chunks to embed: the latest change first, in the order of their lines."""
        with self.reading() as connection:
            rows: list[Any] = connection.execute(
                "SELECT c.id, c.start_line, c.end_line, c.code, c.symbols, c.scope, c.signature"
                # Chosen before the join: to sort 43,000 chunks with their text took 70 ms, not 8.
                " FROM (SELECT chunk_id, queued_at FROM pending_vectors"
                " ORDER BY queued_at DESC, chunk_id LIMIT ?) p"
                " JOIN code_chunks c ON c.id = p.chunk_id ORDER BY p.queued_at DESC, p.chunk_id",
                (limit,),
            ).fetchall()
        return [PendingChunk(chunk_id=row[0], chunk=chunk_from_row(row[1:])) for row in rows]

    def put_vectors(self, vectors: Sequence[tuple[int, Vector]]) -> None:
        """Give chunks their vectors. Those replaced since they were read are passed over."""
        with self._writing() as write:
            for chunk_id, vector in vectors:
                if write.connection.execute(
                    "DELETE FROM pending_vectors WHERE chunk_id = ? RETURNING 1", (chunk_id,)
                ).get:
                    write.insert_vector(chunk_id, vector)


class _Write:
    """The statements of one transaction, and what they did to vectors."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.removed: list[int] = []
        self.added: list[tuple[int, bytes]] = []

    @property
    def moves_vectors(self) -> bool:
        return bool(self.removed or self.added)

    def insert_document(self, replacement: Replacement, now: int) -> None:
        document = replacement.document
        file, path = document.file, document.file.path
        self.connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(document.source, path, file.size, file.mtime_ns, file.ctime_ns),
                *(document.fingerprint, document.language, document.status, document.reason),
                *(len(document.chunks), now),
            ),
        )
        path_words = index_words(path)
        chunks = zip(document.chunks, replacement.words, strict=True)
        for position, (chunk, words) in enumerate(chunks):
            self.connection.execute(
                "INSERT INTO code_chunks (source, filename, location, language, code, start_line,"
                " end_line, symbols, scope, signature, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(document.source, path, chunk.location, document.language, chunk.code),
                    *(chunk.start_line, chunk.end_line, " ".join(chunk.symbols)),
                    *(chunk.scope, chunk.signature, now),
                ),
            )
            chunk_id = self.connection.last_insert_rowid()
            self.connection.execute(
                "INSERT INTO chunk_words (rowid, body, symbols, path) VALUES (?, ?, ?, ?)",
                (chunk_id, words.body, words.symbols, path_words),
            )
            if (vector := replacement.vectors.get(position)) is None:
                self.connection.execute(
                    "INSERT INTO pending_vectors VALUES (?, ?)", (chunk_id, now)
                )
            else:
                self.insert_vector(chunk_id, vector)

    def insert_vector(self, chunk_id: int, vector: Vector) -> None:
        blob = vector.astype(np.float32).tobytes()
        self.connection.execute("INSERT INTO chunk_vectors VALUES (?, ?)", (chunk_id, blob))
        self.added.append((chunk_id, blob))

    def delete_document(self, source: str, path: str) -> None:
        """Delete all rows of a document, if there are any."""
        self.connection.execute("DELETE FROM files WHERE source = ? AND path = ?", (source, path))
        self._delete_chunks("source = ? AND filename = ?", (source, path))

    def delete_source(self, source: str) -> None:
        self.connection.execute("DELETE FROM files WHERE source = ?", (source,))
        self.connection.execute("DELETE FROM sources WHERE name = ?", (source,))
        self._delete_chunks("source = ?", (source,))

    def _delete_chunks(self, condition: str, values: tuple[str, ...]) -> None:
        chosen = f"SELECT id FROM code_chunks WHERE {condition}"
        ids = [(chunk_id,) for chunk_id in integers(self.connection.execute(chosen, values))]
        if ids:
            self.connection.executemany("DELETE FROM chunk_words WHERE rowid = ?", ids)
            self.connection.executemany("DELETE FROM chunk_vectors WHERE chunk_id = ?", ids)
            # pending_vectors goes with its chunk, by its foreign key.
            self.connection.execute(f"DELETE FROM code_chunks WHERE {condition}", values)
            self.removed += [chunk_id for (chunk_id,) in ids]


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
