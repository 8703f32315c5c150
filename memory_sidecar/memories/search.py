"""Searches memories by text: the whole ranking, top-down.

    question ──▶ coverage: the share of its words, by idf, that a chunk or its labels hold
             └─▶ cosine of every chunk
    filters apply inside both ──▶ the best of each, scored by both: cosine + 0.3 · coverage
    ──▶ a memory counts as its best chunk ──▶ strength and losses ──▶ reranking ──▶ hits

An agent's own memories and the shared ones are ranked together, since every term means the same
in both databases. Nothing depends on row ids or on when a memory was indexed, so a rebuilt database
gives the same answers. `benchmarks/retrieval.py` measures the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np

from memory_sidecar.core.model import Explanation, SearchMode
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.arms import (
    SEARCH_POOL,
    Arm,
    Scores,
    explain_score,
    mask_allowed,
    weak_below,
)
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.keyword import (
    Keywords,
    keyword_scores,
    keyword_share,
    keywords_of,
    read_postings,
)
from memory_sidecar.index.vectors import EmbedQuery, Vector
from memory_sidecar.memories.hit import NAMED_FROM, WEAK_BELOW, RankedMemory, fit_budget, rerank
from memory_sidecar.memories.lists import ChosenChunks, MemoryRows, chosen_chunks
from memory_sidecar.memories.lookup import (
    ChunkPlace,
    first_by_path,
    named_chunks,
    read_passages,
    read_places,
)
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.memories.store import MEMORY_CHUNKS
from memory_sidecar.memories.strength import apply_strength

MAX_QUERY_CHARACTERS = 4000  # the model sees no more
DEPTH = 100  # best chunks whose memories are scored, at least
CHUNKS_A_HIT = 4  # best chunks for each hit that is wanted, at least
SPARE_HITS = 15  # hits read beyond those wanted: copies are dropped, and reranking may lift one
SPARE_EQUALS = 100  # chunks read beyond the depth: the last ones are often equally good
COVERAGE_WEIGHT = 0.3
OUTDATED_LOSS = 0.5  # share of its score that an outdated memory loses
OTHER_PROJECT_LOSS = 0.15  # share that a memory of another project than the preferred one loses
ASKED_LOSS = 0.05  # share that an outdated memory loses if outdated ones are asked for

# A path or an atom's id. A plain word is neither, even where a memory is called like it.
_NAME = re.compile(r"[^\s,;()\[\]\"'`]*(?:/|\.md\b|[A-Z]-\d)[^\s,;()\[\]\"'`?]*")


@dataclass(frozen=True, slots=True)
class Scope:
    """One database to search. Without `embed_query` it has no vector arm."""

    rows: MemoryRows
    store: DerivedStore
    embed_query: EmbedQuery | None


def search_memories(
    query: MemoryQuery, scopes: Sequence[Scope], *, judge: Judge | None
) -> list[RankedMemory]:
    """Find the best memories for `query` in all of `scopes`, best first, each content once.

    Keyword and vector mode rank by BM25 or cosine alone. Superseded, invalidated and expired
    memories lose half their score, or little if they are asked for; those of another project than
    `prefers` lose a part. `judge`, a cross-encoder, reorders the best hits in hybrid mode.
    """
    query = replace(query, text=query.text[:MAX_QUERY_CHARACTERS])
    searches = [_Search.of(query, scope) for scope in scopes]
    average = _average_cosine([search.meaning for search in searches])
    hits = [hit for search in searches for hit in search.hits(average)]
    hits.sort(key=lambda h: (-h.score, h.memory.is_outdated, h.memory.agent, h.memory.path))
    hits = list(_drop_copies(hits))
    if judge is not None and query.mode is SearchMode.HYBRID:
        hits = rerank(query.text, hits, judge)
    hits = [hit for hit in hits[: query.top_k] if hit.score >= query.min_score]
    return fit_budget(hits, query.max_tokens)


def _average_cosine(arms: Sequence[Arm]) -> float | None:
    """Return the mean cosine of the best DEPTH chunks of each database; `None` without vectors."""
    cosines = [np.sort(arm.scores)[-DEPTH:] for arm in arms if len(arm.ids)]
    return float(np.concatenate(cosines).mean()) if cosines else None


def _drop_copies(hits: Sequence[RankedMemory]) -> Iterator[RankedMemory]:
    """Drop a shared memory if the agent's own with the same content is among `hits`."""
    mine = {hit.memory.content for hit in hits if not hit.memory.shared}
    for hit in hits:
        if not (hit.memory.shared and hit.memory.content in mine):
            yield hit


@dataclass(frozen=True, slots=True)
class _Search:
    """The search of one database."""

    query: MemoryQuery
    scope: Scope
    words: Arm
    meaning: Arm

    @classmethod
    def of(cls, query: MemoryQuery, scope: Scope) -> _Search:
        """Ask both arms; the model embeds the question in another thread meanwhile."""
        embedding: Future[Vector] | None = None
        if scope.embed_query is not None and query.mode is not SearchMode.KEYWORD:
            embedding = SEARCH_POOL.submit(scope.embed_query, query.text)
        connection = scope.rows.connection
        chosen = chosen_chunks(scope.rows, query.filter)
        words, meaning = _word_arm(query, connection, chosen), Arm.silent()
        if embedding is not None:
            index = scope.store.vectors[MEMORY_CHUNKS]
            meaning = _filtered_arm(*index.cosines(embedding.result(), connection), chosen)
        return cls(query, scope, words, meaning)

    def hits(self, average: float | None) -> list[RankedMemory]:
        """Return at least `top_k` of the best memories, in no particular order.

        `average`: the cosine that is assumed for a chunk without a vector.
        """
        judged = _ChunkScores.of(self.query.mode, self.words, self.meaning, average)
        # Only these are read whole; of the other candidates only what ranks them was read.
        ranked = self._rank_memories(judged)[: self.query.top_k + SPARE_HITS]
        rows = self.scope.rows
        memories = rows.read([each.place.memory for each in ranked])
        ranked = [each for each in ranked if each.place.memory in memories]
        passages = read_passages(rows.connection, [each.place.chunk for each in ranked])
        return [
            RankedMemory(
                memory=memories[each.place.memory].memory,
                passage=passages[each.place.chunk],
                text=memories[each.place.memory].memory.content,
                score=each.score,
                explanation=explanation,
                weak_below=weak_below(self.query.text, self.query.mode, explanation, WEAK_BELOW),
            )
            for each, explanation in ((each, judged.explain(each)) for each in ranked)
        ]

    def _rank_memories(self, judged: _ChunkScores) -> list[_Candidate]:
        """Rank the memories of the best chunks, and those that the question names, best first."""
        connection = self.scope.rows.connection
        rows, named = self._best_rows(judged), []
        if self.query.mode is SearchMode.HYBRID:
            named = named_chunks(connection, _NAME.findall(self.query.text))
            rows = np.union1d(rows, judged.rows_of(named))
        places = read_places(connection, judged.ids[rows], now=self.scope.rows.now)
        best: dict[int, _Candidate] = {}  # by memory
        for row in sorted(rows.tolist(), key=lambda row: (-judged.scores[row], row)):
            place = places.get(int(judged.ids[row]))
            if place is not None and place.memory not in best:
                is_named, losses = place.chunk in named, self._losses(place)
                best[place.memory] = judged.candidate(row, place, is_named=is_named, losses=losses)
        return sorted(best.values(), key=lambda c: (-c.score, c.place.is_outdated, c.place.path))

    def _losses(self, place: ChunkPlace) -> dict[str, float]:
        """Return the shares of its score that a memory loses, by reason."""
        wanted, prefers = self.query.filter, self.query.prefers
        losses = {}
        if prefers and place.project not in ("", prefers):
            losses["other_project"] = OTHER_PROJECT_LOSS
        if place.is_outdated:
            is_asked_for = wanted.with_expired or wanted.with_superseded
            losses["outdated"] = ASKED_LOSS if is_asked_for else OUTDATED_LOSS
        return losses

    def _best_rows(self, judged: _ChunkScores) -> Ids:
        """Return the rows of the best chunks; of equally good ones at the end the first by path."""
        depth = _depth(self.query)
        if len(judged.ids) <= depth:
            return np.arange(len(judged.ids))
        limit = np.partition(judged.scores, -depth)[-depth]
        above = np.flatnonzero(judged.scores > limit)
        equal = judged.ids[judged.scores == limit]
        if len(above) + len(equal) == depth:
            return np.concatenate([above, judged.rows_of(equal)])
        first = first_by_path(self.scope.rows.connection, equal, limit=depth - len(above))
        return np.concatenate([above, judged.rows_of(first)])


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory by its best chunk."""

    row: int  # of that chunk in `_ChunkScores`
    place: ChunkPlace
    score: float
    steps: dict[str, float]  # the summands that turn the relevance into the score, by reason
    losses: Mapping[str, float]  # the shares of it that were lost, by reason


@dataclass(frozen=True, slots=True)
class _ChunkScores:
    """The scores of every chunk that either arm knows: arrays (n,), by ascending id."""

    ids: Ids
    cosine: Scores  # NaN: that arm has no opinion
    keyword: Scores
    summands: dict[str, Scores]
    scores: Scores  # 0…1: the sum of the summands

    @classmethod
    def of(cls, mode: SearchMode, words: Arm, meaning: Arm, average: float | None) -> _ChunkScores:
        """Combine the two arms. A chunk without a vector yet gets the cosine `average`."""
        ids = _union(words.ids, meaning.ids)
        cosine, keyword = meaning.scores_of(ids), words.scores_of(ids)
        match mode:
            case SearchMode.KEYWORD:
                summands = {"keyword": np.nan_to_num(keyword)}
            case SearchMode.VECTOR:
                summands = {"cosine": np.nan_to_num(cosine)}
            case SearchMode.HYBRID:
                full = COVERAGE_WEIGHT + (0.0 if average is None else 1.0)
                summands = {
                    "cosine": np.nan_to_num(cosine) / full,
                    "assumed": np.where(np.isnan(cosine), average or 0.0, 0.0) / full,
                    "keyword": COVERAGE_WEIGHT * np.nan_to_num(keyword) / full,
                }
        relevance = sum(summands.values(), np.zeros(len(ids)))
        return cls(ids, cosine, keyword, summands, np.clip(relevance, 0.0, 1.0))

    def rows_of(self, ids: Sequence[int] | Ids) -> Ids:
        """Return the rows of those of `ids` that have scores here."""
        wanted = np.asarray(ids, np.int64)
        return np.searchsorted(self.ids, wanted[mask_allowed(wanted, self.ids)])

    def candidate(
        self, row: int, place: ChunkPlace, *, is_named: bool, losses: Mapping[str, float]
    ) -> _Candidate:
        relevance = NAMED_FROM * float(self.scores[row])
        share = apply_strength(float(self.scores[row]), place.strength)
        steps = {"strength": NAMED_FROM * share - relevance}
        if is_named:
            steps["named"] = NAMED_FROM + (1 - NAMED_FROM) * share - NAMED_FROM * share
        for name, loss in losses.items():
            steps[name] = -loss * (relevance + sum(steps.values()))
        return _Candidate(row, place, relevance + sum(steps.values()), steps, losses)

    def explain(self, candidate: _Candidate) -> Explanation:
        row = candidate.row
        return explain_score(
            {name: float(values[row]) for name, values in self.summands.items()},
            candidate.score,
            cosine=self.cosine[row],
            keyword=self.keyword[row],
            boosts={
                "strength": apply_strength(1.0, candidate.place.strength) - 1.0,
                "named": float("named" in candidate.steps),
                **{name: -loss for name, loss in candidate.losses.items()},
            },
            steps=candidate.steps,
        )


def _word_arm(query: MemoryQuery, connection: Connection, chosen: ChosenChunks) -> Arm:
    if query.mode is SearchMode.VECTOR:
        return Arm.silent()
    keywords = keywords_of(connection, MEMORY_CHUNKS, query.text)
    if query.mode is SearchMode.KEYWORD:
        return _filtered_arm(*_best_by_words(query, connection, keywords, chosen), chosen)
    postings = read_postings(connection, MEMORY_CHUNKS, keywords)
    return _filtered_arm(*postings.coverage(), chosen)


def _best_by_words(
    query: MemoryQuery, connection: Connection, keywords: Keywords, chosen: ChosenChunks
) -> tuple[Ids, Floats]:
    """Rank chunks by BM25: at least `_depth` of the best, with all that equal the last of them."""
    wanted = _depth(query) + len(chosen.never)
    limit = wanted + SPARE_EQUALS if chosen.only is None else None
    ids, bm25 = keyword_scores(connection, MEMORY_CHUNKS, keywords, limit=limit)
    shares = keyword_share(bm25)
    if len(ids) == limit and shares[-1] == shares[wanted - 1]:  # more may be as good
        ids, bm25 = keyword_scores(connection, MEMORY_CHUNKS, keywords, limit=None)
        shares = keyword_share(bm25)
    return ids, shares


def _depth(query: MemoryQuery) -> int:
    """Return how many of the best chunks have their memories scored."""
    return max(DEPTH, CHUNKS_A_HIT * query.top_k)


def _filtered_arm(ids: Ids, scores: Floats, chosen: ChosenChunks) -> Arm:
    if len(chosen.never):
        kept = ~mask_allowed(ids, chosen.never)
        ids, scores = ids[kept], scores[kept]
    return Arm.of(ids, scores, chosen.only)


def _union(*parts: Ids) -> Ids:
    """Merge sorted ids, each once. On sorted parts this is faster than `np.unique`."""
    merged = np.sort(np.concatenate(parts), kind="stable")
    return merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged
