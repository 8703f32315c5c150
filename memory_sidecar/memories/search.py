"""Searches memories by text: the whole ranking, top-down.

    question ──▶ coverage: the share of its words and identifiers, by idf, that a chunk holds
             └─▶ cosine of every chunk
    filters apply inside both ──▶ the best of each, scored by both: cosine + 0.3 · coverage
        + 0.2 for what is from the time that the question names
    ──▶ a memory counts as its best chunk ──▶ strength and losses ──▶ reranking ──▶ hits

An agent's own memories and the shared ones are ranked together, since every term means the same
in both databases. Nothing depends on row ids or on when a memory was indexed, so a rebuilt database
gives the same answers. `benchmarks/retrieval.py` measures the whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np

from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.atoms import Standing, standing_of
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.arms import SEARCH_POOL, Arm
from memory_sidecar.index.asked_time import NO_LIFT, AskedTime, Lift, asked_time
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.identifiers import with_identifiers
from memory_sidecar.index.ids import distinct, mask_allowed, places_of
from memory_sidecar.index.keyword import (
    Keywords,
    keyword_scores,
    keyword_share,
    keywords_of,
    read_postings,
)
from memory_sidecar.index.project_name import without_project
from memory_sidecar.index.scored import NAMED_FROM, ScoredRows, lift_named, weak_below
from memory_sidecar.index.tongue import content_of, embed_subject
from memory_sidecar.index.vectors import EmbedQuery, Vector, stored_vector
from memory_sidecar.index.words import is_mostly_foreign
from memory_sidecar.memories.hit import (
    MAX_JUDGED,
    WEAK_BELOW,
    RankedMemory,
    Searched,
    place_of,
    stem_of,
)
from memory_sidecar.memories.lists import ChosenChunks, MemoryRows, chosen_chunks, chunks_written
from memory_sidecar.memories.lookup import (
    MAX_NAMES,
    ChunkPlace,
    first_by_path,
    named_chunks,
    projects_among,
    read_passages,
    read_places,
)
from memory_sidecar.memories.model import MemoryQuery, StoredMemory
from memory_sidecar.memories.store import MEMORY_CHUNKS
from memory_sidecar.memories.strength import kept_share

DEPTH = 100  # best chunks whose memories are scored, at least
CHUNKS_A_HIT = 4  # best chunks for each hit that is wanted, at least
SPARE_HITS = 15  # hits read beyond those wanted: copies are dropped, and reranking may lift one
SPARE_EQUALS = 100  # chunks read beyond the depth: the last ones are often equally good
COVERAGE_WEIGHT = 0.3
TIME_WEIGHT = 0.2  # of being from the time that the question names
OUTDATED_LOSS = 0.5  # share of its score that an outdated memory loses
OTHER_PROJECT_LOSS = 0.15  # share that a memory of another project than the preferred one loses
ASKED_LOSS = 0.05  # share that an outdated memory loses if outdated ones are asked for

# A path or an atom's id. A plain word is neither, even where a memory is called like it.
_NAME = re.compile(r"[^\s,;()\[\]\"'`]*(?:/|\.md\b|[A-Z]-\d)[^\s,;()\[\]\"'`?]*")

_WORD = re.compile(r"\w[\w.-]*\b")


@dataclass(frozen=True, slots=True)
class Readable:
    """An agent whose memories may be read, its store, and the memories in one commit of that."""

    agent: AgentDatabase
    store: DerivedStore
    rows: MemoryRows
    embed_query: EmbedQuery | None = None  # without it there is no vector arm


def search_memories(query: MemoryQuery, readable: Sequence[Readable]) -> Searched:
    """Find the memories for `query` in all of `readable`.

    Keyword and vector mode rank by BM25 or cosine alone. Superseded, invalidated and expired
    memories lose half their score, or little if they are asked for; those of another project than
    `prefers` lose a part. Both models are made for English: neither counts for a question that is
    mostly in another script, if anything holds its words. `query.rerank`: whether a cross-encoder
    is to judge the hits.
    """
    query = _about_project(query, readable)
    time = None
    if query.mode is SearchMode.HYBRID and readable:
        time = asked_time(query.text, now=readable[0].rows.now)
    query = replace(query, text=time.rest) if time else query
    searches = [_Search.of(query, time, each) for each in readable]
    if is_mostly_foreign(query.text) and any(len(search.words.ids) for search in searches):
        query = replace(query, rerank=False)
        searches = [replace(search, query=query, meaning=Arm.silent()) for search in searches]
    average = _average_cosine([search.meaning for search in searches])
    hits = sorted((hit for each in searches for hit in each.hits(average)), key=place_of)
    return Searched(hits, query.text if query.rerank else "")


def _about_project(query: MemoryQuery, readable: Sequence[Readable]) -> MemoryQuery:
    """Return `query` without the name of the project that it is about, whose memories it prefers.

    It is one that the text names: the filter's, that of a memory, or the one that it is asked in.
    """
    text = query.searched
    if query.mode is SearchMode.HYBRID:
        words = dict.fromkeys(_WORD.findall(text)[:MAX_NAMES])
        written = [*words, *map(str.lower, words)]
        known = [p for each in readable for p in projects_among(each.rows.connection, written)]
        for project in filter(None, (query.filter.project, *known, query.prefers)):
            if (rest := without_project(text, project)) != text:
                return replace(query, text=rest, prefers=project)
    return replace(query, text=text)


def _average_cosine(arms: Sequence[Arm]) -> float | None:
    """Return the mean cosine of the best DEPTH chunks of each database; `None` without vectors."""
    cosines = [np.sort(arm.scores)[-DEPTH:] for arm in arms if len(arm.ids)]
    return float(np.concatenate(cosines).mean()) if cosines else None


@dataclass(frozen=True, slots=True)
class _Search:
    """The search of one database."""

    query: MemoryQuery
    rows: MemoryRows
    words: Arm
    meaning: Arm
    time: AskedTime | None  # that the question is about
    lift: Lift  # of what is from then

    @classmethod
    def of(cls, query: MemoryQuery, time: AskedTime | None, readable: Readable) -> _Search:
        """Ask both arms; the model embeds the question in another thread meanwhile."""
        embedding: Future[Vector] | None = None
        if readable.embed_query is not None:
            embedding = SEARCH_POOL.submit(embed_subject, readable.embed_query, query.text)
        rows = readable.rows
        chosen = chosen_chunks(rows, query.filter)
        words, meaning = _word_arm(query, rows.connection, chosen), Arm.silent()
        if embedding is not None:
            view = readable.store.indexes[MEMORY_CHUNKS.vector_table].view(rows.connection)
            meaning = _filtered_arm(*view.cosines(embedding.result()), chosen)
        lift = NO_LIFT
        if time is not None:
            written = chunks_written(rows, time.start, time.end)
            lift = time.lift(rows.connection, MEMORY_CHUNKS, written, TIME_WEIGHT)
        return cls(query, rows, words, meaning, time, lift)

    def hits(self, average: float | None) -> list[RankedMemory]:
        """Return at least `top_k` of the best memories, in no particular order.

        `average`: the cosine that is assumed for a chunk without a vector.
        """
        rows = self.rows
        chunks = self._score_chunks(distinct(self.words.ids, self.meaning.ids), average)
        places, named = self._best_places(chunks)
        best = self._score_chunks(np.array([each.chunk for each in places], np.int64), average)
        ranked = self._score_memories(best, places, named)
        order = sorted(
            range(len(places)),
            key=lambda at: (-ranked.scores[at], places[at].is_outdated, stem_of(places[at].path)),
        )
        # Only these are read whole; of the other candidates only what ranks them was read.
        count, memories = self.query.top_k + SPARE_HITS, dict[int, StoredMemory]()
        for first in range(0, len(order), count):
            memories |= rows.read([places[at].memory for at in order[first : first + count]])
            if len(memories) >= count:  # else some files are gone
                break
        order = [at for at in order if places[at].memory in memories][:count]
        chunks_read = [places[at].chunk for at in order]
        passages = read_passages(rows.connection, chunks_read)
        vectors = {
            chunk: stored_vector(rows.connection, MEMORY_CHUNKS.vector_table, chunk)
            for chunk in chunks_read[: MAX_JUDGED if self.query.rerank else 0]
        }
        return [
            RankedMemory(
                memory=memories[place.memory].memory,
                passage=passages[place.chunk],
                vector=vectors.get(place.chunk),
                score=float(ranked.scores[at]),
                explanation=why,
                weak_below=weak_below(self.query, why, WEAK_BELOW, self.time)
                + why.terms.get("strength", 0.0),
            )
            for at in order
            for place, why in [(places[at], ranked.explain(at))]
        ]

    def _score_chunks(self, ids: Ids, average: float | None) -> ScoredRows:
        """Score the chunks `ids` by the arms that the mode says; `average` is as in `hits`."""
        if self.query.mode is not SearchMode.HYBRID:
            arm = self.words if self.query.mode is SearchMode.KEYWORD else self.meaning
            return ScoredRows.by_arm(self.query.mode, ids, arm.scores_of(ids))
        cosine, keyword = self.meaning.scores_of(ids), self.words.scores_of(ids)
        full = COVERAGE_WEIGHT + (0.0 if average is None else 1.0)
        full += self.lift.full
        summands = {
            "cosine": np.nan_to_num(cosine) / full,
            "assumed": np.where(np.isnan(cosine), average or 0.0, 0.0) / full,
            "keyword": COVERAGE_WEIGHT * np.nan_to_num(keyword) / full,
            "time": self.lift.of(ids) / full,
        }
        relevance = sum(summands.values(), np.zeros(len(ids)))
        return ScoredRows(ids, cosine, keyword, summands, np.clip(relevance, 0.0, 1.0))

    def _best_places(self, chunks: ScoredRows) -> tuple[list[ChunkPlace], Collection[int]]:
        """Return the best chunk of each memory, and the chunks of memories that the question names.

        Memories are those of the best of `chunks`, and those that are named.
        """
        connection, named = self.rows.connection, list[int]()
        rows = self._best_rows(chunks)
        if self.query.mode is SearchMode.HYBRID:
            named = named_chunks(connection, _NAME.findall(self.query.text))
            rows = distinct(rows, places_of(np.array(named, np.int64), chunks.ids))
        places = read_places(connection, chunks.ids[rows], now=self.rows.now)
        best: dict[int, ChunkPlace] = {}  # by memory
        for row in sorted(rows.tolist(), key=lambda row: (-chunks.scores[row], row)):
            if place := places.get(int(chunks.ids[row])):
                best.setdefault(place.memory, place)
        return list(best.values()), named

    def _score_memories(
        self, chunks: ScoredRows, places: Sequence[ChunkPlace], named: Collection[int]
    ) -> ScoredRows:
        """Return the scores of memories, given the best chunk of each and the place of that."""
        wanted, prefers = self.query.filter, self.query.prefers
        outdated = {standing_of(each.lower()) for each in wanted.statuses} - {Standing.ACTIVE}
        is_asked_for = wanted.with_expired or wanted.with_superseded or outdated
        kept = np.array([kept_share(each.strength) for each in places])
        is_named = np.array([each.chunk in named for each in places], np.float64)
        homes = ("", prefers)
        is_elsewhere = [bool(prefers) and each.project not in homes for each in places]
        is_outdated = np.array([each.is_outdated for each in places], np.float64)
        losses = {
            "other_project": OTHER_PROJECT_LOSS * np.array(is_elsewhere, np.float64),
            "outdated": (ASKED_LOSS if is_asked_for else OUTDATED_LOSS) * is_outdated,
        }
        relevance, share = NAMED_FROM * chunks.scores, chunks.scores * kept
        steps = {"strength": NAMED_FROM * share - relevance, "named": is_named * lift_named(share)}
        for name, loss in losses.items():
            steps[name] = -loss * (relevance + sum(steps.values()))
        boosts = {"strength": kept - 1.0, "named": is_named}
        boosts |= {name: -loss for name, loss in losses.items()}
        scores = relevance + sum(steps.values())
        return replace(chunks, scores=scores, boosts=boosts, steps=steps)

    def _best_rows(self, chunks: ScoredRows) -> Ids:
        """Return the rows of the best chunks; among equally good last ones, the first by path."""
        depth = _depth(self.query)
        if len(chunks.ids) <= depth:
            return np.arange(len(chunks.ids))
        limit = np.partition(chunks.scores, -depth)[-depth]
        above = np.flatnonzero(chunks.scores > limit)
        equal = np.flatnonzero(chunks.scores == limit)
        if len(above) + len(equal) > depth:
            first = first_by_path(self.rows.connection, chunks.ids[equal], limit=depth - len(above))
            equal = places_of(np.array(first, np.int64), chunks.ids)
        return np.concatenate([above, equal])


def _word_arm(query: MemoryQuery, connection: Connection, chosen: ChosenChunks) -> Arm:
    if query.mode is SearchMode.VECTOR:
        return Arm.silent()
    keywords = keywords_of(connection, MEMORY_CHUNKS, query.text)
    if query.mode is SearchMode.KEYWORD:
        return _filtered_arm(*_best_by_words(query, connection, keywords, chosen), chosen)
    keywords = content_of(keywords, query.text)
    postings = read_postings(connection, MEMORY_CHUNKS, keywords)
    postings = with_identifiers(postings, connection, MEMORY_CHUNKS, keywords)
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
