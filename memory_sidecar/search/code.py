"""A query becomes hits: this is the whole way, top-down.

    query ──▶ keyword arm: BM25 of every chunk that holds one of its words
          └─▶ vector arm: cosine of every chunk
    filters apply inside both ──▶ the best of each, judged by both ──▶ fusion ──▶ hits

Both arms answer for all candidates, so that a chunk which one arm found is judged by the other
too, and either can move the other's first. Everything is read from one commit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_sidecar.model import Chunk, CodeHit, CodeQuery, Explanation, SearchMode
from memory_sidecar.search.filters import Ids, allowed_chunks, among
from memory_sidecar.search.fusion import PATH_WEIGHT, Floats, Question, keyword_share
from memory_sidecar.search.named import Names, named_chunks, names_in
from memory_sidecar.store.codebase import CHUNKS, CodeStore
from memory_sidecar.store.keyword import keyword_scores, keywords_of, stems_of
from memory_sidecar.store.lookup import StoredChunk, read_chunks
from memory_sidecar.store.vectors import Vector

MAX_QUERY_CHARACTERS = 4000  # the model sees no more, and some patterns are quadratic in it
DEPTH = 200  # candidates from each arm; 100 are as good on every measured set
KEYWORD_DEPTH = 1000  # of which the keyword share is known
FILE_SHARE = 0.3  # of what a file's next best chunks have above the common level
FILE_CHUNKS = 4
COMMON_RANK = 50  # the candidate whose relevance is the common level
CHARACTERS_PER_TOKEN = 4

EmbedQuery = Callable[[str], Vector]
"""The unit vector (384,) of a question."""


def search_code(
    query: CodeQuery, *, store: CodeStore, embed_query: EmbedQuery | None
) -> list[CodeHit]:
    """The best chunks for `query`, best first. Without `embed_query` there is no vector arm.

    Keyword and vector mode are the plain arms: the text as it is, by BM25 or cosine alone.
    """
    text = query.text[:MAX_QUERY_CHARACTERS]
    question = Question.of(text)
    vector: Vector | None = None
    if query.mode is not SearchMode.KEYWORD and embed_query is not None:
        wordings = question.wordings if query.mode is SearchMode.HYBRID else (text,)
        vectors = np.stack([embed_query(wording) for wording in wordings])
        vector = vectors.mean(axis=0)
    names = names_in(text)
    with store.reading() as connection:
        allowed = allowed_chunks(connection, query.filter)
        is_hybrid = query.mode is SearchMode.HYBRID
        keywords = keywords_of(connection, CHUNKS, question.subject if is_hybrid else text)
        keyword_arm = vector_arm = None
        if query.mode is not SearchMode.VECTOR:
            limit = KEYWORD_DEPTH if allowed is None else None
            ids, bm25 = keyword_scores(connection, CHUNKS, keywords, limit=limit)
            keyword_arm = _sorted(ids, keyword_share(bm25), allowed)
        if vector is not None:
            vector_arm = _sorted(*store.vectors[CHUNKS].cosines(vector, connection), allowed)
        arms = _Arms(keyword_arm, vector_arm)
        named = named_chunks(connection, names) if is_hybrid else []
        wanted = _candidates(arms, named, allowed)
        candidates = [_Candidate(stored) for stored in read_chunks(connection, wanted.tolist())]
        arms.judge(candidates)
        if is_hybrid:
            for path, inside in _by_file(candidates).items():
                coverage = keywords.coverage(stems_of(connection, path[1]))
                for candidate in inside:
                    candidate.path_coverage = coverage
    ranked = _rank(query.mode, question, candidates, names)
    return _within_budget(ranked[: query.top_k], query.max_tokens)


@dataclass(frozen=True, slots=True)
class _Arms:
    """What each arm says of every chunk it knows, by sorted id; an arm that is off is `None`."""

    keyword: tuple[Ids, Floats] | None
    vector: tuple[Ids, Floats] | None

    def judge(self, candidates: Sequence[_Candidate]) -> None:
        """Note what both arms say of `candidates`."""
        keyword, cosine = _look_up(self.keyword, candidates), _look_up(self.vector, candidates)
        for at, candidate in enumerate(candidates):
            candidate.keyword, candidate.cosine = keyword[at], cosine[at]


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
    path_coverage: float = 0.0
    boosts: dict[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    score: float = 0.0


def _rank(
    mode: SearchMode, question: Question, candidates: Sequence[_Candidate], names: Names
) -> list[CodeHit]:
    if mode is SearchMode.HYBRID:
        full = _fuse(question, candidates)
        _lend_within_files(candidates)
        for candidate in candidates:
            _note_names(candidate, names)
            candidate.score = _hybrid_score(candidate, full)
    else:
        for candidate in candidates:
            arm = candidate.keyword if mode is SearchMode.KEYWORD else candidate.cosine
            candidate.score = min(max(arm or 0.0, 0.0), 1.0)
    hits = [_hit(candidate) for candidate in candidates]
    return sorted(hits, key=lambda h: (-h.score, h.source, h.filename, h.chunk.start_line))


def _fuse(question: Question, candidates: Sequence[_Candidate]) -> float:
    """Give every candidate its relevance; returns that of a full match on every count."""
    known = [c.cosine for c in candidates if c.cosine is not None]
    # A chunk whose vector is still to come is taken for an average candidate.
    average = sum(known) / len(known) if known else 0.0
    for candidate in candidates:
        cosine = average if candidate.cosine is None else candidate.cosine
        candidate.relevance = cosine + question.keyword_weight * (candidate.keyword or 0.0)
        candidate.boosts = question.penalties(candidate.stored.filename)
        if candidate.path_coverage:
            candidate.boosts["path"] = PATH_WEIGHT * candidate.path_coverage
        candidate.relevance += sum(candidate.boosts.values())
    return (1.0 if known else 0.0) + question.keyword_weight + PATH_WEIGHT


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


def _lend_within_files(candidates: Sequence[_Candidate]) -> None:
    """A file with several good chunks counts more than one with a single lucky one.

    Its best chunk gains a share of what the next best have above the common level. Lifting the
    others too would fill the first ranks with one file.
    """
    relevances = sorted((c.relevance for c in candidates), reverse=True)
    common = relevances[min(COMMON_RANK, len(relevances)) - 1] if relevances else 0.0
    for chunks in _by_file(candidates).values():
        best, *others = sorted(chunks, key=lambda c: -c.relevance)
        lent = sum(max(c.relevance - common, 0.0) for c in others[:FILE_CHUNKS])
        if lent:
            best.boosts["same_file"] = FILE_SHARE * lent
            best.relevance += FILE_SHARE * lent


def _by_file(candidates: Sequence[_Candidate]) -> dict[tuple[str, str], list[_Candidate]]:
    files: dict[tuple[str, str], list[_Candidate]] = {}
    for candidate in candidates:
        stored = candidate.stored
        files.setdefault((stored.source, stored.filename), []).append(candidate)
    return files


def _note_names(candidate: _Candidate, names: Names) -> None:
    chunk = candidate.stored.chunk
    if names.defined_by(chunk.symbols, chunk.scope):
        candidate.boosts["exact_symbol"] = 1.0
    if names.locate(candidate.stored.filename):
        candidate.boosts["exact_path"] = 1.0


def _hybrid_score(candidate: _Candidate, full: float) -> float:
    """Relevance as 0…1: 0.75 for a full match; what other chunks lend on top never reaches 0.9.

    That is where the chunks begin that the query names, in their own order.
    """
    share = 1 - math.exp(-1.8 * max(candidate.relevance, 0.0) / full)
    if "exact_symbol" in candidate.boosts or "exact_path" in candidate.boosts:
        return 0.9 + 0.1 * share
    return 0.9 * share


def _hit(candidate: _Candidate) -> CodeHit:
    return CodeHit(
        source=candidate.stored.source,
        filename=candidate.stored.filename,
        language=candidate.stored.language,
        chunk=candidate.stored.chunk,
        score=candidate.score,
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
