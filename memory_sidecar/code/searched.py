"""What a search asks of the rows that it searches, and SQLite's answers.

`Searched` is the seam: the chunks of one commit that may be hits. A team's database answers the
same questions in another way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from memory_sidecar.code.directory import (
    ChunkDirectory,
    ChunkFile,
    FileNumbers,
    Line,
    allowed_chunks,
)
from memory_sidecar.code.history import File, HistoryBoost, history_boosts
from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS, ReadChunks, message_phrase
from memory_sidecar.code.query_names import (
    FindPhrase,
    QueryNames,
    named_chunks,
    resolve_undefined,
)
from memory_sidecar.code.store import CHUNKS, CodeStore, StoredChunk, chunk_from_row
from memory_sidecar.core.model import CodeFilter
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.index.arms import Arm, Scores, VectorArm, among
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import (
    Keywords,
    keyword_scores,
    keyword_share,
    keywords_of,
    match_expression,
)
from memory_sidecar.index.report import VectorCounts, count_vectors, source_names
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
        """The chunk's vector of the model, or its static one, if it has that."""

    def named(self, names: QueryNames) -> Sequence[int]:
        """The chunks that may define or hold one of `names`."""

    def meant(self, names: QueryNames) -> tuple[QueryNames, Sequence[int]]:
        """What those of `names` mean that nothing defines, and where: see `resolve_undefined`."""

    def saying(self, text: str) -> Sequence[int]:
        """Those that hold the words of `text` in a row, as of an error message.

        None for a text of few words, or where so many hold it that it tells none of them.
        """

    def placed(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        """Files, more than are needed, and the number of the file of each of `ids`."""

    def symbols(self, ids: Sequence[int]) -> Mapping[int, tuple[list[str], str]]:
        """What the chunks with these ids define, and their scope; without those that are gone."""

    def history_boosts(self, text: str) -> Mapping[File, HistoryBoost]:
        """What commits whose messages are like `text` lend to files."""

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        """The chunks with these ids; those that are gone are left out."""

    def around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        """The text of the same file before and behind a chunk: so many lines, or a few more."""

    def vector_counts(self) -> VectorCounts:
        """How far the vectors of the sources asked for are, whatever else is filtered."""


class LocalRows:
    """The rows of a snapshot of `codebase.sqlite`."""

    def __init__(self, connection: Connection, store: CodeStore, wanted: CodeFilter) -> None:
        self.connection = connection
        self._store = store
        self.wanted = wanted
        self._directory = store.directory.read(connection)
        self.allowed = allowed_chunks(connection, self._directory, wanted)

    def vector_counts(self) -> VectorCounts:
        counts = count_vectors(self.connection, [CHUNKS])
        sources = self.wanted.sources
        if not sources or set(sources) >= set(source_names(self.connection)):
            return counts
        rows: Any = self.connection.execute(
            "SELECT coalesce(sum(chunks), 0) FROM files"
            " WHERE source IN (SELECT value FROM json_each(?))",
            (json.dumps(sources),),
        ).get
        pending: Any = 0
        if counts.pending:
            # To ask for the source of each takes a quarter of a query while 40,000 wait.
            pending = self.connection.execute(
                "SELECT coalesce(sum((SELECT count(*) FROM chunk_pending"
                " WHERE id BETWEEN value ->> 0 AND value ->> 1)), 0) FROM json_each(?)",
                (json.dumps(self._directory.runs_of(CodeFilter(sources=sources))),),
            ).get
        return VectorCounts(rows, pending)

    def keywords(self, text: str) -> Keywords:
        return keywords_of(self.connection, CHUNKS, text)

    def by_words(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CHUNKS, keywords, limit=limit)
        return Arm.of(ids, keyword_share(bm25, keywords.whole), self.allowed)

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

    def named(self, names: QueryNames) -> Sequence[int]:
        return self._allowed(named_chunks(self.connection, names, self._directory))

    def meant(self, names: QueryNames) -> tuple[QueryNames, Sequence[int]]:
        return self.meant_in(names, find=self.with_words, read=self.read)

    def meant_in(
        self, names: QueryNames, *, find: FindPhrase, read: ReadChunks
    ) -> tuple[QueryNames, Sequence[int]]:
        """`meant`, by the names that are defined here and the chunks that `find` finds."""
        return resolve_undefined(self.connection, names, self.wanted.sources, find=find, read=read)

    def with_words(self, words: str, limit: int) -> Sequence[int]:
        """The chunks whose text holds `words` in a row, at most `limit`."""
        return self._allowed(self._with_words(words, limit))

    def saying(self, text: str) -> Sequence[int]:
        words = message_phrase(text)
        ids = self._with_words(words, MAX_MESSAGE_CHUNKS + 1) if words else []
        return self._allowed(ids) if len(ids) <= MAX_MESSAGE_CHUNKS else []

    def _with_words(self, words: str, limit: int) -> Sequence[int]:
        """As `with_words`, of all chunks."""
        return column(
            self.connection,
            "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? LIMIT ?",
            (f"body : ({match_expression([words])})", limit),
        )

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
        # As one text: hundreds of rows would let go of Python's lock, and wait for it, as often.
        rows: Any = self.connection.execute(
            "SELECT json_group_array(json_array(id, symbols, scope)) FROM code_chunks"
            " WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        ).get
        return {chunk_id: (symbols.split(), scope) for chunk_id, symbols, scope in json.loads(rows)}

    def history_boosts(self, text: str) -> Mapping[File, HistoryBoost]:
        return history_boosts(self.connection, text, self.wanted.sources)

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        rows = self.connection.execute(
            "SELECT id, source, filename, language, start_line, end_line, code, symbols, scope,"
            " signature FROM code_chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return [
            StoredChunk(chunk_id, source, filename, language, chunk_from_row(rest))
            for chunk_id, source, filename, language, *rest in rows
        ]

    def around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        first, last = stored.chunk.start_line, stored.chunk.end_line
        rows: list[Any] = self.connection.execute(
            "SELECT start_line, code FROM code_chunks"
            " WHERE source = ? AND filename = ? AND end_line >= ? AND start_line <= ?"
            " ORDER BY start_line",
            (stored.source, stored.filename, first - lines, last + lines),
        ).fetchall()
        before = "".join(f"{code}\n" for start, code in rows if start < first)
        after = "".join(f"\n{code}" for start, code in rows if start > last)
        return before, after
