"""Reads the code of a team: what files a source has, and what a search asks of their chunks.

What a developer has changed is masked: their own rows answer for it. Everything is read in one
transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memory_sidecar.code.directory import ChunkFile, FileNumbers, Line
from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS, message_phrase
from memory_sidecar.code.query_names import MAX_CHUNKS_PER_NAME, QueryNames, symbol_phrase
from memory_sidecar.code.rows import KEYWORD_DEPTH, SearchArm, VectorSearch
from memory_sidecar.code.store import CHUNKS, StoredChunk, chunk_from_row
from memory_sidecar.index.arms import Arm, Scores
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import Keywords, keyword_share, stems_of
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.team.connection import HalfVector, integers
from memory_sidecar.team.link import Asking, AskingBeside, TeamLink, Values
from memory_sidecar.team.postings import Statistics, bm25
from memory_sidecar.team.shared_files import Reach, SourceRow
from memory_sidecar.team.words_read import WordsRead

FEW_CHUNKS = 20_000  # of so few that a filter leaves, every vector is compared


class SharedRows:
    """The chunks of some sources that satisfy a filter and are not masked: see `CodeRows`."""

    def __init__(
        self,
        asking: Asking,
        link: TeamLink,
        sources: Mapping[str, SourceRow],
        reach: Reach,
    ) -> None:
        """`asking` is of a transaction of `link`."""
        rows = sources.values()
        self._asking = asking
        self._sources = integers(row.id for row in rows)
        state = "SELECT id, generation FROM sources WHERE id = ANY(%s) ORDER BY id"
        seen = sorted((row.id, row.generation) for row in rows)
        self._beside = AskingBeside(link, asking, (state, (self._sources,)), seen)
        self._by_name = sources
        self._reach = reach
        self.words = WordsRead(
            asking.ask,
            [row.id for row in rows],
            reach,
            Statistics(
                sum(row.statistics.rows for row in rows),
                sum(row.statistics.tokens for row in rows),
            ),
        )
        self._file_of: dict[int, int] = {}  # of the chunks that were found
        self._arms: list[_SharedVectors] = []
        self._described: dict[int, tuple[list[str], str]] = {}  # names and scope of a chunk

    def vector_counts(self) -> VectorCounts:
        """How many chunks these sources have, and how many of them have no vector yet."""
        rows = self._asking.ask(
            "SELECT count(*) FROM chunk_pending WHERE source = ANY(%s) AND file <> ALL(%s)",
            (self._sources, integers(self._reach.masked)),
        )
        return VectorCounts(self._reach.chunks, rows[0][0])

    def keyword_arm(self, keywords: Keywords) -> Arm:
        terms = self.words.weighed(keywords)
        lists = [self.words.living(self.words.list_of(stems)) for stems, _ in terms]
        ids, scores, files = bm25(
            lists,
            [idf for _, idf in terms],
            CHUNKS.weights,
            self.words.statistics.mean_tokens,
        )
        if len(ids) > KEYWORD_DEPTH and not self._reach.narrows:
            best = np.sort(np.argpartition(scores, -KEYWORD_DEPTH)[-KEYWORD_DEPTH:])
            ids, scores, files = ids[best], scores[best], files[best]
        self._file_of.update(zip(ids.tolist(), files.tolist(), strict=True))
        return Arm(ids, keyword_share(scores, keywords.whole))

    def vector_search(self) -> VectorSearch:
        return self._nearest("chunk_vectors", self._beside)

    def static_search(self) -> VectorSearch:
        return self._nearest("chunk_static", self._asking)

    def chunk_at(self, at: Line) -> int | None:
        source = self._by_name.get(at.source)
        rows = self._asking.ask(
            "SELECT c.id, f.id FROM files f JOIN chunks c ON c.file = f.id"
            " WHERE f.source = %s AND f.path = %s AND c.start_line <= %s AND c.end_line >= %s"
            " ORDER BY c.id LIMIT 1",
            (source.id if source else None, at.path, at.line, at.line),
        )
        return rows[0][0] if rows and rows[0][1] not in self._reach.masked else None

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        table = "chunk_static" if static else "chunk_vectors"
        rows = self._asking.ask(f"SELECT embedding::real[] FROM {table} WHERE id = %s", (chunk_id,))
        return np.array(rows[0][0], np.float32) if rows else None

    def named_chunks(self, names: QueryNames) -> Sequence[int]:
        found: list[int] = []
        for name in names.symbols:
            stems = stems_of(symbol_phrase(name[-1]))
            if not stems:
                continue
            defining = self.words.living(self.words.list_of(stems))
            defining = defining[(defining["names"] & 15) > 0][:MAX_CHUNKS_PER_NAME]
            found += self._noted(defining["row"].tolist(), defining["file"].tolist())
        for path in names.paths:
            files = [
                file_id
                for file_id in self._reach.called.get(path.rpartition("/")[2], ())
                if f"/{self._reach.path_of(file_id)}".endswith(f"/{path}")
            ]
            if not files:  # as of most names that a guide may have
                continue
            rows = self._asking.ask(
                "SELECT id, file FROM chunks WHERE file = ANY(%s) ORDER BY id LIMIT %s",
                (integers(files), MAX_CHUNKS_PER_NAME),
            )
            found += self._noted([row[0] for row in rows], [row[1] for row in rows])
        return found

    def message_chunks(self, text: str) -> Sequence[int]:
        words = message_phrase(text)
        found = self.phrase_chunks(words, MAX_MESSAGE_CHUNKS + 1) if words else []
        return found if len(found) <= MAX_MESSAGE_CHUNKS else []

    def phrase_chunks(self, words: str, limit: int) -> Sequence[int]:
        """Those whose text holds `words` in a row, `limit` at most."""
        stems = stems_of(words)
        if not stems:
            return []
        found = self.words.living(self.words.list_of(stems))
        found = found[found["body"] > 0][:limit]
        return self._noted(found["row"].tolist(), found["file"].tolist())

    def files_of(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        self.describe(ids.tolist())
        numbers = [self._reach.numbers[self._file_of[row]] for row in ids.tolist()]
        return self._reach.files, np.array(numbers, np.int32)

    def symbols_of(self, ids: Sequence[int]) -> Mapping[int, tuple[list[str], str]]:
        self.describe(ids)
        return self._described

    def describe(self, ids: Sequence[int]) -> None:
        """Read what is not known of these chunks, and what each arm says of them, at once."""
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
        rows = self._asking.ask(
            f"SELECT id, symbols, scope{cosines} FROM chunks c WHERE id = ANY(%(ids)s)", values
        )
        if not rows:
            return
        # Column by column, which takes half of the time.
        found, names, scopes, *said = zip(*rows, strict=True)
        described = zip(map(str.split, names), scopes, strict=True)
        self._described.update(zip(found, described, strict=True))
        for arm, each in zip(arms, said, strict=True):
            arm.known.update(zip(found, each, strict=True))

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        rows = self._asking.ask(
            "SELECT id, file, start_line, end_line, code, symbols, scope, signature FROM chunks"
            " WHERE id = ANY(%s)",
            (integers(ids),),
        )
        found = []
        for row, file_id, *chunk in rows:
            file = self._reach.files[self._reach.numbers[file_id]]
            found.append(
                StoredChunk(row, file.source, file.path, file.language, chunk_from_row(chunk))
            )
        return found

    def text_around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        first, last = stored.chunk.start_line, stored.chunk.end_line
        rows = self._asking.ask(
            "SELECT start_line, code FROM chunks WHERE file = %s AND end_line >= %s"
            " AND start_line <= %s ORDER BY start_line",
            (self._file_of[stored.chunk_id], first - lines, last + lines),
        )
        before = "".join(f"{code}\n" for start, code in rows if start < first)
        after = "".join(f"\n{code}" for start, code in rows if start > last)
        return before, after

    def _nearest(self, table: str, asking: Asking | AskingBeside) -> VectorSearch:
        def nearest(query: Floats, depth: int) -> SearchArm:
            arm = _SharedVectors(self, table, query)
            self._arms.append(arm)
            found = asking.ask(*self._query_of(arm, depth))
            found.sort(key=lambda row: row[2])  # an index gives them nearly in order
            self._noted([row for row, _, _ in found], [file for _, file, _ in found])
            arm.known.update((row, 1 - distance) for row, _, distance in found)
            arm.found = np.array([row for row, _, _ in found], np.int64)
            return arm

        return nearest

    def _query_of(self, arm: _SharedVectors, depth: int) -> tuple[str, Values]:
        """For ids, files and distances of the nearest."""
        values: dict[str, Any] = {"sources": self._sources, arm.table: arm.query, "depth": depth}
        chosen = "source = ANY(%(sources)s)"
        if self._reach.narrows:
            chosen = "file = ANY(%(files)s)"
            values["files"] = integers(self._reach.numbers)
        elif self._reach.masked:
            chosen += " AND file <> ALL(%(files)s)"
            values["files"] = integers(self._reach.masked)
        rows = f"SELECT id, file, {arm.distance} AS distance FROM {arm.table} WHERE {chosen}"
        if self._reach.narrows and self._reach.chunks <= FEW_CHUNKS:
            # Of few rows an index over all of them would find some late, and some not.
            rows = f"WITH few AS MATERIALIZED ({rows}) SELECT * FROM few"
        return f"{rows} ORDER BY distance LIMIT %(depth)s", values

    def _noted(self, ids: Sequence[int], files: Sequence[int]) -> list[int]:
        """Those of `ids` whose files may be hits; in which they lie is remembered."""
        found = [
            (row, file) for row, file in zip(ids, files, strict=True) if file in self._reach.numbers
        ]
        self._file_of.update(found)
        return [row for row, _ in found]


class _SharedVectors:
    """A vector arm: a `SearchArm`."""

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
