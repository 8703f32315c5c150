"""A question becomes memories: this is the whole way, top-down.

    question ──▶ keyword arm and vector arm over the chunks of each agent's database,
                 filters applied inside both ──▶ the best of each, judged by both ──▶ a memory
                 counts as much as its best chunk ──▶ strength nudges ──▶ hits

An agent's own memories and the shared ones are ranked together: every term means the same in
both databases. Nothing depends on row ids or on when a memory was indexed, so that a database
that was made again gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from memory_sidecar.memory_model import MemoryQuery, StoredMemory
from memory_sidecar.model import SearchMode
from memory_sidecar.search.arms import Arm
from memory_sidecar.store.agent import AgentStore
from memory_sidecar.store.keyword import keyword_scores, keywords_of
from memory_sidecar.store.memories import MEMORY_CHUNKS, MemoryChunk
from memory_sidecar.store.memory_lists import allowed_chunks, read_memories, read_passages
from memory_sidecar.store.vectors import Floats, Vector
from memory_sidecar.strength import faded

MAX_QUERY_CHARACTERS = 4000  # the model sees no more
DEPTH = 100  # candidates from each arm
BM25_HALF = 10.0  # the BM25 that gives half of the keyword share
KEYWORD_WEIGHT = 0.3

EmbedQuery = Callable[[str], Vector]
"""The unit vector (384,) of a question."""

_embedding = ThreadPoolExecutor(2, thread_name_prefix="question")


@dataclass(frozen=True, slots=True)
class Scope:
    """One database to search. Without `embed_query` it has no vector arm."""

    agent: str
    store: AgentStore
    embed_query: EmbedQuery | None


@dataclass(frozen=True, slots=True)
class MemoryExplanation:
    """Why a hit stands where it stands. `None`: that arm had no opinion."""

    cosine: float | None
    keyword: float | None  # 0…1
    strength: float  # 0…1


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A ranked memory. `score` lies in 0…1 and falls with rank."""

    agent: str  # whose it is
    found: StoredMemory
    passage: MemoryChunk  # the part of it that matches best
    score: float
    explanation: MemoryExplanation


def search_memories(query: MemoryQuery, scopes: Sequence[Scope], *, now: int) -> list[MemoryHit]:
    """The best memories for `query` in all of `scopes`, best first."""
    text = query.text[:MAX_QUERY_CHARACTERS]
    hits = [hit for scope in scopes for hit in _search_scope(replace(query, text=text), scope, now)]
    hits.sort(key=lambda hit: (_is_last(hit), -hit.score, hit.agent, hit.found.memory.path))
    return hits[: query.top_k]


def _search_scope(query: MemoryQuery, scope: Scope, now: int) -> list[MemoryHit]:
    embedding = None
    if scope.embed_query is not None and query.mode is not SearchMode.KEYWORD:
        embedding = _embedding.submit(scope.embed_query, query.text)
    with scope.store.reading() as connection:
        allowed = allowed_chunks(connection, query.filter, now=now)
        keyword_arm = vector_arm = Arm.silent()
        if query.mode is not SearchMode.VECTOR:
            keywords = keywords_of(connection, MEMORY_CHUNKS, query.text)
            ids, bm25 = keyword_scores(connection, MEMORY_CHUNKS, keywords, limit=None)
            keyword_arm = Arm.of(ids, _keyword_share(bm25), allowed)
        if embedding is not None:
            index = scope.store.vectors[MEMORY_CHUNKS]
            vector_arm = Arm.of(*index.cosines(embedding.result(), connection), allowed)
        wanted = np.unique(np.concatenate([keyword_arm.best(DEPTH), vector_arm.best(DEPTH)]))
        passages = read_passages(connection, wanted)
        cosines, keyword = vector_arm.scores_of(wanted), keyword_arm.scores_of(wanted)
        known = ~np.isnan(cosines)
        average = float(cosines[known].mean()) if known.any() else 0.0
        relevance = np.where(known, cosines, average) + KEYWORD_WEIGHT * np.nan_to_num(keyword)
        best: dict[int, int] = {}
        for row in np.argsort(-relevance, kind="stable").tolist():
            if passage := passages.get(int(wanted[row])):
                best.setdefault(passage.memory, row)
        memories = read_memories(connection, list(best), now=now)
    full = (1.0 if known.any() else 0.0) + KEYWORD_WEIGHT
    hits = []
    for key, row in best.items():
        if (stored := memories.get(key)) is None:
            continue
        score = float(1 - np.exp(-1.8 * max(relevance[row], 0.0) / full))
        hits.append(
            MemoryHit(
                agent=scope.agent,
                found=stored,
                passage=passages[int(wanted[row])].chunk,
                score=faded(score, stored.strength),
                explanation=MemoryExplanation(
                    cosine=float(cosines[row]) if known[row] else None,
                    keyword=None if np.isnan(keyword[row]) else float(keyword[row]),
                    strength=stored.strength,
                ),
            )
        )
    return hits


def _is_last(hit: MemoryHit) -> bool:
    return hit.found.is_superseded or hit.found.is_expired


def _keyword_share(bm25: Floats) -> Floats:
    return (bm25 / (bm25 + BM25_HALF)).astype(np.float32)
