"""What one transaction of a derived database does to rows, their words and their vectors.

A row, its words and a vector that is known already come in the same transaction, so that a reader
sees all of them or none; every kind of vector that is made with the words belongs in `index_row`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import apsw

from memory_sidecar.core.model import Findable
from memory_sidecar.core.sqlite import column, transaction
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.schema import Corpus, VectorTable
from memory_sidecar.index.vectors import Vector, VectorIndex, blob_of, raise_vector_version


@dataclass(frozen=True, slots=True)
class AtHand:
    """Vectors that need no model to be run, by their text."""

    known: Mapping[str, Vector] = field(default_factory=dict)  # the model's, made before
    static: Mapping[str, Floats] = field(default_factory=dict)  # of 256 floats, of unit length


NONE_AT_HAND: Final = AtHand()
LAST: Final = 0  # in the queue, which begins with what came latest


class Write:
    """One transaction: what is written in the block of `committed`."""

    def __init__(
        self,
        connection: apsw.Connection,
        indexes: Iterable[VectorIndex],
        *,
        now: int,
        queued_at: int | None,
        at_hand: AtHand,
    ) -> None:
        """`indexes` follow what it commits.

        `now` and `queued_at`, by which rows wait for their vectors, are epoch ms.
        """
        self.connection = connection
        self.now = now
        self._queued_at = now if queued_at is None else queued_at
        self._at_hand = at_hand
        self._indexes = {index.table: index for index in indexes}
        self.indexed = 0
        self.deleted = 0
        self._removed: dict[VectorTable, list[int]] = {table: [] for table in self._indexes}
        self._added: dict[VectorTable, list[tuple[int, bytes]]] = {
            table: [] for table in self._indexes
        }

    def index_row(self, corpus: Corpus, found: Findable, *, can_wait: bool = False) -> None:
        """Have the row that was inserted last `found`.

        Where its vector of the model is not known, it joins the queue, at its end if it `can_wait`.
        """
        row_id, text = self.connection.last_insert_rowid(), found.text
        values = ", ".join("?" * (1 + len(found.words)))
        self.connection.execute(
            f"INSERT INTO {corpus.words} (rowid, {', '.join(corpus.columns)}) VALUES ({values})",
            (row_id, *found.words),
        )
        static = self._at_hand.static.get(text)
        if static is not None and corpus.static_table is not None:
            self.put_vector(corpus.static_table, row_id, static)
        vector = self._at_hand.known.get(text)
        if vector is None:
            self.connection.execute(
                f"INSERT INTO {corpus.pending} VALUES (?, ?)",
                (row_id, LAST if can_wait else self._queued_at),
            )
        else:
            self.put_vector(corpus.vector_table, row_id, vector)
        self.indexed += 1

    def queue_again(self, corpus: Corpus, ids: Iterable[int]) -> None:
        """Queue those of the rows `ids` that wait for a vector as if they were new."""
        self.connection.executemany(
            f"UPDATE {corpus.pending} SET queued_at = ? WHERE id = ? AND queued_at <> {LAST}",
            [(self._queued_at, row_id) for row_id in ids],
        )

    @property
    def brings_static(self) -> bool:
        """Whether rows come with static vectors now."""
        return bool(self._at_hand.static)

    def put_vector(self, table: VectorTable, row_id: int, vector: Floats) -> None:
        """Give a row, which has none in `table`, this unit vector."""
        blob = blob_of(vector, table)
        self.connection.execute(f"INSERT INTO {table.name} VALUES (?, ?)", (row_id, blob))
        self._added[table].append((row_id, blob))

    def clear_vectors(self, table: VectorTable) -> None:
        """Take the vectors in `table` from all rows."""
        self._removed[table] += column(self.connection, f"SELECT id FROM {table.name}")
        self.connection.execute(f"DELETE FROM {table.name}")

    def delete_rows(self, corpus: Corpus, condition: str, values: Sequence[Any]) -> None:
        """Delete the rows that satisfy `condition`, and what finds them."""
        chosen = f"SELECT id FROM {corpus.rows} WHERE {condition}"
        ids = [(row_id,) for row_id in column(self.connection, chosen, values)]
        if ids:
            self.connection.executemany(f"DELETE FROM {corpus.words} WHERE rowid = ?", ids)
            for table in corpus.vector_tables:
                self.connection.executemany(f"DELETE FROM {table.name} WHERE id = ?", ids)
                self._removed[table] += [row_id for (row_id,) in ids]
            # The row in the queue goes with its row here, by its foreign key.
            self.connection.execute(f"DELETE FROM {corpus.rows} WHERE {condition}", values)
            self.deleted += len(ids)

    @contextmanager
    def committed(self) -> Iterator[None]:
        """All of the block is committed, or none; the vector indexes follow as soon as it is."""
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
