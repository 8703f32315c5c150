"""Searches summaries, messages and snippets of sessions: the whole ranking, top-down.

    question ──▶ postings of its words and identifiers ──▶ coverage: their share, by idf, in a row
             └─▶ its vector ──▶ cosine of every row
    filters apply inside both ──▶ cosine + 0.3 · coverage ──▶ messages gain from their conversation
    ──▶ hits, or each session once

A message gains from the messages beside it, since an answer often does not repeat the question:

    + 0.3 · Σ over ±1, + 0.2 · Σ over ±2 of the neighbour's relevance above the common level
    + 0.3 · that of the question which it answers: of the messages that follow another speaker's
            question, up to the next speaker, it states the most
    + 0.2 · coverage by the five messages from two before to two after
    + 0.2 · BM25 of its whole session, as a share of its maximum
    + 0.04, if the question names its speaker, and no other
    + 0.1, if a user said it, and the question is what "I" said
    + 0.15, as other rows, if it is from the time that the question names

and loses 0.2 · 5 / (5 + its words outside of questions, code and how a request begins), unless it
is such an answer. The second term and this loss do not count for a question that asks what was
asked.

A session counts as (its best part + 0.4 · the mean of its next three) / 1.4. What each term gives
stands in docs/ranking-experiments.md. Words that very many rows hold are only looked up in the best
candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import numpy as np
from msgspec import UNSET

from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import build_from, rounded
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.roots import IsDeleted
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.arms import SEARCH_POOL, Arm, Scores
from memory_sidecar.index.asked_time import NO_LIFT, AskedTime, Lift, asked_time
from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.identifiers import with_identifiers
from memory_sidecar.index.ids import distinct, mask_allowed, places_of
from memory_sidecar.index.keyword import (
    Keywords,
    Postings,
    keyword_scores,
    keyword_share,
    keywords_of,
    read_postings,
    rows_with_stems,
)
from memory_sidecar.index.scored import NAMED_FROM, ScoredRows, saturate, weak_below
from memory_sidecar.index.tongue import content_of, embed_subject
from memory_sidecar.index.vectors import EmbedQuery, Vector, VectorIndex
from memory_sidecar.index.words import plain_words
from memory_sidecar.sessions.lookup import CORPUS_OF, allowed_rows, rows_with_all, rows_written
from memory_sidecar.sessions.model import HitKind, Required, SessionQuery
from memory_sidecar.sessions.parts import MAX_HITS, SessionPart, group_by_session, read_best, rerank
from memory_sidecar.sessions.ranking import (
    ANSWER_WEIGHT,
    AROUND_WEIGHT,
    ASKER_WEIGHT,
    ASKING,
    BREVITY_WEIGHT,
    COMMON_RANK,
    COVERAGE_WEIGHT,
    SESSION_WEIGHT,
    SPEAKER_WEIGHT,
    WEAK_BELOW,
    Conversations,
    Rows,
    Statements,
    best_places,
)
from memory_sidecar.sessions.results import SessionHit

PARTS = 200  # best rows that are grouped by session
SPARE_PARTS = 20  # read beyond those wanted, since some may be copies
LOOKED_UP = 100  # best rows in which the words that very many rows hold are looked up
KEYWORD_DEPTH = 1000
MAX_ROWS_SCORED = 40_000  # by BM25
TIME_WEIGHT = 0.15  # of being from the time that the question names


def search_sessions(
    query: SessionQuery,
    connection: Connection,
    is_deleted: IsDeleted,
    *,
    store: DerivedStore,
    embed_query: EmbedQuery | None,
    now: int,
    judge: Judge | None = None,
) -> list[SessionHit]:
    """Find the best rows of the kinds in `query`, best first; by words alone without `embed_query`.

    Keyword and vector mode rank by BM25 or cosine alone. `judge`, a cross-encoder, reorders the
    best hits in hybrid mode. All is read from the commit of `store` that `connection` has.
    """
    asked = Required.of(query.searched)
    time = asked_time(asked.text, now=now) if query.mode is SearchMode.HYBRID else None
    searches = _start_searches(query, asked, connection, store, embed_query, time=time)
    count = max(query.top_k, PARTS) if query.by_session else query.top_k
    judge = judge if query.mode is SearchMode.HYBRID else None
    wanted = max(count, MAX_HITS if judge else 0)
    parts = _find_parts(
        connection, searches, is_deleted, count=count, wanted=wanted, with_copies=query.by_session
    )
    if judge is not None:
        parts = rerank(connection, parts, asked.text, judge)
    if not asked.has_any:  # with required terms no hit is weak, because they occur in it
        parts = [
            replace(
                each, is_weak=each.score < weak_below(query, each.explanation, WEAK_BELOW, time)
            )
            for each in parts
        ]
    if query.by_session:
        parts = group_by_session(parts)
    return [
        build_from(
            SessionHit,
            each.head,
            kind=each.kind,
            text=each.row.text,
            score=rounded(each.score),
            is_weak=each.is_weak,
            heading=each.row.heading,
            sequence=each.row.sequence,
            created_at=iso_utc(each.row.created_at),
            explain=each.explanation if query.explain else UNSET,
        )
        for each in parts[: query.top_k]
        if rounded(each.score) >= query.min_score
    ]


def _start_searches(
    query: SessionQuery,
    asked: Required,
    connection: Connection,
    store: DerivedStore,
    embed_query: EmbedQuery | None,
    *,
    time: AskedTime | None,
) -> list[_RowSearch]:
    """Return a search of each kind that has rows to search; cosines are computed meanwhile."""
    vector: Future[Vector] | None = None
    if query.uses_vectors and embed_query is not None:
        vector = SEARCH_POOL.submit(embed_subject, embed_query, asked.text)
    searches = []
    for kind in query.kinds:
        required, allowed = _rows_to_search(connection, kind, query, asked)
        if allowed is None or len(allowed):
            index = store.indexes[CORPUS_OF[kind].vector_table]
            scanning = _start_scan(connection, index, vector) if vector else None
            lift = NO_LIFT
            if time is not None:
                written = rows_written(connection, kind, time.start, time.end)
                lift = time.lift(connection, CORPUS_OF[kind], written, TIME_WEIGHT)
            searches.append(
                _RowSearch(
                    connection, kind, query.mode, asked.text, scanning, allowed, required, lift
                )
            )
    return searches


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
        required = required[mask_allowed(required, allowed)]
    return required, required


def _start_scan(
    connection: Connection, index: VectorIndex, vector: Future[Vector]
) -> Future[tuple[Ids, Floats]]:
    """Start to compute the cosines of all rows, in a thread beside the keyword arm."""
    view = index.view(connection)
    # Queued after the question's vector in the same pool, so the wait for that always ends.
    return SEARCH_POOL.submit(lambda: view.cosines(vector.result()))


def _find_parts(
    connection: Connection,
    searches: Sequence[_RowSearch],
    is_deleted: IsDeleted,
    *,
    count: int,
    wanted: int,
    with_copies: bool,
) -> list[SessionPart]:
    """Read the best `wanted` rows among the best `count` of each search, sorted.

    Others take the places of those whose files are gone, and of copies.
    """
    spare = 0 if with_copies else SPARE_PARTS
    while True:
        found = {search.kind: search.best(count + spare) for search in searches}
        parts, gone = read_best(
            connection, found, wanted + spare, is_deleted, with_copies=with_copies
        )
        if gone <= spare:
            return parts[:wanted]
        spare = 2 * gone


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
    lift: Lift  # of what is from the time that the question is about

    def best(self, top_k: int) -> ScoredRows:
        """Return the best `top_k` rows and some more, unordered."""
        keywords = keywords_of(self.connection, CORPUS_OF[self.kind], self.text)
        match self.mode:
            case SearchMode.KEYWORD:
                arm = self._bm25(keywords.rarest(MAX_ROWS_SCORED))
            case SearchMode.VECTOR:
                arm = self._cosines()
            case SearchMode.HYBRID:
                return self._hybrid(keywords, top_k)
        best = best_places(arm.scores, top_k)
        return ScoredRows.by_arm(self.mode, arm.ids[best], arm.scores[best].astype(np.float64))

    def _bm25(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CORPUS_OF[self.kind], keywords, limit=limit)
        share = keyword_share(bm25)
        if len(self.required):
            others = np.setdiff1d(self.required, ids)  # `ids` are in the order of their scores
            ids = np.concatenate([ids, others])
            share = np.concatenate([share, np.zeros(len(others), np.float32)])
        return Arm.of(ids, share, self.allowed)

    def _cosines(self) -> Arm:
        if self.scanning is None:
            return Arm.silent()
        return Arm.of(*self.scanning.result(), self.allowed)

    def _hybrid(self, keywords: Keywords, top_k: int) -> ScoredRows:
        corpus = CORPUS_OF[self.kind]
        keywords = content_of(keywords, self.text)
        postings = read_postings(self.connection, corpus, keywords)
        postings = with_identifiers(postings, self.connection, corpus, keywords)
        lists = (*postings.lists.values(), self.required)
        rows = Rows.of(self._cosines(), lists, self.allowed)
        rows = rows.covered(postings.lists, postings.weights)
        if postings.unread:
            best = rows.ids[best_places(rows.relevance, max(LOOKED_UP, top_k))]
            held = rows_with_stems(self.connection, corpus, best.tolist(), postings.unread)
            rows = rows.covered(held, postings.weights)
        lifted = rows.relevance + self.lift.of(rows.ids)
        found = rows.ids[best_places(lifted, max(COMMON_RANK, top_k))]
        context: dict[str, Scores] = {}
        if self.kind is HitKind.MESSAGE:
            found, context = self._add_context(found, rows, postings)
            rows = rows.with_more(found)
        places = places_of(found, rows.ids)
        cosine, coverage = rows.cosine[places], rows.coverage[places]
        keyword = COVERAGE_WEIGHT * coverage
        gains = context | {"time": self.lift.of(found)}
        relevance, waiting = rows.relevance[places], np.isnan(cosine)
        own = relevance - keyword
        summands = {
            "cosine": np.where(waiting, 0.0, own),
            "assumed": np.where(waiting, own, 0.0),
            "keyword": keyword,
            **gains,
        }
        full = (1.0 if rows.has_vectors else 0.0) + COVERAGE_WEIGHT
        full += AROUND_WEIGHT if context else 0.0
        full += self.lift.full
        scores = NAMED_FROM * saturate(relevance + sum(gains.values()), full)
        return ScoredRows(found, cosine, coverage, summands, scores, boosts=gains)

    def _add_context(
        self, best: Ids, rows: Rows, postings: Postings
    ) -> tuple[Ids, dict[str, Scores]]:
        """Add the messages that gain from the `best` ones; return all, and their gains by term."""
        talks = Conversations.of_messages(self.connection, best)
        surplus = rows.relevance[places_of(best, rows.ids)] - rows.common_level
        gaining, lent = talks.lend(best, surplus)
        allowed = mask_allowed(gaining, self.allowed)
        found = distinct(best, gaining[allowed])
        neighbours = np.zeros(len(found))
        neighbours[np.searchsorted(found, gaining[allowed])] = lent[allowed]
        around, session = talks.coverage_around(found, postings)
        statements = Statements.of_messages(self.connection, found)
        wants_statements = ASKING.isdisjoint(plain_words(self.text))
        return found, {
            "neighbours": neighbours,
            "around": AROUND_WEIGHT * around,
            "session": SESSION_WEIGHT * session,
            "answer": wants_statements * ANSWER_WEIGHT * statements.lent_to_answers(best, surplus),
            "speaker": SPEAKER_WEIGHT * statements.said_by_named(self.text)
            + ASKER_WEIGHT * statements.said_by_asker(self.text),
            "brevity": -wants_statements * BREVITY_WEIGHT * statements.brevity,
        }
