"""Searches summaries, messages and snippets of sessions: the whole ranking, top-down.

    question ──▶ postings of its words ──▶ coverage: the share of its words, by idf, in a row
             └─▶ its vector ──▶ cosine of every row
    filters apply inside both ──▶ cosine + 0.3 · coverage ──▶ messages gain from their conversation
    ──▶ hits, or each session once

A message gains from the messages beside it, since an answer often does not repeat the question:

    + 0.3 · Σ over ±1, + 0.2 · Σ over ±2 of the neighbour's relevance above the common level
    + 0.2 · coverage by the five messages from two before to two after
    + 0.2 · BM25 of its whole session, as a share of its maximum

A session counts as its best part + 0.4 · the mean of its next three. docs/ranking.md says what each
term gives. Words that very many rows hold are only looked up in the best candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
from msgspec import UNSET

from memory_sidecar.core.model import Explanation, SearchMode
from memory_sidecar.core.results import build_from, rounded
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import iso_utc
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
    Postings,
    keyword_scores,
    keyword_share,
    keywords_of,
    read_postings,
    rows_with_stems,
)
from memory_sidecar.index.vectors import EmbedQuery, Vector, VectorIndex
from memory_sidecar.sessions.lookup import (
    CORPUS_OF,
    FoundRow,
    allowed_rows,
    read_heads,
    read_rows,
    rows_with_all,
)
from memory_sidecar.sessions.model import HitKind, Required, SessionQuery
from memory_sidecar.sessions.ranking import (
    AROUND_WEIGHT,
    COMMON_RANK,
    COVERAGE_WEIGHT,
    MAX_HITS,
    SESSION_WEIGHT,
    WEAK_BELOW,
    Conversations,
    Rows,
    best_places,
    reranked_order,
    to_score,
)
from memory_sidecar.sessions.results import Head, SessionHit

MAX_QUERY_CHARACTERS = 4000
PARTS = 200  # best rows that are grouped by session
OTHERS_WEIGHT, OTHERS = 0.4, 3  # weight and number of a session's parts after the best one
JUDGED = 100  # best rows in which the words that very many rows hold are looked up
KEYWORD_DEPTH = 1000
MAX_ROWS_SCORED = 40_000  # by BM25


def search_sessions(
    query: SessionQuery,
    connection: Connection,
    *,
    store: DerivedStore,
    embed_query: EmbedQuery | None,
    judge: Judge | None = None,
) -> list[SessionHit]:
    """Find the best rows of the kinds in `query`, best first; by words alone without `embed_query`.

    Keyword and vector mode rank by BM25 or cosine alone. `judge`, a cross-encoder, reorders the
    best hits in hybrid mode. All is read from the commit of `store` that `connection` has.
    """
    asked = Required.of(query.text[:MAX_QUERY_CHARACTERS])
    vector: Future[Vector] | None = None
    if query.mode is not SearchMode.KEYWORD and embed_query is not None:
        vector = SEARCH_POOL.submit(embed_query, asked.text)
    searches = []
    for kind in query.kinds:
        required, allowed = _rows_to_search(connection, kind, query, asked)
        if allowed is None or len(allowed):
            scanning = _start_scan(connection, store.vectors[CORPUS_OF[kind]], vector)
            searches.append(
                _RowSearch(connection, kind, query.mode, asked.text, scanning, allowed, required)
            )
    count = max(query.top_k, PARTS) if query.by_session else query.top_k
    found = [scored for search in searches for scored in search.best(count)]
    judge = judge if query.mode is SearchMode.HYBRID else None
    read = _read_best(connection, found, max(count, MAX_HITS if judge else 0))
    if judge is not None:
        rows = [(scored.kind, row, scored.relevance) for scored, row, _ in read]
        read = _reorder(read, reranked_order(connection, asked.text, rows, judge))
    weak = {
        (each.kind, each.row_id)
        for each, _, _ in ([] if asked.has_any else read)  # what has to occur does
        if each.score < weak_below(query.text, query.mode, each.explanation, WEAK_BELOW)
    }
    if query.by_session:
        read = _group_by_session(read)
    return [
        build_from(
            SessionHit,
            head,
            kind=scored.kind,
            text=row.text,
            score=rounded(scored.score),
            is_weak=(scored.kind, scored.row_id) in weak,
            heading=row.heading,
            sequence=row.sequence,
            created_at=iso_utc(row.created_at),
            explain=scored.explanation if query.explain else UNSET,
        )
        for scored, row, head in read[: query.top_k]
        if rounded(scored.score) >= query.min_score
    ]


def _rows_to_search(
    connection: Connection, kind: HitKind, query: SessionQuery, asked: Required
) -> tuple[Ids, Ids | None]:
    """Return the rows with the required phrases and prefixes, and the rows that may be hits.

    The latter are `None` for all rows; with required terms both are the same.
    """
    allowed = allowed_rows(
        connection,
        kind,
        query.filter,
        without_stand_ins=HitKind.MESSAGE in query.kinds,  # those words are found as messages
    )
    if not asked.has_any:
        return np.empty(0, np.int64), allowed
    required = rows_with_all(connection, kind, phrases=asked.phrases, prefixes=asked.prefixes)
    if allowed is not None:
        required = np.intersect1d(required, allowed)
    return required, required


def _start_scan(
    connection: Connection, index: VectorIndex, vector: Future[Vector] | None
) -> Future[tuple[Ids, Floats]] | None:
    """Start to compute the cosines of all rows, in a thread beside the keyword arm."""
    if vector is None:
        return None
    view = index.view(connection)
    # In the same queue as the question's vector, after it: so the wait for that always ends.
    return SEARCH_POOL.submit(lambda: view.cosines(vector.result()))


@dataclass(slots=True)
class _Scored:
    """A row with its score, and the explanation of that."""

    kind: HitKind
    row_id: int
    relevance: float
    score: float  # 0…1, in the order of relevance
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class _RowSearch:
    """The search of the rows of one kind."""

    connection: Connection
    kind: HitKind
    mode: SearchMode
    text: str
    scanning: Future[tuple[Ids, Floats]] | None
    allowed: Ids | None
    required: Ids  # rows with the required terms: hits even if no other word matches

    def best(self, top_k: int) -> list[_Scored]:
        """Return the best `top_k` rows and some more, unordered."""
        corpus = CORPUS_OF[self.kind]
        keywords = keywords_of(self.connection, corpus, self.text)
        match self.mode:
            case SearchMode.KEYWORD:
                return self._score_arm(self._bm25(keywords.rarest(MAX_ROWS_SCORED)), top_k)
            case SearchMode.VECTOR:
                return self._score_arm(self._cosines(), top_k)
            case SearchMode.HYBRID:
                return self._hybrid(keywords, top_k)

    def _score_arm(self, arm: Arm, top_k: int) -> list[_Scored]:
        best = best_places(arm.scores, top_k)
        name = "keyword" if self.mode is SearchMode.KEYWORD else "cosine"
        scored = []
        for row_id, value in zip(arm.ids[best].tolist(), arm.scores[best].tolist(), strict=True):
            score = min(max(value, 0.0), 1.0)
            opinions = {"cosine": math.nan, "keyword": math.nan} | {name: value}
            explanation = explain_score({name: value}, score, **opinions, boosts={})
            scored.append(_Scored(self.kind, row_id, value, score, explanation))
        return scored

    def _bm25(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CORPUS_OF[self.kind], keywords, limit=limit)
        share = keyword_share(bm25)
        if len(self.required):
            others = np.setdiff1d(self.required, ids)
            ids = np.concatenate([ids, others])
            share = np.concatenate([share, np.zeros(len(others), np.float32)])
        return Arm.of(ids, share, self.allowed)

    def _cosines(self) -> Arm:
        if self.scanning is None:
            return Arm.silent()
        return Arm.of(*self.scanning.result(), self.allowed)

    def _hybrid(self, keywords: Keywords, top_k: int) -> list[_Scored]:
        corpus = CORPUS_OF[self.kind]
        postings = read_postings(self.connection, corpus, keywords)
        lists = (*postings.lists.values(), self.required)
        rows = Rows.of(self._cosines(), lists, self.allowed)
        total = sum(postings.weights.values())
        for stem, ids in postings.lists.items():
            rows.cover(ids, postings.weights[stem] / total)
        relevance = rows.relevance()
        if postings.unread:
            judged = rows.ids[best_places(relevance, max(JUDGED, top_k))]
            held = rows_with_stems(self.connection, corpus, judged.tolist(), postings.unread)
            for stem, ids in held.items():
                rows.cover(ids, postings.weights[stem] / total)
            relevance = rows.relevance()
        found = rows.ids[best_places(relevance, max(COMMON_RANK, top_k))]
        context: dict[str, Scores] = {}
        if self.kind is HitKind.MESSAGE:
            found, context = self._add_context(found, rows, relevance, postings)
            more = rows.with_more(found)
            if more is not rows:
                rows, relevance = more, more.relevance()
        places = rows.places_of(found)
        keyword = COVERAGE_WEIGHT * rows.coverage[places]
        whole = relevance[places] + sum(context.values())
        full = (1.0 if rows.has_vectors else 0.0) + COVERAGE_WEIGHT
        full += AROUND_WEIGHT if context else 0.0
        scored = []
        for at, row_id in enumerate(found.tolist()):
            cosine, score = float(rows.cosine[places[at]]), to_score(float(whole[at]), full)
            boosts = {name: float(values[at]) for name, values in context.items()}
            own = float(relevance[places[at]] - keyword[at])
            summands = {"assumed" if math.isnan(cosine) else "cosine": own}
            summands |= {"keyword": float(keyword[at])} | boosts
            covered = float(rows.coverage[places[at]])
            explanation = explain_score(
                summands, score, cosine=cosine, keyword=covered, boosts=boosts
            )
            scored.append(_Scored(self.kind, row_id, float(whole[at]), score, explanation))
        return scored

    def _add_context(
        self, best: Ids, rows: Rows, relevance: Scores, postings: Postings
    ) -> tuple[Ids, dict[str, Scores]]:
        """Add the messages that gain from the `best` ones; return all, and their gains by term."""
        talks = Conversations.of_messages(self.connection, best)
        surplus = relevance[rows.places_of(best)] - rows.common_level(relevance)
        gaining, lent = talks.lend(best, surplus)
        allowed = mask_allowed(gaining, self.allowed)
        found = np.union1d(best, gaining[allowed])
        neighbours = np.zeros(len(found))
        neighbours[np.searchsorted(found, gaining[allowed])] = lent[allowed]
        around, session = talks.coverage_around(found, postings)
        return found, {
            "neighbours": neighbours,
            "around": AROUND_WEIGHT * around,
            "session": SESSION_WEIGHT * session,
        }


_Read = tuple[_Scored, FoundRow, Head]


def _read_best(connection: Connection, found: Sequence[_Scored], count: int) -> list[_Read]:
    """Read the best `count` of `found` with their sessions, sorted; of equal ones the latest."""
    scores = sorted((each.score for each in found), reverse=True)
    least = scores[min(count, len(scores)) - 1] if scores else 0.0
    best = [each for each in found if each.score >= least]
    rows = {
        (kind, row.row_id): row
        for kind in HitKind
        for row in read_rows(connection, kind, [e.row_id for e in best if e.kind is kind])
    }
    heads = read_heads(connection, {row.session_row for row in rows.values()})
    read = [
        (each, row, heads[row.session_row])
        for each in best
        if (row := rows.get((each.kind, each.row_id))) is not None
    ]
    read.sort(key=_sort_key)
    return read[:count]


def _sort_key(read: _Read) -> tuple[float, HitKind, int, str, int]:
    scored, row, head = read
    return (-scored.score, scored.kind, -row.created_at, head.session_id, row.row_id)


def _reorder(read: Sequence[_Read], order: Sequence[int]) -> list[_Read]:
    """Put `read` in `order`; the scores stay in their places, so that they mean the same."""
    better = []
    for place, at in enumerate(order):
        scored, row, head = read[at]
        score = read[place][0].score
        explanation = scored.explanation.reranked(score - scored.score)
        better.append((replace(scored, score=score, explanation=explanation), row, head))
    return better


def _group_by_session(read: Sequence[_Read]) -> list[_Read]:
    """Keep the best part of each session, with the score of the whole session, the best first.

    Missing parts of a session count as zeros.
    """
    parts: dict[int, list[_Read]] = {}
    for each in sorted(read, key=_sort_key):
        parts.setdefault(each[1].session_row, []).append(each)
    whole = []
    for (scored, row, head), *others in parts.values():
        added = OTHERS_WEIGHT * sum(other.score for other, _, _ in others[:OTHERS]) / OTHERS
        score = (scored.score + added) / (1 + OTHERS_WEIGHT)
        step = {"others": rounded(score - scored.score)}
        why = scored.explanation
        why = replace(why, boosts=why.boosts | step, terms=why.terms | step)
        whole.append((replace(scored, score=score, explanation=why), row, head))
    return sorted(whole, key=_sort_key)
