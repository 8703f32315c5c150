"""What one transaction of a derived database does to rows, their words and their vectors.

A row, its words and a vector that is known already come in the same transaction, so that a reader
sees all of them or none; every kind of vector that is made with the words belongs in `index_row`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import apsw
import numpy as np

from memory_sidecar.core.sqlite import integers, transaction
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.vectors import Vector, VectorIndex, raise_vector_version

NO_VECTORS: Final[Mapping[str, Vector]] = MappingProxyType({})


class Write:
    """One transaction: what is written in the block of `committed`."""

    def __init__(
        self,
        connection: apsw.Connection,
        indexes: Mapping[Corpus, VectorIndex],
        *,
        now: int,
        queued_at: int | None = None,
        known: Mapping[str, Vector] = NO_VECTORS,
    ) -> None:
        """`indexes` follow what it commits. `known` are vectors at hand, by their text.

        `now` and `queued_at`, by which rows wait for their vectors, are epoch ms.
        """
        self.connection = connection
        self.now = now
        self._queued_at = now if queued_at is None else queued_at
        self._known = known
        self._indexes = indexes
        self.indexed = 0
        self.removed: dict[Corpus, list[int]] = {corpus: [] for corpus in indexes}
        self.added: dict[Corpus, list[tuple[int, bytes]]] = {corpus: [] for corpus in indexes}

    def index_row(self, corpus: Corpus, row_id: int, words: Sequence[str], text: str) -> None:
        """Have a row found by `words`, one text for each column, and by the vector of `text`.

        Where that vector is not known, the row joins the queue.
        """
        values = ", ".join("?" * (1 + len(words)))
        self.connection.execute(
            f"INSERT INTO {corpus.words} (rowid, {', '.join(corpus.columns)}) VALUES ({values})",
            (row_id, *words),
        )
        vector = self._known.get(text)
        if vector is None:
            self.connection.execute(
                f"INSERT INTO {corpus.pending} VALUES (?, ?)", (row_id, self._queued_at)
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

    @contextmanager
    def committed(self) -> Iterator[None]:
        """All of the block is committed, or none; the vector indexes follow as soon as it is."""
        versions = {}
        try:
            with transaction(self.connection) as connection:
                yield
                for corpus, index in self._indexes.items():
                    if self.removed[corpus] or self.added[corpus]:
                        versions[corpus] = raise_vector_version(connection, corpus)
                        index.expect(versions[corpus])
        except BaseException:
            for corpus in versions:
                self._indexes[corpus].expect(None)
            raise
        for corpus, version in versions.items():
            self._indexes[corpus].apply(
                version=version, removed=self.removed[corpus], added=self.added[corpus]
            )
