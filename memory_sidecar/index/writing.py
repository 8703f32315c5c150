"""One write transaction of a derived database: rows, the words that find them, and their vectors.

A row is committed together with its words and with any vector that is already available, so that a
reader sees all of them or none. A new kind of vector that is made with the words belongs in
`Write.index_row`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from memory_sidecar.core.model import Findable
from memory_sidecar.core.sqlite import column, transaction
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.vectors import (
    Vector,
    VectorIndex,
    VectorTable,
    blob_of,
    raise_vector_version,
)


@dataclass(frozen=True, slots=True)
class ReadyVectors:
    """Vectors that can be stored without running the model, by the text that they stand for."""

    known: Mapping[str, Vector] = field(default_factory=dict)  # made by the model earlier
    static: Mapping[str, Floats] = field(default_factory=dict)  # 256 floats each, of unit length


NO_READY_VECTORS: Final = ReadyVectors()
LONG_LOG_PAGES: Final = 1000  # length of the log that causes a checkpoint: SQLite's default
QUEUED_LAST: Final = 0  # the `queued_at` that sorts last: the queue is read newest first


class Write:
    """A write transaction, open within the block of `committed`. The store hands it to its caller.

    `indexed` and `deleted` count the searchable rows that were inserted and deleted so far.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        indexes: Mapping[VectorTable, VectorIndex],
        *,
        now: int,
        queued_at: int | None,
        at_hand: ReadyVectors,
    ) -> None:
        """`indexes`: the in-memory indexes of all tables of vectors, updated after the commit.

        `now` (epoch ms) stamps what is written; `queued_at` (epoch ms) orders the queue of rows
        that wait for their vector, `now` by default.
        """
        self.connection = connection
        self.now = now
        self._queued_at = now if queued_at is None else queued_at
        self._at_hand = at_hand
        self._indexes = indexes
        self.indexed = 0
        self.deleted = 0
        self._removed: dict[VectorTable, list[int]] = defaultdict(list)
        self._added: dict[VectorTable, list[tuple[int, bytes]]] = defaultdict(list)

    def index_row(self, corpus: Corpus, found: Findable, *, can_wait: bool = False) -> None:
        """Index the words and the vectors of the row that this connection inserted last.

        Without a known vector the row joins the queue of its corpus, at the very end if `can_wait`.
        """
        row_id, text = self.connection.last_insert_rowid(), found.text
        values = ", ".join("?" * (1 + len(found.words)))
        self.connection.execute(
            f"INSERT INTO {corpus.words} (rowid, {', '.join(corpus.columns)}) VALUES ({values})",
            (row_id, *found.words),
        )
        static = self._at_hand.static.get(text)
        if corpus.static_table is not None:
            if static is not None:
                self.put_vector(corpus.static_table, row_id, static)
            else:  # `adopt_static` makes it as soon as there is a table
                self.connection.execute("DELETE FROM identity WHERE key = 'static'")
        vector = self._at_hand.known.get(text)
        if vector is None:
            self.connection.execute(
                f"INSERT INTO {corpus.pending} VALUES (?, ?)",
                (row_id, QUEUED_LAST if can_wait else self._queued_at),
            )
        else:
            self.put_vector(corpus.vector_table, row_id, vector)
        self.indexed += 1

    def queue_again(self, corpus: Corpus, ids: Iterable[int]) -> None:
        """Move those of the rows `ids` that wait for a vector to the front, unless queued last."""
        self.connection.executemany(
            f"UPDATE {corpus.pending} SET queued_at = ?"
            f" WHERE id = ? AND queued_at <> {QUEUED_LAST}",
            [(self._queued_at, row_id) for row_id in ids],
        )

    @property
    def brings_static(self) -> bool:
        """Whether this transaction has static vectors for the rows it indexes."""
        return bool(self._at_hand.static)

    def put_vector(self, table: VectorTable, row_id: int, vector: Floats) -> None:
        """Store the unit vector of a row that has none in `table` yet."""
        blob = blob_of(vector, table)
        self.connection.execute(f"INSERT INTO {table.name} VALUES (?, ?)", (row_id, blob))
        self._added[table].append((row_id, blob))

    def clear_vectors(self, table: VectorTable) -> None:
        """Delete every vector in `table`."""
        self._removed[table] += column(self.connection, f"SELECT id FROM {table.name}")
        self.connection.execute(f"DELETE FROM {table.name}")

    def delete_rows(self, corpus: Corpus, condition: str, values: Sequence[Any]) -> None:
        """Delete the rows for which the SQL `condition` holds, with their words and vectors."""
        chosen = f"SELECT id FROM {corpus.rows} WHERE {condition}"
        if not (ids := column(self.connection, chosen, values)):
            return
        gone = apsw.carray(array("q", ids))
        # One statement for all: after each, FTS5 writes what it changed, ten times the work.
        self.connection.execute(f"DELETE FROM {corpus.words} WHERE rowid IN carray(?)", (gone,))
        for table in corpus.vector_tables:
            self.connection.execute(f"DELETE FROM {table.name} WHERE id IN carray(?)", (gone,))
            self._removed[table] += ids
        # The foreign key of the queue's table deletes what waits there.
        self.connection.execute(f"DELETE FROM {corpus.rows} WHERE id IN carray(?)", (gone,))
        self.deleted += len(ids)

    @contextmanager
    def committed(self) -> Iterator[None]:
        """Commit all of the block or nothing of it, then update the vector indexes."""
        versions = {}
        try:
            with transaction(self.connection) as connection:
                yield
                for table, index in self._indexes.items():
                    if self._removed[table] or self._added[table]:
                        versions[table] = raise_vector_version(connection, table)
                        index.expect(versions[table])
        except BaseException:
            for table in versions:
                self._indexes[table].expect(None)
            raise
        for table, version in versions.items():
            self._indexes[table].apply(
                version=version, removed=self._removed[table], added=self._added[table]
            )


@contextmanager
def checkpoint_last(connection: apsw.Connection) -> Iterator[None]:
    """Make the checkpoint of a long log after the block, instead of within its COMMIT.

    A checkpoint may take 100 ms. Within COMMIT, readers would wait for it: they see the commit
    already, but the vectors are handed over only after COMMIT.
    """
    length = 0

    def note_length(_connection: apsw.Connection, _name: str, pages: int) -> int:
        nonlocal length
        length = pages
        return apsw.SQLITE_OK

    connection.set_wal_hook(note_length)
    try:
        yield
    finally:
        connection.wal_autocheckpoint(LONG_LOG_PAGES)  # in place of the hook
    if length >= LONG_LOG_PAGES:
        with suppress(apsw.Error):  # as SQLite does: the next one tries again
            connection.wal_checkpoint()
