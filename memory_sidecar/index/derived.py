"""One database derived from files: its only writer, and readers that see whole documents.

All writing goes through `write`, `begin_source`, `forget_source` and the vector queues, each one
transaction; the store is the target of the flows. One process writes at a time (the caller holds
the writer's lock); any number read. What a document's rows are is a subclass's affair.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import apsw
import numpy as np

from memory_sidecar.core.clock import Clock
from memory_sidecar.core.errors import StoreCorrupt
from memory_sidecar.core.model import Document, FileStatus, SourceFile, Stamp
from memory_sidecar.core.sqlite import (
    connect,
    give_back_free_pages,
    integers,
    may_be_kept,
    snapshot,
    transaction,
)
from memory_sidecar.index.corpus import Corpus
from memory_sidecar.index.identity import (
    Schema,
    found_version,
    open_current,
    read_identity,
    write_identity,
)
from memory_sidecar.index.vectors import Vector, VectorIndex, raise_vector_version

MAX_IDLE_READERS = 4  # connections kept for the next questions


@dataclass(frozen=True, slots=True)
class Replacement:
    """A document, and the vectors that are known of its texts, by text."""

    document: Document
    vectors: Mapping[str, Vector]


@dataclass(frozen=True, slots=True)
class Removal:
    """A document that is gone from its source."""

    source: str
    path: str


@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What one transaction did to the rows that can be searched."""

    indexed: int
    deleted: int


@dataclass(frozen=True, slots=True)
class PendingText:
    """A row that waits for its vector."""

    corpus: Corpus
    row_id: int
    text: str


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the database knows of one source; see the `sources` table."""

    root: Path
    state_id: str
    chunker: str  # "" while every row is being made anew
    scanned_at: int | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A file, and what was made of its content."""

    file: SourceFile
    status: FileStatus
    reason: str


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the last scan knew of a file."""

    stamp: Stamp
    fingerprint: str  # "" where the content was never read
    status: FileStatus
    reason: str


class Write:
    """The statements of one transaction, and what they did to vectors."""

    def __init__(
        self,
        connection: apsw.Connection,
        corpora: Iterable[Corpus],
        *,
        now: int,
        queued_at: int | None = None,
    ) -> None:
        self.connection = connection
        self.now = now  # epoch ms
        self.queued_at = now if queued_at is None else queued_at
        self.indexed = 0
        self.removed: dict[Corpus, list[int]] = {corpus: [] for corpus in corpora}
        self.added: dict[Corpus, list[tuple[int, bytes]]] = {corpus: [] for corpus in corpora}

    def index_row(
        self, corpus: Corpus, row_id: int, words: Sequence[str], vector: Vector | None
    ) -> None:
        """Have a row found by `words`, one text for each column, and by `vector`.

        Without a vector it joins the queue.
        """
        values = ", ".join("?" * (1 + len(words)))
        self.connection.execute(
            f"INSERT INTO {corpus.words} (rowid, {', '.join(corpus.columns)}) VALUES ({values})",
            (row_id, *words),
        )
        if vector is None:
            self.connection.execute(
                f"INSERT INTO {corpus.pending} VALUES (?, ?)", (row_id, self.queued_at)
            )
        else:
            self.put_vector(corpus, row_id, vector)
        self.indexed += 1

    def put_vector(self, corpus: Corpus, row_id: int, vector: Vector) -> None:
        blob = vector.astype(np.float32).tobytes()
        self.connection.execute(f"INSERT INTO {corpus.vectors} VALUES (?, ?)", (row_id, blob))
        self.added[corpus].append((row_id, blob))

    def delete_rows(self, corpus: Corpus, condition: str, values: Sequence[Any]) -> None:
        """Delete the rows that satisfy `condition`, and what finds them."""
        chosen = f"SELECT id FROM {corpus.rows} WHERE {condition}"
        ids = [(row_id,) for row_id in integers(self.connection.execute(chosen, values))]
        if ids:
            self.connection.executemany(f"DELETE FROM {corpus.words} WHERE rowid = ?", ids)
            self.connection.executemany(f"DELETE FROM {corpus.vectors} WHERE id = ?", ids)
            # The row in the queue goes with its row here, by its foreign key.
            self.connection.execute(f"DELETE FROM {corpus.rows} WHERE {condition}", values)
            self.removed[corpus] += [row_id for (row_id,) in ids]


class DerivedStore(ABC):
    """The database at `path`, made if it is missing. `vectors` has an index for each corpus.

    One that is there is opened without writing: a full disk is no reason not to read it.
    """

    SCHEMA: ClassVar[Schema]

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self.vectors = {corpus: VectorIndex(corpus) for corpus in self.SCHEMA.corpora}
        self._clock = clock
        self._write_lock = threading.Lock()
        found = found_version(path, self.SCHEMA)
        self.was_outdated = found not in (0, self.SCHEMA.version)
        self._writer: apsw.Connection | None = None
        if found != self.SCHEMA.version:
            self._writer = open_current(path, self.SCHEMA)
        self._file = path.stat()
        self._readers: deque[apsw.Connection] = deque()  # the one used last comes first again

    @abstractmethod
    def _insert_rows(self, write: Write, replacement: Replacement) -> None:
        """Insert the rows of a document, of which there are none."""

    @abstractmethod
    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        """Delete all rows of a document, if there are any; of the whole source without `path`."""

    @property
    def is_in_place(self) -> bool:
        """Whether `path` still is the file that was opened, and was not emptied."""
        try:
            found = os.stat(self.path)  # noqa: PTH116  half the time
        except OSError:
            return False
        return found.st_size > 0 and os.path.samestat(self._file, found)

    def rest(self) -> None:
        """Give back every connection that is idle; the next use opens what it needs."""
        self._close_readers()
        if self._write_lock.acquire(blocking=False):  # else it is not idle
            try:
                self._close_writer()
            finally:
                self._write_lock.release()

    def close(self, *, keeps_log: bool = False) -> None:
        """`keeps_log` where the file is damaged: the log is not written into it."""
        self._close_readers()
        with self._write_lock:
            if keeps_log and self._writer is not None:
                self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._close_writer()  # last: closing a reader last would leave the log behind

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _opened_writer(self) -> apsw.Connection:
        if self._writer is None:
            if not self.is_in_place:
                raise StoreCorrupt(
                    f"{self.path} was deleted or replaced",
                    hint="the next search makes it again from the files",
                    path=self.path,
                )
            self._writer = connect(self.path)
        return self._writer

    def _close_readers(self) -> None:
        with suppress(IndexError):
            while True:
                self._readers.pop().close()

    def unload(self) -> None:
        """Give the memory of the vectors back, too; the next query reads them again."""
        for index in self.vectors.values():
            index.unload()
        self.rest()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection whose every query sees the same commit. One for each thread at a time."""
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = connect(self.path, read_only=True)
        try:
            with snapshot(connection):
                yield connection
        except BaseException:
            connection.close()
            raise
        if len(self._readers) < MAX_IDLE_READERS and may_be_kept(connection):
            self._readers.append(connection)
        else:
            connection.close()

    @contextmanager
    def _writing(self, *, queued_at: int | None = None) -> Iterator[Write]:
        """One transaction; what it did to vectors reaches the index as soon as it is committed."""
        with self._write_lock:
            versions = {}
            try:
                with transaction(self._opened_writer()) as connection:
                    write = Write(
                        connection, self.SCHEMA.corpora, now=self._clock(), queued_at=queued_at
                    )
                    yield write
                    for corpus in self.SCHEMA.corpora:
                        if write.removed[corpus] or write.added[corpus]:
                            versions[corpus] = raise_vector_version(connection, corpus)
                            self.vectors[corpus].expect(versions[corpus])
            except BaseException:
                for corpus in versions:
                    self.vectors[corpus].expect(None)
                raise
            for corpus, version in versions.items():
                self.vectors[corpus].apply(
                    version=version, removed=write.removed[corpus], added=write.added[corpus]
                )

    # Sources

    def begin_source(self, name: str, *, root: Path, state_id: str) -> None:
        """Note that every row of `name` is to be made anew. Until it is, what was there stays."""
        with self._writing() as write:
            write.connection.execute(
                "INSERT INTO sources VALUES (?, ?, ?, '', NULL) ON CONFLICT DO UPDATE"
                " SET root = excluded.root, state_id = excluded.state_id, chunker = ''",
                (name, str(root), state_id),
            )

    def forget_source(self, name: str) -> None:
        """Remove everything of `name`, and give the disk back what it took."""
        with self._writing() as write:
            write.connection.execute("DELETE FROM files WHERE source = ?", (name,))
            write.connection.execute("DELETE FROM sources WHERE name = ?", (name,))
            self._delete_rows(write, name, None)
        with self._write_lock:
            give_back_free_pages(self._opened_writer())

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
        entries = (
            "SELECT path, size, mtime_ns, ctime_ns, fingerprint, status, reason FROM files"
            " WHERE source = ?1"
        )
        rows: list[Any] = []
        with self.reading() as connection:
            if under is None or "" in (under := set(under)):
                rows += connection.execute(entries, (source,)).fetchall()
            else:
                # '0' follows '/': the range holds what begins with the path and a slash. It is
                # asked for apart, since an OR would go over every file.
                inside = "path > ?2 || '/' AND path < ?2 || '0'"
                part = f"{entries} AND path = ?2 UNION ALL {entries} AND {inside}"
                for path in under:
                    rows += connection.execute(part, (source, path)).fetchall()
        return {
            path: ManifestEntry((size, mtime_ns, ctime_ns), fingerprint, FileStatus(status), reason)
            for path, size, mtime_ns, ctime_ns, fingerprint, status, reason in rows
        }

    def paths(self, source: str) -> list[str]:
        """Of every file of `source`, as the last scan left it."""
        with self.reading() as connection:
            rows = connection.execute("SELECT path FROM files WHERE source = ?", (source,))
            return [str(path) for (path,) in rows]

    def end_scan(self, source: str, *, chunker: str) -> None:
        """Note that the rows of `source` are now what a complete scan found."""
        with self._writing() as write:
            write.connection.execute(
                "UPDATE sources SET scanned_at = ?, chunker = ? WHERE name = ?",
                (write.now, chunker, source),
            )

    def touch(self, source: str, files: Sequence[Standing]) -> None:
        """Note files whose content is what it was, so that they are not read again."""
        with self._writing() as write:
            write.connection.executemany(
                "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, status = ?, reason = ?"
                " WHERE source = ? AND path = ?",
                [(*f.file.stamp, f.status, f.reason, source, f.file.path) for f in files],
            )

    def fail(self, source: str, failures: Sequence[tuple[SourceFile, str]]) -> None:
        """Note files that could not be read and why. What was indexed of them stays."""
        with self._writing() as write:
            write.connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, 0, 0, '', '', 'failed', ?, 0, ?)"
                " ON CONFLICT DO UPDATE SET status = 'failed', reason = excluded.reason",
                [(source, f.path, f.size, why, write.now) for f, why in failures],
            )

    # Documents

    def now(self) -> int:
        """Epoch ms, by the clock that stamps what is written."""
        return self._clock()

    def write(
        self, changes: Sequence[Replacement | Removal], *, queued_at: int | None = None
    ) -> WriteCounts:
        """Make every change in one transaction. Writing the same again changes nothing.

        Rows with the same `queued_at`, by default now, are embedded in the order of writing.
        """
        with self._writing(queued_at=queued_at) as write:
            for change in changes:
                if isinstance(change, Removal):
                    self._delete_document(write, change.source, change.path)
                else:
                    document = change.document
                    self._delete_document(write, document.source, document.file.path)
                    _insert_file(write, document)
                    if document.status is FileStatus.INDEXED:
                        self._insert_rows(write, change)
        deleted = sum(map(len, write.removed.values()))
        return WriteCounts(indexed=write.indexed, deleted=deleted)

    def _delete_document(self, write: Write, source: str, path: str) -> None:
        write.connection.execute("DELETE FROM files WHERE source = ? AND path = ?", (source, path))
        self._delete_rows(write, source, path)

    # Vectors

    def adopt_model(self, model: str) -> bool:
        """Make `model` (its file's hash) the one whose vectors are kept here.

        True when another one's vectors were here: they go, and every row waits for a new one.
        """
        if self.model == model:
            return False
        with self._writing() as write:
            connection = write.connection
            for corpus in self.SCHEMA.corpora:
                write.removed[corpus] += integers(
                    connection.execute(f"SELECT id FROM {corpus.vectors}")
                )
                connection.execute(f"DELETE FROM {corpus.vectors}")
                connection.execute(
                    f"INSERT OR IGNORE INTO {corpus.pending} SELECT id, ? FROM {corpus.rows}",
                    (write.now,),
                )
            write_identity(connection, "model", model)
        return True

    @property
    def model(self) -> str:
        """Hash of the model whose vectors are kept here; "" before there was one."""
        with self.reading() as connection:
            return read_identity(connection, "model")

    def pending(self, limit: int) -> list[PendingText]:
        """The next rows to embed: by corpus, the latest pass first, then as they were written."""
        waiting: list[PendingText] = []
        with self.reading() as connection:
            for corpus in self.SCHEMA.corpora:
                rows: list[Any] = connection.execute(
                    f"SELECT id, {corpus.text}"
                    # Chosen before the join: sorting 43,000 rows with their text took 70 ms, not 8.
                    f" FROM (SELECT id, queued_at FROM {corpus.pending}"
                    " ORDER BY queued_at DESC, id LIMIT ?)"
                    f" JOIN {corpus.rows} USING (id) ORDER BY queued_at DESC, id",
                    (limit - len(waiting),),
                ).fetchall()
                waiting += [PendingText(corpus, row_id, text) for row_id, text in rows]
                if len(waiting) == limit:
                    break
        return waiting

    def pending_of(self, sources: Collection[str]) -> list[PendingText] | None:
        """The rows of `sources` to embed, without their text; None where rows name no source."""
        if not all(corpus.has_source for corpus in self.SCHEMA.corpora):
            return None
        waiting: list[PendingText] = []
        with self.reading() as connection:
            for corpus in self.SCHEMA.corpora:
                for source in sources:
                    rows = connection.execute(
                        f"SELECT id FROM {corpus.pending} JOIN {corpus.rows} USING (id)"
                        " WHERE source = ? ORDER BY queued_at DESC, id",
                        (source,),
                    )
                    waiting += [PendingText(corpus, row_id, "") for row_id in integers(rows)]
        return waiting

    def with_texts(self, rows: Iterable[PendingText]) -> list[PendingText]:
        """Those of `rows` that still wait, with what is to be embedded of them."""
        found = []
        with self.reading() as connection:
            for row in rows:
                text: Any = connection.execute(
                    f"SELECT {row.corpus.text} FROM {row.corpus.rows}"
                    f" JOIN {row.corpus.pending} USING (id) WHERE id = ?",
                    (row.row_id,),
                ).get
                if text is not None:
                    found.append(PendingText(row.corpus, row.row_id, text))
        return found

    def put_vectors(self, vectors: Sequence[tuple[PendingText, Vector]]) -> None:
        """Give rows their vectors. Those replaced since they were read are passed over."""
        with self._writing() as write:
            for waiting, vector in vectors:
                corpus = waiting.corpus
                if write.connection.execute(
                    f"DELETE FROM {corpus.pending} WHERE id = ? RETURNING 1", (waiting.row_id,)
                ).get:
                    write.put_vector(corpus, waiting.row_id, vector)


def _insert_file(write: Write, document: Document) -> None:
    file = document.file
    write.connection.execute(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(document.source, file.path, file.size, file.mtime_ns, file.ctime_ns),
            *(document.fingerprint, document.language, document.status, document.reason),
            *(len(document.embedded_texts), write.now),
        ),
    )
