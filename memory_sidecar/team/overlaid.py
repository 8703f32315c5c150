"""A team's chunks overlaid by those of this machine, searched as one.

Each file is in one of both: files changed, added or deleted here are masked there. Local rows are
scored by the word statistics of both together; by their own, a few changed files would decide what
is rare. The ids of local rows are shifted by `OWN`, so that no id is ambiguous.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memory_sidecar.code.directory import FileNumbers, Line
from memory_sidecar.code.history import FileKey, HistoryBoost
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.query_names import QueryNames
from memory_sidecar.code.rows import ChunkText, LocalRows, SearchArm, VectorSearch
from memory_sidecar.code.store import CHUNKS, StoredChunk
from memory_sidecar.core.sqlite import FTS5ExtensionApi
from memory_sidecar.index.arms import Arm, Scores
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import (
    Keywords,
    keyword_share,
    match_expression,
    row_counter,
    stems_of,
    weigh_keywords,
)
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.team.code_read import SharedRows
from memory_sidecar.team.postings import term_share

OWN = 1 << 40
_BM25 = "bm25_beside"


class OverlaidRows:
    """Implements `CodeRows` over the team's rows and the local ones."""

    def __init__(
        self, shared: SharedRows, local: LocalRows, *, has_vectors: bool, has_static: bool
    ) -> None:
        """`has_vectors`, `has_static`: whether the team's vectors are of the same model as ours."""
        self._shared = shared
        self._local = local
        self.is_deleted = local.is_deleted
        self.defined_names = local.defined_names  # of all files, the team's included
        self._has_vectors = has_vectors
        self._has_static = has_static

    def vector_counts(self) -> VectorCounts:
        theirs = self._shared.vector_counts()
        own = self._local.vector_counts()
        pending = theirs.pending if self._has_vectors else theirs.rows
        return VectorCounts(theirs.rows + own.rows, pending + own.pending)

    def keywords(self, text: str, *, everywhere: bool = False) -> Keywords:
        self._shared.words.row_counts(stems_of(text))  # in one query, phrases included
        among = None if everywhere else self._local.among
        count_own = row_counter(self._local.connection, CHUNKS, among)

        def count(words: Mapping[str, str]) -> tuple[int, Mapping[str, int]]:
            rows, theirs = self._shared.words.row_counts(words.values())
            more, own = count_own(words)
            return rows + more, {each: theirs[each] + own.get(each, 0) for each in words.values()}

        return weigh_keywords(text, count)

    def keyword_arm(self, keywords: Keywords) -> SearchArm:
        theirs = self._shared.keyword_arm(keywords)
        if not keywords.terms:
            return theirs
        connection = self._local.connection
        connection.register_fts5_function(_BM25, _bm25_beside)
        idf = json.dumps([idf for _, idf in self._shared.words.terms_with_idf(keywords)])
        rows: list[Any] = connection.execute(
            f"SELECT rowid, {_BM25}({CHUNKS.words}, ?, ?) FROM {CHUNKS.words}"
            f" WHERE {CHUNKS.words} MATCH ?",
            (idf, self._shared.words.statistics.mean_tokens, match_expression(keywords.terms)),
        ).fetchall()
        ids = np.array([row for row, _ in rows], np.int64)
        scores = np.array([score for _, score in rows], np.float32)
        shares = keyword_share(scores, keywords.whole)
        return _OverlaidArm(theirs, Arm.of(ids, shares, self._local.allowed))

    def coverage_arm(self, keywords: Keywords) -> SearchArm:
        theirs, own = self._shared.coverage_arm(keywords), self._local.coverage_arm(keywords)
        return _OverlaidArm(theirs, own)

    def chunks_by_word(self, keywords: Keywords) -> Mapping[str, Ids]:
        own = self._local.chunks_by_word(keywords)
        none = np.empty(0, np.int64)
        return {
            stem: np.concatenate([ids, own.get(stem, none) + OWN])
            for stem, ids in self._shared.chunks_by_word(keywords).items()
        }

    def vector_search(self, *, static: bool) -> VectorSearch:
        theirs: VectorSearch = _search_none
        if self._is_comparable(static=static):
            theirs = self._shared.vector_search(static=static)
        own = self._local.vector_search(static=static)
        return lambda query, depth: _OverlaidArm(theirs(query, depth), own(query, depth))

    def chunk_at(self, at: Line) -> int | None:
        own = self._local.chunk_at(at)
        return self._shared.chunk_at(at) if own is None else own + OWN

    def vector_of(self, chunk_id: int, *, static: bool) -> Floats | None:
        if chunk_id >= OWN:
            return self._local.vector_of(chunk_id - OWN, static=static)
        if not self._is_comparable(static=static):
            return None
        return self._shared.vector_of(chunk_id, static=static)

    def _is_comparable(self, *, static: bool) -> bool:
        return self._has_static if static else self._has_vectors

    def named_chunks(self, names: QueryNames) -> Sequence[int]:
        return [
            *self._shared.named_chunks(names),
            *map(OWN.__add__, self._local.named_chunks(names)),
        ]

    def phrase_chunks(self, words: str, limit: int) -> Sequence[int]:
        theirs = self._shared.phrase_chunks(words, limit)
        own = self._local.phrase_chunks(words, limit - len(theirs))
        return [*theirs, *map(OWN.__add__, own)]

    def paths_called(self, stem: str) -> Sequence[str]:
        paths = [*self._shared.paths_called(stem), *self._local.paths_called(stem)]
        return list(dict.fromkeys(paths))

    def files_of(self, ids: Ids) -> tuple[Sequence[ChunkFile], FileNumbers]:
        theirs, their_numbers = self._shared.files_of(ids[ids < OWN])
        if len(their_numbers) == len(ids):  # as nearly always: there may be many files
            return theirs, their_numbers
        own, own_numbers = self._local.files_of(ids[ids >= OWN] - OWN)
        # Ids ascend, so that local ones come last.
        return [*theirs, *own], np.concatenate([their_numbers, own_numbers + len(theirs)])

    def symbols_of(self, ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        theirs, own = _split_ids(ids)
        named = self._local.symbols_of(own) if own else {}
        return {
            **self._shared.symbols_of(theirs),
            **{row + OWN: each for row, each in named.items()},
        }

    def history_boosts(self, text: str) -> Mapping[FileKey, HistoryBoost]:
        return self._local.history_boosts(text)

    def read(self, ids: Sequence[int]) -> Sequence[StoredChunk]:
        theirs, own = _split_ids(ids)
        found = self._local.read(own) if own else ()
        return [
            *(self._shared.read(theirs) if theirs else ()),
            *(replace(each, chunk_id=each.chunk_id + OWN) for each in found),
        ]

    def texts_of(self, ids: Sequence[int]) -> Sequence[ChunkText]:
        found = self.read(ids)  # asking the team takes longer than all that is done with its answer
        return [ChunkText(each.chunk_id, each.filename, each.chunk.code) for each in found]

    def code_around(self, stored: StoredChunk, lines: int) -> Sequence[tuple[int, str]]:
        side = self._shared if stored.chunk_id < OWN else self._local
        return side.code_around(stored, lines)


@dataclass(frozen=True, slots=True)
class _OverlaidArm:
    """The `SearchArm` of both; `own` knows local rows by their unshifted ids."""

    theirs: SearchArm
    own: SearchArm

    def best(self, depth: int) -> Ids:
        return np.concatenate([self.theirs.best(depth), self.own.best(depth) + OWN])

    def scores_of(self, wanted: Ids) -> Scores:
        own = wanted >= OWN
        if not own.any():
            return self.theirs.scores_of(wanted)
        scores = np.full(len(wanted), np.nan)
        scores[~own] = self.theirs.scores_of(wanted[~own])
        scores[own] = self.own.scores_of(wanted[own] - OWN)
        return scores


def _search_none(_query: Floats, _depth: int) -> SearchArm:
    return Arm.silent()


def _split_ids(ids: Sequence[int]) -> tuple[list[int], list[int]]:
    return [row for row in ids if row < OWN], [row - OWN for row in ids if row >= OWN]


def _bm25_beside(api: FTS5ExtensionApi, *given: Any) -> float:  # noqa: ANN401
    """Compute BM25 of a local row by given statistics; an auxiliary function of FTS5."""
    idfs, mean_tokens = given
    tokens = api.column_size(-1)
    total = 0.0
    for phrase, idf in enumerate(json.loads(idfs)):
        places = api.phrase_locations(phrase)
        count = sum(
            weight * len(found) for weight, found in zip(CHUNKS.weights, places, strict=True)
        )
        total += idf * term_share(count, tokens, mean_tokens)
    return total
