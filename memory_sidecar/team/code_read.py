"""Reads the code of a team: what files a source has, and what a search asks of their chunks.

What a developer has changed is masked: their own rows answer for it. Everything is read in one
transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from memory_sidecar.code.directory import ChunkFile, FileNumbers
from memory_sidecar.code.lookup import (
    MAX_CHUNKS_PER_NAME,
    MAX_CHUNKS_SAYING,
    MAX_SAID,
    MIN_SAID,
    Names,
    StoredChunk,
)
from memory_sidecar.code.searched import KEYWORD_DEPTH, Judging, Nearest
from memory_sidecar.code.store import CHUNKS, chunk_from_row
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Arm, Scores
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import (
    Keywords,
    index_words,
    keyword_share,
    plain_words,
    stems_of,
    weighed_keywords,
)
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.team.link import Connected
from memory_sidecar.team.postings import (
    ENTRY,
    Entries,
    Statistics,
    bm25,
    count_phrase,
    held_together,
    unpacked,
)
from memory_sidecar.team.shared_files import Reach, SourceRow

FEW_CHUNKS = 20_000  # of so few that a filter leaves, every vector is compared
MAX_COMMON = 200  # chunks that hold all words of a text, of which it is looked whether in a row


class SharedRows:
    """The chunks of some sources that satisfy a filter and are not masked: a `Searched`."""

    def __init__(
        self, connection: Connected, tokens: Connection, sources: Sequence[SourceRow], reach: Reach
    ) -> None:
        """`tokens` takes words apart."""
        self.connection = connection
        self.statistics = Statistics(
            sum(row.statistics.rows for row in sources),
            sum(row.statistics.tokens for row in sources),
        )
        self._tokens = tokens
        self._sources = [row.id for row in sources]
        self._reach = reach
        self._file_of: dict[int, int] = {}  # of the chunks that were found
        self._lists: dict[str, Entries] = {}
        self._lock = threading.Lock()  # one query at a time: an arm may ask in another thread

    def vector_counts(self) -> VectorCounts:
        """Of all chunks of these sources."""
        rows = self._query(
            "SELECT count(*) FROM chunk_pending WHERE source = ANY(%s) AND file <> ALL(%s)",
            (self._sources, self._reach.masked),
        )
        return VectorCounts(self._reach.chunks, rows[0][0])

    def keywords(self, text: str) -> Keywords:
        return weighed_keywords(self._tokens, text, self.holding)

    def holding(self, stems: Collection[str]) -> tuple[int, Mapping[str, int]]:
        """How many chunks there are, and how many hold each of `stems`."""
        rows = self._query(
            "SELECT term, sum(octet_length(entries)) FROM words"
            " WHERE source = ANY(%s) AND term = ANY(%s) GROUP BY term",
            (self._sources, list(stems)),
        )
        return self.statistics.rows, {term: int(size) // ENTRY.itemsize for term, size in rows}

    def weighed(self, keywords: Keywords) -> list[tuple[list[str], float]]:
        """The tokens of each term, and its idf as FTS5 has it."""
        split = [(stems_of(self._tokens, term), term) for term in keywords.terms]
        self._read_lists({stem for stems, _ in split for stem in stems})
        return [(stems, self.statistics.idf(len(self._list(stems)))) for stems, _ in split if stems]

    def by_words(self, keywords: Keywords) -> Arm:
        terms = self.weighed(keywords)
        lists = [self._living(self._list(stems)) for stems, _ in terms]
        ids, scores, files = bm25(
            lists,
            [idf for _, idf in terms],
            CHUNKS.weights,
            self.statistics.mean_tokens,
        )
        if len(ids) > KEYWORD_DEPTH and not self._reach.narrows:
            best = np.sort(np.argpartition(scores, -KEYWORD_DEPTH)[-KEYWORD_DEPTH:])
            ids, scores = ids[best], scores[best]
        self._file_of.update((row, files[row]) for row in ids.tolist())
        return Arm(ids, keyword_share(scores))

    def by_vectors(self) -> Nearest:
        return self._nearest("chunk_vectors")

    def by_static(self) -> Nearest:
        return self._nearest("chunk_static")

    def named(self, names: Names) -> Sequence[int]:
        found: list[int] = []
        for name in names.symbols:
            words = index_words(name[-1]).replace("_", " ").split()[:16]
            stems = stems_of(self._tokens, " ".join(words))
            self._read_lists(stems)
            if not stems:
                continue
            defining = self._living(self._list(stems))
            defining = defining[(defining["names"] & 15) > 0][:MAX_CHUNKS_PER_NAME]
            found += self._noted(defining["row"].tolist(), defining["file"].tolist())
        for path in names.paths:
            files = [
                file_id
                for file_id, number in self._reach.numbers.items()
                if f"/{self._reach.files[number].path}".endswith(f"/{path}")
            ]
            rows = self._query(
                "SELECT id, file FROM chunks WHERE file = ANY(%s) ORDER BY id LIMIT %s",
                (files, MAX_CHUNKS_PER_NAME),
            )
            found += self._noted([row[0] for row in rows], [row[1] for row in rows])
        return found

    def saying(self, text: str) -> Sequence[int]:
        words = [word for word in plain_words(text) if word.isascii()]
        if not MIN_SAID <= len(words) <= MAX_SAID:
            return []
        found = self.with_words(" ".join(words), MAX_CHUNKS_SAYING + 1)
        return found if len(found) <= MAX_CHUNKS_SAYING else []

    def with_words(self, words: str, limit: int) -> Sequence[int]:
        """Those whose text holds `words` in a row, `limit` at most."""
        stems = stems_of(self._tokens, words)
        if not stems:
            return []
        self._read_lists(stems)
        found = self._living(self._list(stems))
        found = found[found["body"] > 0][:limit]
        return self._noted(found["row"].tolist(), found["file"].tolist())

    def placed(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        numbers = [self._reach.numbers[self._file_of[row]] for row in ids.tolist()]
        return self._reach.files, np.array(numbers, np.int32)

    def symbols(self, ids: Sequence[int]) -> Mapping[int, tuple[list[str], str]]:
        rows = self._query("SELECT id, symbols, scope FROM chunks WHERE id = ANY(%s)", (ids,))
        return {row: (symbols.split(), scope) for row, symbols, scope in rows}

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        rows = self._query(
            "SELECT id, file, start_line, end_line, code, symbols, scope, signature FROM chunks"
            " WHERE id = ANY(%s)",
            (ids,),
        )
        found = []
        for row, file_id, *chunk in rows:
            file = self._reach.files[self._reach.numbers[file_id]]
            found.append(
                StoredChunk(row, file.source, file.path, file.language, chunk_from_row(chunk))
            )
        return found

    def around(self, stored: StoredChunk, lines: int) -> tuple[str, str]:
        first, last = stored.chunk.start_line, stored.chunk.end_line
        rows = self._query(
            "SELECT start_line, code FROM chunks WHERE file = %s AND end_line >= %s"
            " AND start_line <= %s ORDER BY start_line",
            (self._file_of[stored.chunk_id], first - lines, last + lines),
        )
        before = "".join(f"{code}\n" for start, code in rows if start < first)
        after = "".join(f"\n{code}" for start, code in rows if start > last)
        return before, after

    def _nearest(self, table: str) -> Nearest:
        def nearest(query: Floats, depth: int) -> Judging:
            return _SharedVectors(self, table, query, depth)

        return nearest

    def nearest(self, table: str, query: str, depth: int) -> tuple[Ids, Floats]:
        """Ids and cosines of the nearest in `table`."""
        distance = f"embedding <=> %(query)s::halfvec({len(query.split(','))})"
        chosen = "source = ANY(%(sources)s)"
        values: dict[str, Sequence[int]] = {"sources": self._sources}
        if self._reach.narrows:
            chosen = "file = ANY(%(files)s)"
            values = {"files": list(self._reach.numbers)}
        elif self._reach.masked:
            chosen += " AND file <> ALL(%(files)s)"
            values["files"] = self._reach.masked
        rows = f"SELECT id, file, 1 - ({distance}) FROM {table} WHERE {chosen}"
        if self._reach.narrows and self._reach.chunks <= FEW_CHUNKS:
            # Of few rows an index over all of them would find some late, and some not.
            rows = (
                f"WITH few AS MATERIALIZED (SELECT * FROM {table} WHERE {chosen})"
                f" SELECT id, file, 1 - ({distance}) FROM few"
            )
        found = self._query(
            f"{rows} ORDER BY {distance} LIMIT %(depth)s",
            {**values, "query": query, "depth": depth},
        )
        found.sort(key=lambda row: -row[2])  # an index gives them nearly in order
        self._noted([row[0] for row in found], [row[1] for row in found])
        ids = np.array([row[0] for row in found], np.int64)
        return ids, np.array([row[2] for row in found], np.float32)

    def cosines(self, table: str, query: str, ids: Sequence[int]) -> Mapping[int, float]:
        """Of those of `ids` that have a vector in `table`."""
        rows = self._query(
            f"SELECT id, 1 - (embedding <=> %s::halfvec({len(query.split(','))})) FROM {table}"
            " WHERE id = ANY(%s)",
            (query, ids),
        )
        return dict(rows)

    def _noted(self, ids: Sequence[int], files: Sequence[int]) -> list[int]:
        """Those of `ids` whose files may be hits; in which they lie is remembered."""
        found = [
            (row, file) for row, file in zip(ids, files, strict=True) if file in self._reach.numbers
        ]
        self._file_of.update(found)
        return [row for row, _ in found]

    def _read_lists(self, stems: Collection[str]) -> None:
        missing = [stem for stem in stems if stem not in self._lists]
        if not missing:
            return
        rows = self._query(
            "SELECT term, entries FROM words WHERE source = ANY(%s) AND term = ANY(%s)",
            (self._sources, missing),
        )
        parts: dict[str, list[bytes]] = {stem: [] for stem in missing}
        for term, entries in rows:
            parts[term].append(entries)
        self._lists.update((stem, unpacked(each)) for stem, each in parts.items())

    def _list(self, stems: Sequence[str]) -> Entries:
        """The rows that hold a word, or the words of a phrase in a row.

        Of very many rows that hold all words of a phrase, it is not looked whether in a row.
        """
        if len(stems) == 1:
            return self._lists[stems[0]]
        phrase = " ".join(stems)
        if phrase not in self._lists:
            found = held_together([self._lists[stem] for stem in stems])
            self._lists[phrase] = found if len(found) > MAX_COMMON else self._in_a_row(stems, found)
        return self._lists[phrase]

    def _in_a_row(self, stems: Sequence[str], entries: Entries) -> Entries:
        entries = self._living(entries)
        rows = self._query(
            "SELECT id, code, symbols FROM chunks WHERE id = ANY(%s)", (entries["row"].tolist(),)
        )
        texts = {row: texts for row, *texts in rows}
        counted = entries.copy()
        for at, (row, file) in enumerate(zip(entries["row"], entries["file"], strict=True)):
            path = self._reach.files[self._reach.numbers[int(file)]].path
            code, symbols = texts.get(int(row), ("", ""))
            counts = [count_phrase(stems, stems_of(self._tokens, t)) for t in (code, symbols, path)]
            counted["body"][at] = min(counts[0], 255)
            counted["names"][at] = min(counts[1], 15) | min(counts[2], 15) << 4
        return counted[(counted["body"] > 0) | (counted["names"] > 0)]

    def _living(self, entries: Entries) -> Entries:
        """Those that may be hits: of files that may, in their current version."""
        return entries[entries["row"] >= self._reach.first_of(entries["file"])]

    def _query(self, query: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        with self._lock:
            return self.connection.execute(query, values, binary=True).fetchall()


class _SharedVectors:
    """A vector arm: a `Judging`."""

    def __init__(self, rows: SharedRows, table: str, query: Floats, depth: int) -> None:
        self._rows = rows
        self._table = table
        self._query = f"[{','.join(f'{each:.6g}' for each in query.tolist())}]"
        self._best, _ = rows.nearest(table, self._query, depth)

    def best(self, depth: int) -> Ids:
        return self._best[:depth]

    def scores_of(self, wanted: Ids) -> Scores:
        found = self._rows.cosines(self._table, self._query, wanted.tolist())
        return np.array([found.get(row, np.nan) for row in wanted.tolist()], np.float64)
