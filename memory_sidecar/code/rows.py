"""The chunks that one query searches: a protocol, and its implementation on `codebase.sqlite`.

`CodeRows` is the seam between ranking and storage: `code.search` knows no SQL, and `team.overlaid`
implements the same protocol over PostgreSQL and SQLite together.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from memory_sidecar.code.directory import ChunkDirectory, FileNumbers, Line, allowed_chunks
from memory_sidecar.code.history import FileKey, HistoryBoost, history_boosts
from memory_sidecar.code.model import ChunkFile, CodeFilter, file_filter
from memory_sidecar.code.query_names import DefinedNames, QueryNames
from memory_sidecar.code.store import CHUNKS, CodeStore, StoredChunk, chunk_from_row
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.disk.roots import NONE_DELETED, IsDeleted
from memory_sidecar.index.arms import Arm, Scores, VectorArm
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.ids import Among, mask_allowed
from memory_sidecar.index.keyword import (
    Keywords,
    Postings,
    keyword_scores,
    keyword_share,
    keywords_of,
    match_expression,
    read_postings,
)
from memory_sidecar.index.report import VectorCounts, count_vectors, known_sources
from memory_sidecar.index.vectors import VectorIndex, stored_vector
from memory_sidecar.index.words import index_words

KEYWORD_DEPTH = 1000  # best rows that the keyword arm knows; all rows if a filter is applied
MAX_CHUNKS_PER_NAME = 50
MAX_SYMBOL_ROWS = 5000  # chunks looked at whose symbols hold the words of a name: some 5 ms
MAX_PARTS = 16  # words of one name
_ALL = -1  # LIMIT -1 is no limit to SQLite


class SearchArm(Protocol):
    """One ranking of the rows for one query: by words, by static vectors or by the model's."""

    def best(self, depth: int) -> Ids:
        """Return the ids of the `depth` best rows, in any order."""

    def scores_of(self, wanted: Ids) -> Scores:
        """Return the score of each of `wanted`, (n,); NaN for rows that the arm does not know."""


VectorSearch = Callable[[Floats, int], SearchArm]
"""Searches by a unit vector, for this many of the best rows, in any thread. Returns the arm."""


class ChunkText(NamedTuple):
    """The text of a chunk, and its file, to be looked through and mostly not shown."""

    chunk_id: int
    filename: str
    code: str


class CodeRows(Protocol):
    """The chunks of one snapshot that satisfy a filter. All methods share the same ids."""

    is_deleted: IsDeleted  # asked of each chunk that is about to be shown
    defined_names: DefinedNames  # in all files of the filter's sources; no other filter applies

    def keywords(self, text: str, *, everywhere: bool = False) -> Keywords:
        """Return the words of a question with their idf in the filter's sources, or in all."""

    def keyword_arm(self, keywords: Keywords) -> SearchArm:
        """Return the keyword arm: the share that `keyword_share` makes of BM25."""

    def coverage_arm(self, keywords: Keywords) -> SearchArm:
        """Return the arm that scores by the share of the words' idf: quicker than BM25."""

    def chunks_by_word(self, keywords: Keywords) -> Mapping[str, Ids]:
        """Return, by stem, the chunks that hold each word: ascending, the filter not applied."""

    def vector_search(self, *, static: bool) -> VectorSearch:
        """Return the search by the vectors of the model, or by static ones."""

    def chunk_at(self, at: Line) -> int | None:
        """Return the id of the chunk that holds a line; it need not satisfy the filter."""

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        """Return a chunk's vector of the model, or its static one; None if it has none yet."""

    def named_chunks(self, names: QueryNames) -> Sequence[int]:
        """Return ids of chunks that define one of `names`, qualifiers aside, or lie at a path."""

    def paths_called(self, stem: str) -> Sequence[str]:
        """Return the paths of the files with this name, not counting what follows its first dot."""

    def phrase_chunks(self, words: str, limit: int) -> Sequence[int]:
        """Return the ids of at most `limit` chunks whose text holds `words` in a row."""

    def files_of(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        """Return a list of files, perhaps more than needed, and each id's place in it."""

    def symbols_of(self, ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        """Return what each chunk defines, as `split_symbols` takes it, and its scope."""

    def history_boosts(self, text: str) -> Mapping[FileKey, HistoryBoost]:
        """Return the boosts of files by the commits whose messages match `text`."""

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        """Return the chunks with these ids, in any order; deleted ones are left out."""

    def texts_of(self, ids: Sequence[int]) -> Sequence[ChunkText]:
        """Return the texts of the chunks that `read` would return, in half its time."""

    def code_around(self, stored: StoredChunk, lines: int) -> Sequence[tuple[int, str]]:
        """Return first line and code of each chunk within `lines` of one, and of that, in order."""

    def vector_counts(self) -> VectorCounts:
        """Count the chunks of the filter's sources, and those without a vector; no other filter."""


class LocalRows:
    """Implements `CodeRows` on a snapshot of `codebase.sqlite`."""

    def __init__(
        self,
        connection: Connection,
        store: CodeStore,
        wanted: CodeFilter,
        is_deleted: IsDeleted = NONE_DELETED,
    ) -> None:
        self.connection = connection
        self._store = store
        self.wanted = wanted
        self.is_deleted = is_deleted
        self.defined_names = DefinedNames(connection, wanted.sources)
        self._directory = store.directory.read(connection)
        self._lists: dict[str, Ids] = {}  # posting lists that were read, by word
        self.allowed = allowed_chunks(connection, self._directory, wanted)
        self._is_wanted = file_filter(wanted)

    def vector_counts(self) -> VectorCounts:
        sources = self.wanted.sources
        if not sources or set(sources) >= known_sources(self.connection).keys():
            return count_vectors(self.connection, [CHUNKS])
        # Looking up the source of each pending chunk would take a quarter of a query's time while
        # 40,000 wait.
        pending: Any = self.connection.execute(
            "SELECT coalesce(sum((SELECT count(*) FROM chunk_pending"
            " WHERE id BETWEEN value ->> 0 AND value ->> 1)), 0) FROM json_each(?)",
            (json.dumps(self._directory.runs_of(CodeFilter(sources=sources))),),
        ).get
        return VectorCounts(self._chunk_count, pending)

    @cached_property
    def _chunk_count(self) -> int:
        """The number of chunks of the filter's sources."""
        counted: Any = self.connection.execute(
            "SELECT coalesce(sum(chunks), 0) FROM files"
            " WHERE source IN (SELECT value FROM json_each(?))",
            (json.dumps(self.wanted.sources),),
        ).get
        return int(counted)

    def keywords(self, text: str, *, everywhere: bool = False) -> Keywords:
        return keywords_of(self.connection, CHUNKS, text, None if everywhere else self.among)

    @cached_property
    def among(self) -> Among | None:
        """The chunks of the filter's sources; `None` if these are all there are."""
        wanted = CodeFilter(sources=self.wanted.sources)
        ids = allowed_chunks(self.connection, self._directory, wanted)
        return None if ids is None else Among.of(ids, self._chunk_count)

    def keyword_arm(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CHUNKS, keywords, limit=limit)
        return Arm.of(ids, keyword_share(bm25, keywords.whole), self.allowed)

    def coverage_arm(self, keywords: Keywords) -> Arm:
        return Arm.of(*self._postings(keywords).coverage(), self.allowed)

    def chunks_by_word(self, keywords: Keywords) -> Mapping[str, Ids]:
        return self._postings(keywords).lists

    def _postings(self, keywords: Keywords) -> Postings:
        return read_postings(self.connection, CHUNKS, keywords, self._lists)

    def vector_search(self, *, static: bool) -> VectorSearch:
        view = self._index(static=static).view(self.connection)
        return lambda query, depth: VectorArm(view, query, self.allowed, depth)

    def chunk_at(self, at: Line) -> int | None:
        found: int | None = self.connection.execute(
            "SELECT id FROM code_chunks WHERE source = ? AND filename = ?"
            " AND start_line <= ? AND end_line >= ?",
            (at.source, at.path, at.line, at.line),
        ).get
        return found

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        return stored_vector(self.connection, self._index(static=static).table, chunk_id)

    def _index(self, *, static: bool) -> VectorIndex:
        table = CHUNKS.static_table if static else CHUNKS.vector_table
        assert table
        return self._store.indexes[table]

    def named_chunks(self, names: QueryNames) -> Sequence[int]:
        ids: list[int] = []
        for name in names.symbols:
            defining = partial(_chunks_defining, self.connection, name[-1])
            ids += self._first_allowed(defining, MAX_CHUNKS_PER_NAME)
        for path in names.paths:
            files = filter(self._is_wanted, self._directory.files.at(path))
            ids += _chunks_of(self.connection, files)
        return ids

    def paths_called(self, stem: str) -> Sequence[str]:
        called = filter(self._is_wanted, self._directory.files.called(stem))
        return list(dict.fromkeys(file.path for file in called))

    def phrase_chunks(self, words: str, limit: int) -> Sequence[int]:
        return self._first_allowed(partial(_chunks_holding, self.connection, words), limit)

    def _first_allowed(self, find: Callable[[int], Sequence[int]], limit: int) -> Sequence[int]:
        """Return the first `limit` ids of `find`, called with a limit, that satisfy the filter."""
        found = np.array(find(limit if self.allowed is None else _ALL), np.int64)
        kept: list[int] = found[mask_allowed(found, self.allowed)][:limit].tolist()
        return kept

    def files_of(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        places = self._places_of(ids)
        return self._directory.files, self._directory.file_numbers[places]

    def symbols_of(self, ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        places = self._places_of(np.array(ids, np.int64)).tolist()
        found = (self._directory.names[place].partition("\0") for place in places)
        pairs = ((symbols, scope) for symbols, _, scope in found)
        return dict(zip(ids, pairs, strict=True))

    def _places_of(self, ids: Ids) -> Ids:
        """Return the places of `ids` in the directory, which is read anew if it lacks one."""
        places = self._directory.places_of(ids)
        if places is None:
            self._directory = ChunkDirectory().read(self.connection)
            places = self._directory.places_of(ids)
            assert places is not None
        return places

    def history_boosts(self, text: str) -> Mapping[FileKey, HistoryBoost]:
        return history_boosts(self.connection, text, self.wanted.sources)

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        columns = "id, source, filename, language, start_line, end_line, symbols, scope, signature"
        return [
            StoredChunk(
                chunk_id, source, filename, language, chunk_from_row((start, end, code, *rest))
            )
            for (chunk_id, source, filename, language, start, end, *rest), code in self._with_code(
                ids, columns
            )
        ]

    def texts_of(self, ids: Sequence[int]) -> Sequence[ChunkText]:
        return [
            ChunkText(row, file, code) for (row, file), code in self._with_code(ids, "id, filename")
        ]

    def _with_code(self, ids: Sequence[int], columns: str) -> Iterator[tuple[list[Any], str]]:
        # As `rows_at_once`, but the code is not escaped as JSON, which would take as long.
        listed, codes = self.connection.execute(
            f"SELECT json_group_array(json_array(octet_length(code), {columns})),"
            " CAST(coalesce(group_concat(code, ''), '') AS BLOB)"
            " FROM code_chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        ).get
        code = io.BytesIO(codes)
        return ((row, code.read(size).decode()) for size, *row in json.loads(listed))

    def code_around(self, stored: StoredChunk, lines: int) -> Sequence[tuple[int, str]]:
        chunk = stored.chunk
        rows: list[Any] = self.connection.execute(
            "SELECT start_line, code FROM code_chunks"
            " WHERE source = ? AND filename = ? AND end_line >= ? AND start_line <= ?"
            " ORDER BY start_line",
            (stored.source, stored.filename, chunk.start_line - lines, chunk.end_line + lines),
        ).fetchall()
        return rows


def symbol_phrase(name: str) -> str:
    """Return the phrase by which the keyword index finds the chunks that define `name`.

    It is the words of the name, or for a name in camelCase the whole in lower case, which is
    indexed, too, and which longer names do not hold.
    """
    parts, _, whole = index_words(name).partition("\n")
    words = [whole] if whole == name.lower() else parts.replace("_", " ").split()
    return " ".join(words[:MAX_PARTS])


def _chunks_holding(connection: Connection, words: str, limit: int) -> list[int]:
    """Return the ids of chunks whose text holds `words` in a row."""
    return column(
        connection,
        "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? LIMIT ?",
        (f"body : ({match_expression([words])})", limit),
    )


def _chunks_defining(connection: Connection, name: str, limit: int) -> list[int]:
    """Return the ids of chunks that define `name`, in the same case."""
    symbols = f"symbols : ({match_expression([symbol_phrase(name)])})"
    return column(
        connection,
        "SELECT c.id FROM code_chunks c JOIN (SELECT rowid FROM chunk_words"
        " WHERE chunk_words MATCH ? LIMIT ?) w ON c.id = w.rowid"
        " WHERE instr(' ' || c.symbols || ' ', ' ' || ? || ' ') LIMIT ?",
        (symbols, MAX_SYMBOL_ROWS, name, limit),
    )


def _chunks_of(connection: Connection, files: Iterable[ChunkFile]) -> list[int]:
    """Return the ids of chunks of `files`."""
    ids: list[int] = []
    for file in files:
        if len(ids) >= MAX_CHUNKS_PER_NAME:
            break
        ids += column(
            connection,
            "SELECT id FROM code_chunks WHERE source = ? AND filename = ? LIMIT ?",
            (file.source, file.path, MAX_CHUNKS_PER_NAME - len(ids)),
        )
    return ids
