"""The vector arm: every vector of a corpus in memory, eight bits a dimension.

The vec0 table (sqlite-vec, 32-bit floats) is where vectors last; this is what a query reads. A
scan of 26,000 rows takes 2 ms here against 20 ms there, in a quarter of the floats' memory, and
gives the cosine of any row besides, not of the nearest alone. The rounding moves a cosine by
less than 0.004.

The index follows the table by its vector version: a number that every transaction which
changes vectors raises. Writers of this process say which one comes and hand over what they changed;
after anyone else's change the index reads the table again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from memory_sidecar.sqlite import integers
from memory_sidecar.store.corpus import Corpus

DIMENSION = 384
_QUERY_STEPS = 255
_HAND_OVER_S = 1.0  # what a writer takes at most between its commit and handing over
_BLOCK_ROWS = 1024  # 1.5 MB of floats: a block stays in the cache while it is multiplied

Vector = npt.NDArray[np.float32]
"""Of one text: 384 floats, of unit length."""

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class VectorIndex:
    """Cosine similarity of a query to every row of `corpus`. Safe to use from several threads."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._lock = threading.Lock()
        self._handed_over = threading.Condition(self._lock)
        self._coming: int | None = None  # the version that a writer of this process is committing
        self._version = -1
        self._count = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._codes: npt.NDArray[np.int8] = np.empty((0, DIMENSION), np.int8)
        self._scales: Floats = np.empty(0, np.float32)
        self._order: Ids | None = None  # of the ids; found again when they have changed

    @property
    def version(self) -> int:
        """The database's vector version that this index has caught up with."""
        return self._version

    def cosines(self, query: Floats, connection: apsw.Connection) -> tuple[Ids, Floats]:
        """Ids (n,) and cosines (n,) of all rows with a vector, by ascending id.

        `query` is a unit vector of 384 floats; `connection` is where to read from if the index
        is behind what that connection sees.
        """
        self.catch_up(connection)
        return self.scan(query)

    def catch_up(self, connection: apsw.Connection) -> None:
        """Know at least the vectors that `connection` sees."""
        with self._lock:
            self._catch_up(connection)

    def scan(self, query: Floats) -> tuple[Ids, Floats]:
        """As `cosines`, for whoever has caught up before: nothing is read."""
        # In whole numbers whose sums stay below 2^24 every float on the way is exact, and a cosine
        # the same to the last bit wherever its row lies: 384 * 127 * 255 < 2^24.
        step = np.float32(max(float(np.abs(query).max()), 1e-12) / _QUERY_STEPS)
        whole = np.rint(query / step).astype(np.float32)
        with self._lock:
            count = self._count
            scores = np.empty(count, np.float32)
            floats = np.empty((min(_BLOCK_ROWS, count), DIMENSION), np.float32)
            for start in range(0, count, _BLOCK_ROWS):
                end = min(start + _BLOCK_ROWS, count)
                block = floats[: end - start]
                np.copyto(block, self._codes[start:end])
                np.dot(block, whole, out=scores[start:end])
            scores *= self._scales[:count] * step
            if self._order is None:
                self._order = np.argsort(self._ids[:count])
            return self._ids[self._order], scores[self._order]

    def expect(self, version: int | None) -> None:
        """Hear, before the commit, which version `apply` will bring; `None` if it failed.

        A reader that sees the commit before that waits for it rather than read the whole table.
        """
        with self._lock:
            self._coming = version
            self._handed_over.notify_all()

    def apply(
        self, *, version: int, removed: Iterable[int], added: Sequence[tuple[int, bytes]]
    ) -> None:
        """Follow one committed transaction that raised the version to `version` by one."""
        with self._lock:
            self._coming = None
            self._handed_over.notify_all()
            if version != self._version + 1:
                return  # something came between: the next query reads the table
            self._remove(np.array(list(removed), np.int64))
            if added:
                vectors = np.frombuffer(b"".join(vector for _, vector in added), np.float32)
                ids = np.fromiter((row_id for row_id, _ in added), np.int64, len(added))
                self._append(ids, vectors.reshape(-1, DIMENSION))
            self._version = version

    def unload(self) -> None:
        """Give the memory back; the next query reads the table again."""
        with self._lock:
            self.__init__(self._corpus)  # type: ignore[misc]

    def _catch_up(self, connection: apsw.Connection) -> None:
        version = vector_version(connection, self._corpus)
        self._handed_over.wait_for(
            lambda: version <= self._version or version != self._coming, _HAND_OVER_S
        )
        if version <= self._version:
            return
        table = self._corpus.vectors
        (total,) = integers(connection.execute(f"SELECT count(*) FROM {table}_rowids"))
        self._count = 0
        self._reserve(total)
        batch: list[Any] = []
        for row in connection.execute(f"SELECT id, embedding FROM {table}"):
            batch.append(row)
            if len(batch) == _BLOCK_ROWS:
                self._append_rows(batch)
                batch.clear()
        self._append_rows(batch)
        self._version = version

    def _append_rows(self, rows: list[Any]) -> None:
        if rows:
            ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            floats = np.frombuffer(b"".join(row[1] for row in rows), np.float32)
            self._append(ids, floats.reshape(-1, DIMENSION))

    def _append(self, ids: Ids, vectors: Floats) -> None:
        start, end = self._count, self._count + len(ids)
        self._reserve(end)
        scales = np.maximum(np.abs(vectors).max(axis=1), 1e-12) / 127
        self._codes[start:end] = np.rint(vectors / scales[:, None])
        self._scales[start:end] = scales
        self._ids[start:end] = ids
        self._count = end
        self._order = None

    def _remove(self, removed: Ids) -> None:
        if not len(removed):
            return
        gone = np.isin(self._ids[: self._count], removed)
        kept = self._count - int(gone.sum())
        if kept == self._count:
            return
        # The last rows fill the holes: moving all that follow a hole would take milliseconds.
        holes, last = np.flatnonzero(gone[:kept]), kept + np.flatnonzero(~gone[kept:])
        for array in (self._ids, self._codes, self._scales):
            array[holes] = array[last]
        self._count = kept
        self._order = None

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._ids):
            return
        capacity = max(rows, len(self._ids) * 5 // 4, _BLOCK_ROWS)
        self._ids = np.resize(self._ids, capacity)
        self._scales = np.resize(self._scales, capacity)
        codes = np.empty((capacity, DIMENSION), np.int8)
        codes[: self._count] = self._codes[: self._count]
        self._codes = codes


def vector_version(connection: apsw.Connection, corpus: Corpus) -> int:
    """How many transactions have changed the vectors of `corpus`."""
    (version,) = integers(
        connection.execute(
            "SELECT CAST(value AS INT) FROM identity WHERE key = ?", (corpus.version_key,)
        )
    )
    return version


def raise_vector_version(connection: apsw.Connection, corpus: Corpus) -> int:
    """Count one more transaction that changes vectors; call inside of it. Returns the new one."""
    connection.execute("UPDATE identity SET value = value + 1 WHERE key = ?", (corpus.version_key,))
    return vector_version(connection, corpus)
