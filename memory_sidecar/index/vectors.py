"""The vector arms: every vector of a table in memory, eight bits a dimension.

The vec0 table (sqlite-vec, 32-bit floats) is where vectors last; this is what a query reads. A
scan of 26,000 rows takes 2 ms here against 20 ms there, in a quarter of the floats' memory, and
gives the cosine of any row besides, not of the nearest alone. The rounding moves a cosine by
less than 0.004.

The index follows the table by its vector version: a number that every transaction which
changes vectors raises. Writers of this process say which one comes and hand over what they changed;
after any other process's change the index reads the table again. What was changed last is
remembered, so that a reader sees the rows of its own commit while others are written.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from weakref import WeakSet

import apsw
import numpy as np
import numpy.typing as npt

from memory_sidecar.core.sqlite import integers
from memory_sidecar.index.schema import VectorTable

_QUERY_STEPS = 255
_HAND_OVER_S = 1.0  # what a writer takes at most between its commit and handing over
_CHANGES_KEPT = 8  # for a reader whose commit is some transactions old when it gets here
_ROWS_KEPT = 10_000  # of these changes together: 4 MB
_BLOCK_ROWS = 1024  # 1.5 MB of floats: a block stays in the cache while it is multiplied

Vector = npt.NDArray[np.float32]
"""Of one text: 384 floats, of unit length."""

EmbedQuery = Callable[[str], Vector]
"""The unit vector of a question, of as many floats as those that it is compared with."""

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int8]


class VectorIndex:
    """Cosine similarity of a query to every row of `table`. Safe to use from several threads."""

    def __init__(self, table: VectorTable) -> None:
        self.table = table
        self._lock = threading.Lock()
        self._handed_over = threading.Condition(self._lock)
        self._coming: int | None = None  # the version that a writer of this process is committing
        self._rows = _Rows(table.dimension)

    def cosines(self, query: Floats, connection: apsw.Connection) -> tuple[Ids, Floats]:
        """As `VectorView.cosines`, of what `connection` sees."""
        return self.view(connection).cosines(query)

    def view(self, connection: apsw.Connection) -> VectorView:
        """The vectors of the commit that `connection` sees, whatever is written afterwards."""
        with self._lock:
            version = vector_version(connection, self.table)
            self._handed_over.wait_for(
                lambda: version <= self._rows.version or version != self._coming, _HAND_OVER_S
            )
            if version > self._rows.version:
                self._rows = _Rows(self.table.dimension)  # not to have both in memory
                self._rows = _Rows.read(connection, self.table, version)
            rows = self._rows
            if not rows.remembers(version):
                rows = _Rows.read(connection, self.table, version)
            return VectorView(self._lock, rows, version)

    def expect(self, version: int | None) -> None:
        """Announce, before COMMIT, the version that `apply` will hand over (None: rolled back).

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
            if version == self._rows.version + 1:  # else the next query reads the table
                arrays = _arrays_of(added, self.table)
                self._rows.change(version, np.array(list(removed), np.int64), *arrays)

    def unload(self) -> None:
        """Give the memory back; the next query reads the table again."""
        with self._lock:
            self._rows = _Rows(self.table.dimension)


class VectorView:
    """The vectors of one commit."""

    def __init__(self, lock: threading.Lock, rows: _Rows, version: int) -> None:
        self._lock = lock
        self._rows = rows
        self.version = version
        rows.views.add(self)

    def cosines(self, query: Floats) -> tuple[Ids, Floats]:
        """Ids (n,) and cosines (n,) of all rows with a vector, by ascending id.

        `query` is a unit vector of as many floats as the table's. Any thread may ask.
        """
        with self._lock:
            return self._rows.cosines(query, self.version)


@dataclass(frozen=True, slots=True)
class _Change:
    """What one transaction did, to be undone for a reader of an earlier commit."""

    version: int  # that it led to
    added: Ids
    removed: Ids
    codes: Codes  # of what was removed
    scales: Floats


class _Rows:
    """The vectors of one version, and what led there lately. The caller holds the lock."""

    def __init__(self, dimension: int, version: int = -1, capacity: int = 0) -> None:
        self.version = version
        self._dimension = dimension
        self.views: WeakSet[VectorView] = WeakSet()
        self._changes: deque[_Change] = deque()
        self._count = 0
        self._ids: Ids = np.empty(capacity, np.int64)
        self._codes: Codes = np.empty((capacity, dimension), np.int8)
        self._scales: Floats = np.empty(capacity, np.float32)
        self._order: Ids | None = None  # of the ids; found again when they have changed

    @classmethod
    def read(cls, connection: apsw.Connection, table: VectorTable, version: int) -> _Rows:
        counted = table.name if table.is_coded else f"{table.name}_rowids"
        (total,) = integers(connection.execute(f"SELECT count(*) FROM {counted}"))
        rows = cls(table.dimension, version, total)
        batch: list[tuple[int, bytes]] = []
        for row_id, embedding in connection.execute(f"SELECT id, embedding FROM {table.name}"):
            batch.append((row_id, embedding))
            if len(batch) == _BLOCK_ROWS:
                rows._append(*_arrays_of(batch, table))
                batch.clear()
        rows._append(*_arrays_of(batch, table))
        return rows

    def remembers(self, version: int) -> bool:
        """Whether it is known what the rows were at `version`."""
        return version >= self.version - len(self._changes)

    def change(self, version: int, removed: Ids, ids: Ids, vectors: Floats) -> None:
        """Follow one transaction."""
        gone = np.flatnonzero(np.isin(self._ids[: self._count], removed))
        self._changes.append(
            _Change(version, ids, self._ids[gone], self._codes[gone], self._scales[gone])
        )
        self._remove(gone)
        self._append(ids, vectors)
        self.version = version
        self._forget_changes()

    def cosines(self, query: Floats, version: int) -> tuple[Ids, Floats]:
        """Ids, ascending, and cosines of the rows that there were at `version`."""
        whole, step = _whole_numbers(query)
        ids = self._ids[: self._count]
        scores = _products(self._codes[: self._count], whole) * (self._scales[: self._count] * step)
        if version == self.version:
            if self._order is None:
                self._order = np.argsort(ids)
            return ids[self._order], scores[self._order]
        for change in reversed(self._changes):
            if change.version <= version:
                break
            kept = ~np.isin(ids, change.added)
            undone = _products(change.codes, whole) * (change.scales * step)
            ids = np.concatenate([ids[kept], change.removed])
            scores = np.concatenate([scores[kept], undone])
        order = np.argsort(ids)
        return ids[order], scores[order]

    def _forget_changes(self) -> None:
        """But those that a view still needs, and the last few."""
        needed = min((view.version for view in self.views), default=self.version)
        rows = sum(len(change.removed) for change in self._changes)
        while self._changes and self._changes[0].version <= needed:
            if len(self._changes) <= _CHANGES_KEPT and rows <= _ROWS_KEPT:
                break
            rows -= len(self._changes.popleft().removed)

    def _append(self, ids: Ids, vectors: Floats) -> None:
        start, end = self._count, self._count + len(ids)
        self._reserve(end)
        scales = np.maximum(np.abs(vectors).max(axis=1, initial=0), 1e-12) / 127
        self._codes[start:end] = np.rint(vectors / scales[:, None])
        self._scales[start:end] = scales
        self._ids[start:end] = ids
        self._count = end
        self._order = None

    def _remove(self, gone: Ids) -> None:
        """The last rows fill the holes: moving all that follow a hole would take milliseconds."""
        kept = self._count - len(gone)
        stays = np.ones(self._count - kept, np.bool_)
        stays[gone[gone >= kept] - kept] = False
        holes, last = gone[gone < kept], kept + np.flatnonzero(stays)
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
        codes = np.empty((capacity, self._dimension), np.int8)
        codes[: self._count] = self._codes[: self._count]
        self._codes = codes


def _arrays_of(rows: Sequence[tuple[int, bytes]], table: VectorTable) -> tuple[Ids, Floats]:
    """Ids (n,) and vectors (n, dimension)."""
    ids = np.fromiter((row_id for row_id, _ in rows), np.int64, len(rows))
    blobs = b"".join(vector for _, vector in rows)
    if not table.is_coded:
        return ids, np.frombuffer(blobs, np.float32).reshape(-1, table.dimension)
    codes = np.frombuffer(blobs, np.int8).reshape(-1, table.dimension).astype(np.float32)
    return ids, codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1)


def blob_of(vector: Floats, table: VectorTable) -> bytes:
    """How `table` keeps a unit vector."""
    if not table.is_coded:
        return vector.astype(np.float32).tobytes()
    step = max(float(np.abs(vector).max()), 1e-12) / 127
    codes: Codes = np.rint(vector / step).astype(np.int8)
    return codes.tobytes()


def _whole_numbers(query: Floats) -> tuple[Floats, np.float32]:
    """`query` in steps, as whole numbers whose products with codes add up to less than 2^24.

    So every float on the way is exact, and a cosine the same to the last bit wherever its row
    lies: 384 * 127 * 255 < 2^24.
    """
    step = np.float32(max(float(np.abs(query).max()), 1e-12) / _QUERY_STEPS)
    return np.rint(query / step).astype(np.float32), step


def _products(codes: Codes, whole: Floats) -> Floats:
    count = len(codes)
    products = np.empty(count, np.float32)
    floats = np.empty((min(_BLOCK_ROWS, count), codes.shape[1]), np.float32)
    for start in range(0, count, _BLOCK_ROWS):
        end = min(start + _BLOCK_ROWS, count)
        block = floats[: end - start]
        np.copyto(block, codes[start:end])
        np.dot(block, whole, out=products[start:end])
    return products


def vector_version(connection: apsw.Connection, table: VectorTable) -> int:
    """How many transactions have changed `table`."""
    (version,) = integers(
        connection.execute(
            "SELECT CAST(value AS INT) FROM identity WHERE key = ?", (table.version_key,)
        )
    )
    return version


def raise_vector_version(connection: apsw.Connection, table: VectorTable) -> int:
    """Count one more transaction that changes it; call inside of it. Returns the new version."""
    connection.execute("UPDATE identity SET value = value + 1 WHERE key = ?", (table.version_key,))
    return vector_version(connection, table)
