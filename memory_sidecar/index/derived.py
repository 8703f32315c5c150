"""The store: one open database derived from files, with its manifest, rows and vectors.

Every write is a transaction of `DerivedStore.writing`, so that readers see whole documents. One
process at a time writes, while it holds the writer's lock; any number read. The subclasses decide
which rows a document has.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import apsw

from memory_sidecar.core.errors import StoreCorrupt
from memory_sidecar.core.model import Document, FileStatus, SourceFile, Stamp
from memory_sidecar.core.sqlite import (
    column,
    connect,
    give_back_free_pages,
    is_reusable,
    named_errors,
    snapshot,
)
from memory_sidecar.core.times import Clock
from memory_sidecar.index.report import SourceState, known_sources
from memory_sidecar.index.schema import (
    Schema,
    found_version,
    open_current,
    read_identity,
    write_identity,
)
from memory_sidecar.index.vectors import VectorIndex
from memory_sidecar.index.writing import NO_READY_VECTORS, ReadyVectors, Write, checkpoint_last

FILES_VERSION = "files_version"  # key of `identity`: counts the transactions that changed files
MAX_IDLE_READERS = 4  # connections kept for the next questions


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the database knows of a file, by its last scan."""

    stamp: Stamp
    fingerprint: str  # "" where the content was never read
    status: FileStatus
    reason: str


class DerivedStore(ABC):
    """The database at `path`, made if it is missing; one class for each kind of database.

    `indexes` has the in-memory index of each table of vectors. An existing database is opened
    without writing, so that it can be read on a full disk.
    """

    SCHEMA: ClassVar[Schema]

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        tables = chain.from_iterable(corpus.vector_tables for corpus in self.SCHEMA.corpora)
        self.indexes = {table: VectorIndex(table) for table in tables}
        self._clock = clock
        self._write_lock = threading.Lock()
        found = found_version(path, self.SCHEMA)
        self._writer: apsw.Connection | None = None
        if found != self.SCHEMA.version:
            self._writer = open_current(path, self.SCHEMA)
        try:
            self._file = path.stat()
        except FileNotFoundError as error:  # deleted just now
            self._close_writer()
            raise _taken_away(path) from error
        self._readers: deque[apsw.Connection] = deque()  # idle ones, the last used is taken first

    @abstractmethod
    def _replace_rows(self, write: Write, document: Document) -> None:
        """Replace the rows of a file, if there are any, by those of its `document`."""

    @abstractmethod
    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        """Delete all rows of the file at `path`, or of the whole source if that is None."""

    @property
    def is_in_place(self) -> bool:
        """Whether the file was not deleted, replaced or emptied since it was opened.

        Raises OSError if that cannot be told: a disk that fails for a moment costs no rebuild.
        """
        try:
            found = os.stat(self.path)  # noqa: PTH116  half the time
        except (FileNotFoundError, NotADirectoryError):
            return False
        return found.st_size > 0 and os.path.samestat(self._file, found)

    def require_in_place(self) -> None:
        """Raise StoreCorrupt unless `is_in_place`, and CannotWrite if that cannot be told."""
        with named_errors(self.path):
            if not self.is_in_place:
                raise _taken_away(self.path)

    def rest(self) -> None:
        """Close every idle connection; the next use opens new ones."""
        self._close_readers()
        if self._write_lock.acquire(blocking=False):  # else it is not idle
            try:
                self._close_writer()
            finally:
                self._write_lock.release()

    def close(self, *, keeps_log: bool = False) -> None:
        """Close all connections; with `keeps_log`, as for a damaged file, without a checkpoint."""
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
            self.require_in_place()
            self._writer = connect(self.path)
        return self._writer

    def _close_readers(self) -> None:
        with suppress(IndexError):
            while True:
                self._readers.pop().close()

    def unload(self) -> None:
        """Free the vectors in memory, too; the next query reads them again."""
        for index in self.indexes.values():
            index.unload()
        self.rest()

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Yield a connection, for one thread, whose queries all see the same commit."""
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
        if len(self._readers) < MAX_IDLE_READERS and is_reusable(connection):
            self._readers.append(connection)
        else:
            connection.close()

    @contextmanager
    def writing(
        self, *, queued_at: int | None = None, at_hand: ReadyVectors = NO_READY_VECTORS
    ) -> Iterator[Write]:
        """Open a write transaction for the block; see `Write` for the arguments."""
        with self._write_lock:
            write = Write(
                self._opened_writer(),
                self.indexes,
                now=self._clock(),
                queued_at=queued_at,
                at_hand=at_hand,
            )
            with checkpoint_last(write.connection), write.committed():
                yield write

    # Sources

    def begin_source(self, name: str, *, root: Path, state_id: str, chunker: str = "") -> None:
        """Note that every row of `name` is to be rebuilt; each old row stays until it is.

        A new source has no old rows, so its builder version `chunker` is noted at once.
        """
        with self.writing() as write:
            write.connection.execute(
                "INSERT INTO sources VALUES (?, ?, ?, ?, NULL) ON CONFLICT DO UPDATE"
                " SET root = excluded.root, state_id = excluded.state_id, chunker = ''",
                (name, str(root), state_id, chunker),
            )

    def move_source(self, name: str, root: Path) -> None:
        """Note that the files of `name` lie in `root` now."""
        with self.writing() as write:
            write.connection.execute(
                "UPDATE sources SET root = ? WHERE name = ?", (str(root), name)
            )

    def forget_source(self, name: str) -> None:
        """Delete all that is known of `name`, and shrink the file."""
        with self.writing() as write:
            note_change(write)
            write.connection.execute("DELETE FROM files WHERE source = ?", (name,))
            write.connection.execute("DELETE FROM sources WHERE name = ?", (name,))
            self._delete_rows(write, name, None)
            write.connection.execute("DELETE FROM identity WHERE key = ?", (_rules_key(name),))
        with self._write_lock:
            give_back_free_pages(self._opened_writer())

    def source_state(self, name: str) -> SourceState | None:
        """Return what is known of `name`; `None` for a source that was never begun."""
        with self.reading() as connection:
            return known_sources(connection).get(name)

    def manifest(
        self, source: str, *, under: Iterable[str] | None = None
    ) -> dict[str, ManifestEntry]:
        """Return the known files of `source` by path: all, or those at and below paths `under`."""
        entries = (
            "SELECT path, size, mtime_ns, ctime_ns, fingerprint, status, reason FROM files"
            " WHERE source = ?1"
        )
        rows: list[Any] = []
        with self.reading() as connection:
            if under is None or "" in (under := set(under)):
                rows += connection.execute(entries, (source,)).fetchall()
            else:
                # '0' follows '/', so the range holds all paths that begin with the folder and '/'.
                # A query of its own, since an OR would scan every file.
                inside = "path > ?2 || '/' AND path < ?2 || '0'"
                part = f"{entries} AND path = ?2 UNION ALL {entries} AND {inside}"
                for path in under:
                    rows += connection.execute(part, (source, path)).fetchall()
        return {
            path: ManifestEntry((size, mtime_ns, ctime_ns), fingerprint, FileStatus(status), reason)
            for path, size, mtime_ns, ctime_ns, fingerprint, status, reason in rows
        }

    def paths(self, source: str) -> list[str]:
        """Return the paths of all known files of `source`."""
        with self.reading() as connection:
            return column(connection, "SELECT path FROM files WHERE source = ?", (source,))

    def rules_of(self, source: str) -> str:
        """Return the `outer_rules_digest` of the last complete scan of `source`; "" for none."""
        with self.reading() as connection:
            return read_identity(connection, _rules_key(source))

    def end_scan(self, source: str, *, chunker: str, rules: str) -> None:
        """Note that a complete scan by builder version `chunker`, of digest `rules`, has ended."""
        with self.writing() as write:
            write.connection.execute(
                "UPDATE sources SET scanned_at = ?, chunker = ? WHERE name = ?",
                (write.now, chunker, source),
            )
            write_identity(write.connection, _rules_key(source), rules)

    def touch(self, source: str, files: Mapping[str, ManifestEntry]) -> None:
        """Store new stamps of files with unchanged content, so that no later scan reads them."""
        with self.writing() as write:
            write.connection.executemany(
                "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, status = ?, reason = ?"
                " WHERE source = ? AND path = ?",
                [(*f.stamp, f.status, f.reason, source, path) for path, f in files.items()],
            )

    def fail(self, source: str, failures: Sequence[tuple[SourceFile, str]]) -> None:
        """Note which files could not be read, and why; their rows stay."""
        with self.writing() as write:
            write.connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, 0, 0, '', '', 'failed', ?, 0, ?)"
                " ON CONFLICT DO UPDATE SET status = 'failed', reason = excluded.reason",
                [(source, f.path, f.size, why, write.now) for f, why in failures],
            )

    # Documents

    def now(self) -> int:
        """Return the time in epoch ms, by the clock that stamps rows."""
        return self._clock()

    def write(
        self,
        documents: Iterable[Document],
        *,
        gone: Iterable[tuple[str, str]] = (),
        at_hand: ReadyVectors = NO_READY_VECTORS,
        queued_at: int | None = None,
    ) -> tuple[int, int]:
        """Delete the files `gone`, each a source and a path, and replace `documents`.

        One transaction; writing the same again changes nothing. Returns how many searchable rows
        were inserted and deleted. Rows without a vector `at_hand` are queued with `queued_at`
        (epoch ms, now by default); those with the same value are embedded in the order of writing.
        """
        with self.writing(queued_at=queued_at, at_hand=at_hand) as write:
            note_change(write)
            for file in gone:
                write.connection.execute("DELETE FROM files WHERE source = ? AND path = ?", file)
                self._delete_rows(write, *file)
            for document in documents:
                _put_file(write, document)
                if document.status is FileStatus.INDEXED:
                    self._replace_rows(write, document)
                else:
                    self._delete_rows(write, document.source, document.file.path)
        return write.indexed, write.deleted


def note_change(write: Write) -> None:
    """Increment FILES_VERSION, within a transaction that changes files."""
    write.connection.execute(
        "INSERT INTO identity VALUES (?, '1') ON CONFLICT DO UPDATE SET value = value + 1",
        (FILES_VERSION,),
    )


def _rules_key(source: str) -> str:
    return f"rules of {source}"


def _put_file(write: Write, document: Document) -> None:
    file = document.file
    write.connection.execute(
        "REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(document.source, file.path, file.size, file.mtime_ns, file.ctime_ns),
            *(document.fingerprint, document.language, document.status, document.reason),
            *(len(document.embedded_texts), write.now),
        ),
    )


def _taken_away(path: Path) -> StoreCorrupt:
    hint = "the next search makes it again from the files"
    return StoreCorrupt(f"{path} was deleted or replaced", hint=hint, path=path)
