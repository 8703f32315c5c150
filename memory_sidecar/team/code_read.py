"""The chunks of a team's database that a query searches, all read in one snapshot.

Files that differ on this machine are masked: local rows replace them, see `overlaid`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memory_sidecar.code.directory import FileNumbers, Line, is_at
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.query_names import QueryNames
from memory_sidecar.code.rows import (
    KEYWORD_DEPTH,
    MAX_CHUNKS_PER_NAME,
    SearchArm,
    VectorSearch,
    symbol_phrase,
)
from memory_sidecar.code.store import CHUNK_COLUMNS, CHUNKS, StoredChunk, chunk_from_row
from memory_sidecar.index.arms import Arm, Scores
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import Keywords, Postings, keyword_share, stems_of
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.team.connection import HalfVector, integers
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.postings import Entries, Statistics, bm25
from memory_sidecar.team.reads import ParallelReads, ReadTransaction
from memory_sidecar.team.shared_files import SearchScope, SourceRow
from memory_sidecar.team.words_read import WordsRead

FEW_CHUNKS = 20_000  # up to here a search compares every vector of its scope, without the graph


class SharedRows:
    """The team's part of `CodeRows`: chunks that satisfy the filter and are not masked."""

    def __init__(
        self,
        reads: ReadTransaction,
        link: TeamLink,
        sources: Mapping[str, SourceRow],
        scope: SearchScope,
    ) -> None:
        """`reads`: a read transaction of `link`, in which everything is read."""
        rows = {row.id: row for row in sources.values()}.values()  # worktrees share one
        self._reads = reads
        self._sources = integers(row.id for row in rows)
        state = "SELECT id, generation FROM sources WHERE id = ANY(%s) ORDER BY id"
        seen = sorted((row.id, row.generation) for row in rows)
        # The graphs over all rows would find some of these few late, and some not at all.
        self._are_few = scope.chunks <= FEW_CHUNKS
        share = 0 if self._are_few else scope.chunks / max(row.team_chunks for row in rows)
        self._beside = ParallelReads(link, reads, (state, (self._sources,)), seen, share=share)
        self._by_name = sources
        self._scope = scope
        self.words = WordsRead(
            reads,
            [row.id for row in rows],
            scope,
            Statistics(sum(row.chunks for row in rows), sum(row.tokens for row in rows)),
        )
        self._file_of: dict[int, int] = {}  # file id of each chunk that was found
        self._arms: list[_SharedVectors] = []
        self._described: dict[int, tuple[str, str]] = {}  # symbols and scope of each chunk

    def vector_counts(self) -> VectorCounts:
        """Count the chunks of these sources, and those without a vector of the model; no filter."""
        rows = self._reads.ask(
            "SELECT count(*) FROM chunk_pending WHERE source = ANY(%s) AND file <> ALL(%s)",
            (self._sources, integers(self._scope.masked)),
        )
        return VectorCounts(self._scope.chunks + self._scope.left_out, rows[0][0])

    def keyword_arm(self, keywords: Keywords) -> Arm:
        terms = self.words.terms_with_idf(keywords)
        lists = [self.words.current(self.words.entries_of(stems)) for stems, _ in terms]
        idfs = [idf for _, idf in terms]
        ids, scores, files = bm25(lists, idfs, CHUNKS.weights, self.words.statistics.mean_tokens)
        if len(ids) > KEYWORD_DEPTH and not self._scope.is_filtered:
            best = np.sort(np.argpartition(scores, -KEYWORD_DEPTH)[-KEYWORD_DEPTH:])
            ids, scores, files = ids[best], scores[best], files[best]
        self._file_of.update(zip(ids.tolist(), files.tolist(), strict=True))
        return Arm(ids, keyword_share(scores, keywords.whole))

    def coverage_arm(self, keywords: Keywords) -> Arm:
        lists = {
            stem: self.words.current(entries)["row"].astype(np.int64)
            for stem, entries in self._entries_by_word(keywords).items()
        }
        return Arm(*Postings(lists, (), keywords.idf).coverage())

    def chunks_by_word(self, keywords: Keywords) -> Mapping[str, Ids]:
        return {
            stem: np.sort(entries["row"].astype(np.int64))
            for stem, entries in self._entries_by_word(keywords).items()
        }

    def _entries_by_word(self, keywords: Keywords) -> Mapping[str, Entries]:
        words = [stems for stems, _ in self.words.terms_with_idf(keywords) if len(stems) == 1]
        return {stems[0]: self.words.entries_of(stems) for stems in words}

    def vector_search(self, *, static: bool) -> VectorSearch:
        reads = self._reads if static else self._beside

        def nearest(query: Floats, depth: int) -> SearchArm:
            arm = _SharedVectors(self, _table_of(static=static), query)
            self._arms.append(arm)
            found = reads.ask(*self._query_of(arm, depth))
            found.sort(key=lambda row: row[2])  # an index gives them nearly in order
            self._in_scope([row for row, _, _ in found], [file for _, file, _ in found])
            arm.known.update((row, 1 - distance) for row, _, distance in found)
            arm.found = np.array([row for row, _, _ in found], np.int64)
            return arm

        return nearest

    def chunk_at(self, at: Line) -> int | None:
        source = self._by_name.get(at.source)
        rows = self._reads.ask(
            "SELECT c.id, f.id FROM files f JOIN chunks c ON c.file = f.id"
            " WHERE f.source = %s AND f.path = %s AND c.start_line <= %s AND c.end_line >= %s"
            " ORDER BY c.id LIMIT 1",
            (source.id if source else None, at.path, at.line, at.line),
        )
        if not rows or rows[0][1] in self._scope.masked:
            return None
        chunk: int
        chunk, file = rows[0]
        self._in_scope([chunk], [file])  # its file is asked for if it is a hit
        return chunk

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        vector = f"SELECT embedding::real[] FROM {_table_of(static=static)} WHERE id = %s"
        rows = self._reads.ask(vector, (chunk_id,))
        return np.array(rows[0][0], np.float32) if rows else None

    def named_chunks(self, names: QueryNames) -> Sequence[int]:
        found: list[int] = []
        for name in names.symbols:
            stems = stems_of(symbol_phrase(name[-1]))
            if not stems:
                continue
            defining = self.words.current(self.words.entries_of(stems))
            defining = defining.compress((defining["names"] & 15) > 0)[:MAX_CHUNKS_PER_NAME]
            found += self._in_scope(defining["row"].tolist(), defining["file"].tolist())
        for path in names.paths:
            files = [
                file_id
                for file_id in self._scope.by_name.get(path.rpartition("/")[2], ())
                if is_at(self._scope.path_of(file_id), path)
            ]
            if not files:  # as for most of the entry pages of a guide
                continue
            rows = self._reads.ask(
                "SELECT id, file FROM chunks WHERE file = ANY(%s) ORDER BY id LIMIT %s",
                (integers(files), MAX_CHUNKS_PER_NAME),
            )
            found += self._in_scope([row[0] for row in rows], [row[1] for row in rows])
        return found

    def paths_called(self, stem: str) -> Sequence[str]:
        called = (ids for name, ids in self._scope.by_name.items() if name.split(".")[0] == stem)
        return list(dict.fromkeys(self._scope.path_of(each) for ids in called for each in ids))

    def phrase_chunks(self, words: str, limit: int) -> Sequence[int]:
        """Return the ids of at most `limit` chunks whose text holds `words` in a row."""
        stems = stems_of(words)
        if not stems:
            return []
        found = self.words.current(self.words.entries_of(stems))
        found = found.compress(found["body"] > 0)[:limit]
        return self._in_scope(found["row"].tolist(), found["file"].tolist())

    def files_of(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        self.describe(ids.tolist())
        numbers = [self._scope.numbers[self._file_of[row]] for row in ids.tolist()]
        return self._scope.files, np.array(numbers, np.int32)

    def symbols_of(self, ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        self.describe(ids)
        return {row: self._described[row] for row in ids if row in self._described}

    def describe(self, ids: Sequence[int]) -> None:
        """Read symbols, and the score by each arm, of the chunks not read before, in one query."""
        wanted = set(ids)
        new = wanted - self._described.keys()
        lacking = [(arm, wanted - arm.known.keys()) for arm in tuple(self._arms)]
        arms = [arm for arm, unjudged in lacking if unjudged]
        new.update(*(unjudged for _, unjudged in lacking))
        if not new:
            return
        values: dict[str, Any] = {"ids": integers(new), **{arm.table: arm.query for arm in arms}}
        cosines = "".join(
            f", (SELECT 1 - ({arm.distance}) FROM {arm.table} WHERE id = c.id)" for arm in arms
        )
        rows = self._reads.ask(
            f"SELECT id, symbols, scope{cosines} FROM chunks c WHERE id = ANY(%(ids)s)", values
        )
        if not rows:
            return
        # Column by column takes half the time.
        found, names, scopes, *opinions = zip(*rows, strict=True)
        self._described.update(zip(found, zip(names, scopes, strict=True), strict=True))
        for arm, each in zip(arms, opinions, strict=True):
            arm.known.update(zip(found, each, strict=True))

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        rows = self._reads.ask(
            f"SELECT id, file, {CHUNK_COLUMNS} FROM chunks WHERE id = ANY(%s)",
            (integers(ids),),
        )
        found = []
        for row, file_id, *chunk in rows:
            file = self._scope.files[self._scope.numbers[file_id]]
            self._file_of[row] = file_id
            found.append(
                StoredChunk(row, file.source, file.path, file.language, chunk_from_row(chunk))
            )
        return found

    def code_around(self, stored: StoredChunk, lines: int) -> Sequence[tuple[int, str]]:
        file, chunk = self._file_of[stored.chunk_id], stored.chunk
        return self._reads.ask(
            "SELECT start_line, code FROM chunks WHERE file = %s AND end_line >= %s"
            " AND start_line <= %s ORDER BY start_line",
            (file, chunk.start_line - lines, chunk.end_line + lines),
        )

    def _query_of(self, arm: _SharedVectors, depth: int) -> tuple[str, Mapping[str, Any]]:
        """Build the query for the ids, files and distances of the `depth` nearest chunks."""
        values: dict[str, Any] = {"sources": self._sources, arm.table: arm.query, "depth": depth}
        chosen = "source = ANY(%(sources)s)"
        if self._scope.is_filtered or self._are_few:
            chosen = "file = ANY(%(files)s)"
            values["files"] = integers(self._scope.numbers)
        elif self._scope.masked:
            chosen += " AND file <> ALL(%(files)s)"
            values["files"] = integers(self._scope.masked)
        rows = f"SELECT id, file, {arm.distance} AS distance FROM {arm.table} WHERE {chosen}"
        if self._are_few:
            rows = f"WITH few AS MATERIALIZED ({rows}) SELECT * FROM few"
        return f"{rows} ORDER BY distance LIMIT %(depth)s", values

    def _in_scope(self, ids: Sequence[int], files: Sequence[int]) -> list[int]:
        """Remember the file of each of `ids`; return the ids whose file is in the scope."""
        found = [
            (row, file) for row, file in zip(ids, files, strict=True) if file in self._scope.numbers
        ]
        self._file_of.update(found)
        return [row for row, _ in found]


def _table_of(*, static: bool) -> str:
    return "chunk_static" if static else "chunk_vectors"


class _SharedVectors:
    """The `SearchArm` of one vector search in the team's rows."""

    def __init__(self, rows: SharedRows, table: str, query: Floats) -> None:
        self.table = table
        self.query = HalfVector.of(query)
        self.distance = f"embedding <=> %({table})s::halfvec"
        self.known: dict[int, float | None] = {}  # of what is found or described
        self.found: Ids = np.empty(0, np.int64)
        self._rows = rows

    def best(self, depth: int) -> Ids:
        return self.found[:depth]

    def scores_of(self, wanted: Ids) -> Scores:
        self._rows.describe(wanted.tolist())
        # `None` becomes NaN.
        return np.array([self.known[row] for row in wanted.tolist()], np.float64)
