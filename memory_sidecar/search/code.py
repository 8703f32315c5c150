"""A query becomes hits: this is the whole way, top-down.

    query ──▶ keyword arm: BM25 of every chunk that holds one of its words
          └─▶ vector arm: cosine of every chunk
    filters apply inside both ──▶ the best of each, judged by both ──▶ fusion ──▶ hits

Both arms answer for all candidates, so that a chunk which one arm found is judged by the other
too, and either can move the other's first. Everything is read from one commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_sidecar.model import Chunk, CodeHit, CodeQuery, Explanation, SearchMode
from memory_sidecar.search.filters import Ids, allowed_chunks, among
from memory_sidecar.search.fusion import Asides, Floats, keyword_share, keyword_weight
from memory_sidecar.search.named import Names, named_chunks, names_in
from memory_sidecar.sqlite import Connection
from memory_sidecar.store.codebase import CodeStore, Vector
from memory_sidecar.store.keyword import keyword_scores, query_terms
from memory_sidecar.store.lookup import StoredChunk, read_chunks

DEPTH = 200  # candidates from each arm; more changed no result on any measured set
KEYWORD_DEPTH = 1000  # of which the keyword share is known
FILE_SHARE = 0.3  # of what a file's next chunks have above the common level
FILE_CHUNKS = 3
CHARACTERS_PER_TOKEN = 4


def search_code(
    query: CodeQuery, *, store: CodeStore, query_vector: Vector | None
) -> list[CodeHit]:
    """The best chunks for `query`, best first.

    `query_vector` is a unit vector (384,) of the query's text; `None` leaves the vector arm out.
    """
    with store.reading() as connection:
        allowed = allowed_chunks(connection, query.filter)
        arms = _Arms.run(query, connection, store, query_vector, allowed)
        names = names_in(query.text)
        wanted = _candidates(arms, named_chunks(connection, names), allowed)
        candidates = [_Candidate(stored) for stored in read_chunks(connection, wanted.tolist())]
    ranked = _rank(query, candidates, arms, names)
    return _within_budget(ranked[: query.top_k], query.max_tokens)


@dataclass(frozen=True, slots=True)
class _Arms:
    """What each arm says of every chunk it knows, by sorted id; an arm that is off is `None`."""

    keyword: tuple[Ids, Floats] | None
    vector: tuple[Ids, Floats] | None

    @classmethod
    def run(
        cls,
        query: CodeQuery,
        connection: Connection,
        store: CodeStore,
        query_vector: Vector | None,
        allowed: Ids | None,
    ) -> _Arms:
        keyword = vector = None
        if query.mode is not SearchMode.VECTOR:
            limit = KEYWORD_DEPTH if allowed is None else None
            ids, bm25 = keyword_scores(connection, query_terms(query.text), limit=limit)
            keyword = _sorted(ids, keyword_share(bm25), allowed)
        if query.mode is not SearchMode.KEYWORD and query_vector is not None:
            vector = _sorted(*store.vectors.cosines(query_vector, connection), allowed)
        return cls(keyword=keyword, vector=vector)


def _sorted(ids: Ids, scores: Floats, allowed: Ids | None) -> tuple[Ids, Floats]:
    kept = among(ids, allowed)
    ids, scores = ids[kept], scores[kept]
    order = np.argsort(ids)
    return ids[order], scores[order]


def _candidates(arms: _Arms, named: Sequence[int], allowed: Ids | None) -> Ids:
    best = [_best(*arm) for arm in (arms.keyword, arms.vector) if arm is not None]
    extra = np.array(named, np.int64)
    return np.unique(np.concatenate([*best, extra[among(extra, allowed)]]))


def _best(ids: Ids, scores: Floats) -> Ids:
    if len(ids) <= DEPTH:
        return ids
    return ids[np.argpartition(scores, -DEPTH)[-DEPTH:]]


@dataclass(slots=True)
class _Candidate:
    """A chunk under judgement."""

    stored: StoredChunk
    cosine: float | None = None
    keyword: float | None = None
    boosts: dict[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    is_named: bool = False


def _rank(
    query: CodeQuery, candidates: list[_Candidate], arms: _Arms, names: Names
) -> list[CodeHit]:
    weight = keyword_weight(query.text) if query.mode is SearchMode.HYBRID else 1.0
    asides = Asides.for_query(query.text)
    keyword, cosine = _look_up(arms.keyword, candidates), _look_up(arms.vector, candidates)
    for at, candidate in enumerate(candidates):
        candidate.keyword, candidate.cosine = keyword[at], cosine[at]
        candidate.relevance = (candidate.cosine or 0.0) + weight * (candidate.keyword or 0.0)
        if query.mode is SearchMode.HYBRID:
            candidate.boosts = asides.penalties(candidate.stored.filename)
            _note_names(candidate, names)
    if query.mode is SearchMode.HYBRID:
        _lend_within_files(candidates)
    highest = (1.0 if arms.vector is not None else 0.0) + (weight if arms.keyword else 0.0)
    hits = [_hit(candidate, highest) for candidate in candidates]
    return sorted(hits, key=lambda h: (-h.score, h.source, h.filename, h.chunk.start_line))


def _look_up(
    arm: tuple[Ids, Floats] | None, candidates: Sequence[_Candidate]
) -> list[float | None]:
    if arm is None or not len(arm[0]):
        return [None] * len(candidates)
    ids, scores = arm
    wanted = np.fromiter((c.stored.chunk_id for c in candidates), np.int64, len(candidates))
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    known = ids[at] == wanted
    return [float(scores[i]) if ok else None for i, ok in zip(at, known, strict=True)]


def _note_names(candidate: _Candidate, names: Names) -> None:
    if names.defined_by(candidate.stored.chunk.symbols, candidate.stored.chunk.scope):
        candidate.boosts["exact_symbol"] = 1.0
        candidate.is_named = True
    if names.locate(candidate.stored.filename):
        candidate.boosts["exact_path"] = 1.0
        candidate.is_named = True


def _lend_within_files(candidates: Sequence[_Candidate]) -> None:
    """A file with several good chunks counts more than one with a single lucky one.

    Each chunk gains a share of what the file's next best chunks have above the common level,
    the level of the last candidate of an arm.
    """
    by_file: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in candidates:
        by_file.setdefault((candidate.stored.source, candidate.stored.filename), []).append(
            candidate
        )
    relevances = sorted((c.relevance for c in candidates), reverse=True)
    common = relevances[min(DEPTH, len(relevances)) - 1] if relevances else 0.0
    for chunks in by_file.values():
        chunks.sort(key=lambda c: -c.relevance)
        above = [max(c.relevance - common, 0.0) for c in chunks[: FILE_CHUNKS + 1]]
        for at, candidate in enumerate(chunks):
            others = sum(above[:at] + above[at + 1 :]) if at < len(above) else sum(above[:-1])
            if others:
                candidate.boosts["same_file"] = FILE_SHARE * others


def _hit(candidate: _Candidate, highest: float) -> CodeHit:
    bonus = sum(value for name, value in candidate.boosts.items() if not name.startswith("exact"))
    score = min(max((candidate.relevance + bonus) / highest, 0.0), 1.0) if highest else 0.0
    if candidate.is_named:
        score = 0.9 + score / 10  # above what anything unnamed reaches, in its own order
    return CodeHit(
        source=candidate.stored.source,
        filename=candidate.stored.filename,
        language=candidate.stored.language,
        chunk=candidate.stored.chunk,
        score=score,
        explanation=Explanation(
            cosine=candidate.cosine, keyword=candidate.keyword, boosts=candidate.boosts
        ),
    )


def _within_budget(hits: Sequence[CodeHit], max_tokens: int | None) -> list[CodeHit]:
    """As many hits as fit; the one that does not fit is cut at a line."""
    if max_tokens is None:
        return list(hits)
    left = max_tokens * CHARACTERS_PER_TOKEN
    kept = []
    for hit in hits:
        chunk = _cut(hit.chunk, left)
        if chunk is None:
            break
        kept.append(replace(hit, chunk=chunk))
        left -= len(chunk.code)
    return kept


def _cut(chunk: Chunk, characters: int) -> Chunk | None:
    if len(chunk.code) <= characters:
        return chunk
    end = chunk.code.rfind("\n", 0, characters + 1)
    if end <= 0:
        return None
    code = chunk.code[:end]
    return replace(chunk, code=code, end_line=chunk.start_line + code.count("\n"))
