"""Which file every chunk belongs to, in memory: what a filter and a ranking ask of thousands.

It follows the database by the ids of the chunks, which only grow: each reader adds what its
snapshot has beyond the last one known. Chunks that were deleted since stay in it, so it tells
where a chunk lies, not whether there still is one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from memory_sidecar.index.vectors import Ids

Mask = npt.NDArray[np.bool_]
FileNumbers = npt.NDArray[np.int32]

MOSTLY_DELETED = 2  # times as many known as there are: begin anew
_FIRST_CAPACITY = 1024


class ChunkFile(NamedTuple):
    """A file that has chunks."""

    source: str
    path: str
    language: str


@dataclass(frozen=True, slots=True)
class Directory:
    """The chunks that a snapshot has, with some that were deleted before, and their files."""

    ids: Ids  # ascending
    file_numbers: FileNumbers  # of the file of each chunk, in `files`
    files: Sequence[ChunkFile]  # append-only, and may have more than these chunks need

    def numbers_of(self, ids: Ids) -> FileNumbers:
        """The number of the file of each of `ids`, all of which are known."""
        return self.file_numbers[np.searchsorted(self.ids, ids)]

    def chunks_in(self, wanted: Callable[[ChunkFile], bool]) -> Ids:
        """Ids, ascending, of the chunks of those files that are `wanted`."""
        chosen = np.fromiter(map(wanted, self.files), np.bool_)
        return self.ids[chosen[self.file_numbers]]


class ChunkDirectory:
    """Keeps a `Directory` up to date. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._count = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._file_numbers: FileNumbers = np.empty(0, np.int32)
        self._files: list[ChunkFile] = []
        self._numbers: dict[ChunkFile, int] = {}

    def read(self, connection: apsw.Connection) -> Directory:
        """For the snapshot of `connection`."""
        with self._lock:
            last = int(self._ids[self._count - 1]) if self._count else 0
            newest: Any = connection.execute("SELECT coalesce(max(id), 0) FROM code_chunks").get
            if newest > last:
                self._add(connection, last)
                self._forget_deleted(connection)
            # Another reader's snapshot may have had more.
            end = int(np.searchsorted(self._ids[: self._count], newest, side="right"))
            return Directory(self._ids[:end], self._file_numbers[:end], self._files)

    def unload(self) -> None:
        """Give the memory back; the next reader reads all chunks again."""
        with self._lock:
            self._clear()

    def _add(self, connection: apsw.Connection, last: int) -> None:
        more: Any = connection.execute("SELECT count(*) FROM code_chunks WHERE id > ?", (last,)).get
        self._reserve(self._count + more)
        for chunk_id, *file in connection.execute(
            "SELECT id, source, filename, language FROM code_chunks WHERE id > ? ORDER BY id",
            (last,),
        ):
            self._ids[self._count] = chunk_id
            self._file_numbers[self._count] = self._number(ChunkFile(*file))
            self._count += 1

    def _forget_deleted(self, connection: apsw.Connection) -> None:
        """Begin anew once most of what is known is gone."""
        rows: Any = connection.execute("SELECT count(*) FROM code_chunks").get
        if self._count > MOSTLY_DELETED * (rows + _FIRST_CAPACITY):
            self._clear()
            self._add(connection, 0)

    def _number(self, file: ChunkFile) -> int:
        number = self._numbers.setdefault(file, len(self._files))
        if number == len(self._files):
            self._files.append(file)
        return number

    def _reserve(self, rows: int) -> None:
        """Make room in new arrays: readers may be using the old ones."""
        if rows > len(self._ids):
            capacity = max(rows, len(self._ids) * 5 // 4, _FIRST_CAPACITY)
            self._ids = np.resize(self._ids, capacity)
            self._file_numbers = np.resize(self._file_numbers, capacity)
