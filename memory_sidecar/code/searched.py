"""What a search asks of the rows that it searches, and SQLite's answers.

`Searched` is the seam: the chunks of one commit that may be hits. A team's database answers the
same questions in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from memory_sidecar.code.directory import ChunkDirectory, ChunkFile, FileNumbers, allowed_chunks
from memory_sidecar.code.history import File, Lent, lent_by_history
from memory_sidecar.code.lookup import (
    Names,
    StoredChunk,
    chunks_saying,
    chunks_with_words,
    count_chunk_vectors,
    named_chunks,
    read_around,
    read_chunks,
    read_symbols,
)
from memory_sidecar.code.nearly import FindWords, ReadChunks, meant_by
from memory_sidecar.code.places import Line
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Arm, Scores, VectorArm, among
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import Keywords, keyword_scores, keyword_share, keywords_of
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.vectors import VectorIndex, stored_vector

KEYWORD_DEPTH = 1000  # rows of which the keyword share is known


class Judging(Protocol):
    """An arm, asked."""

    def best(self, depth: int) -> Ids:
        """The rows it finds best, `depth` at most."""

    def scores_of(self, wanted: Ids) -> Scores:
        """What it says of each of `wanted`, (n,); NaN where it has no opinion."""


Nearest = Callable[[Floats, int], Judging]
"""The arm of a unit vector, which has found so many of the best rows. Any thread may ask."""


class Searched(Protocol):
    """The chunks of one commit that satisfy a filter. Ids mean the same to every method."""

    def keywords(self, text: str) -> Keywords:
        """The words of a question, weighed."""

    def by_words(self, keywords: Keywords) -> Judging:
        """The keyword arm: BM25 as a share that saturates."""

    def by_vectors(self) -> Nearest:
        """The model's vectors."""

    def by_static(self) -> Nearest:
        """The static vectors."""

    def chunk_at(self, at: Line) -> int | None:
        """The chunk that holds that line, which need not satisfy the filter."""

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        """That of the model, or the static one, if the chunk has it."""

    def named(self, names: Names) -> Sequence[int]:
        """Those that may define or hold one of `names`."""

    def meant(self, names: Names) -> tuple[Names, Sequence[int]]:
        """`names` with what those may mean that nothing defines, and chunks: see `meant_by`."""

    def saying(self, text: str) -> Sequence[int]:
        """Those that hold the words of `text` in a row: see `chunks_saying`."""

    def placed(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        """Files, more than are needed, and the number of the file of each of `ids`."""

    def symbols(self, ids: Sequence[int]) -> Mapping[int, tuple[list[str], str]]:
        """As `read_symbols`."""

    def lent(self, text: str) -> Mapping[File, Lent]:
        """What commits that say the like of `text` lend to files."""

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        """The chunks with these ids."""

    def around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        """As `read_around`."""

    def vector_counts(self) -> VectorCounts:
        """How far the vectors of the sources asked for are, whatever else is filtered."""


class LocalRows:
    """The rows of a snapshot of `codebase.sqlite`."""

    def __init__(self, connection: Connection, store: CodeStore, wanted: CodeFilter) -> None:
        self.connection = connection
        self._store = store
        self._wanted = wanted
        self._directory = store.directory.read(connection)
        self.allowed = allowed_chunks(connection, self._directory, wanted)

    def vector_counts(self) -> VectorCounts:
        return count_chunk_vectors(self.connection, self._directory, self._wanted.sources)

    def keywords(self, text: str) -> Keywords:
        return keywords_of(self.connection, CHUNKS, text)

    def by_words(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CHUNKS, keywords, limit=limit)
        return Arm.of(ids, keyword_share(bm25), self.allowed)

    def by_vectors(self) -> Nearest:
        return self._nearest(self._store.vectors[CHUNKS])

    def by_static(self) -> Nearest:
        return self._nearest(self._store.static[CHUNKS])

    def _nearest(self, index: VectorIndex) -> Nearest:
        view = index.view(self.connection)
        return lambda query, depth: VectorArm(view, query, self.allowed, depth)

    def chunk_at(self, at: Line) -> int | None:
        found: int | None = self.connection.execute(
            "SELECT id FROM code_chunks WHERE source = ? AND filename = ?"
            " AND start_line <= ? AND end_line >= ?",
            (at.source, at.path, at.line, at.line),
        ).get
        return found

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        index = (self._store.static if static else self._store.vectors)[CHUNKS]
        return stored_vector(self.connection, index.table, chunk_id)

    def named(self, names: Names) -> Sequence[int]:
        return self._allowed(named_chunks(self.connection, names, self._directory))

    def meant(self, names: Names) -> tuple[Names, Sequence[int]]:
        return self.meant_in(names, find=self.with_words, read=self.read)

    def meant_in(
        self, names: Names, *, find: FindWords, read: ReadChunks
    ) -> tuple[Names, Sequence[int]]:
        """`meant`, by the names that are defined here and the chunks that `find` finds."""
        return meant_by(self.connection, names, self._wanted.sources, find=find, read=read)

    def with_words(self, words: str, limit: int) -> Sequence[int]:
        """Those whose text holds `words` in a row, `limit` at most."""
        return self._allowed(chunks_with_words(self.connection, words, limit=limit))

    def saying(self, text: str) -> Sequence[int]:
        return self._allowed(chunks_saying(self.connection, text))

    def _allowed(self, ids: Sequence[int]) -> Sequence[int]:
        found = np.array(ids, np.int64)
        kept: list[int] = found[among(found, self.allowed)].tolist()
        return kept

    def placed(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        numbers = self._directory.numbers_of(ids)
        if numbers is None:
            self._directory = ChunkDirectory().read(self.connection)
            numbers = self._directory.numbers_of(ids)
            assert numbers is not None
        return self._directory.files, numbers

    def symbols(self, ids: Sequence[int]) -> Mapping[int, tuple[list[str], str]]:
        return read_symbols(self.connection, ids)

    def lent(self, text: str) -> Mapping[File, Lent]:
        return lent_by_history(self.connection, text, self._wanted.sources)

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        return read_chunks(self.connection, ids)

    def around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        return read_around(self.connection, stored, lines=lines)
