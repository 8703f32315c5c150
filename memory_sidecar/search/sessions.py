"""A question becomes summaries, messages and snippets of sessions: the whole way, top-down.

    question ──▶ postings of its words ──▶ coverage: the share of its words, by idf, in a row
             └─▶ its vector ──▶ cosine of every row
    filters apply inside both ──▶ cosine + 0.3 · coverage ──▶ messages lend to their neighbours
    ──▶ hits

A message gains from those beside it, since an answer often does not repeat the question:

    + 0.3 · Σ over ±1, + 0.2 · Σ over ±2 of what the neighbour has above the common level

Each term was kept because leaving it out cost recall on LoCoMo; `benchmarks/retrieval.py`
measures the whole. Of words that very many rows hold, only the best candidates are asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memory_sidecar.model import Explanation, SearchMode
from memory_sidecar.search.arms import Arm, among
from memory_sidecar.search.fusion import keyword_share
from memory_sidecar.search.required import Required
from memory_sidecar.session_model import HitKind, SessionHit, SessionQuery
from memory_sidecar.sqlite import Connection
from memory_sidecar.store.derived import DerivedStore
from memory_sidecar.store.keyword import Keywords, keyword_scores, keywords_of
from memory_sidecar.store.postings import held_words, rarest_terms, read_postings
from memory_sidecar.store.session_lookup import (
    CORPUS_OF,
    allowed_rows,
    message_places,
    read_heads,
    read_rows,
    rows_with_all,
)
from memory_sidecar.store.vectors import Ids, Vector

MAX_QUERY_CHARACTERS = 4000
COVERAGE_WEIGHT = 0.3
COMMON_RANK = 50  # the row whose relevance is the common level
NEIGHBOUR_SHARES = ((1, 0.3), (2, 0.2))  # distance, and what a neighbour there lends
CANDIDATES = 200  # whose average cosine is taken for one that is not known
JUDGED = 100  # rows that are asked for the words which very many hold
KEYWORD_DEPTH = 1000

Scores = npt.NDArray[np.float64]
EmbedQuery = Callable[[str], Vector]
"""The unit vector (384,) of a question."""

_embedding = ThreadPoolExecutor(2, thread_name_prefix="question")


def search_sessions(
    query: SessionQuery, *, project_hash: str, store: DerivedStore, embed_query: EmbedQuery | None
) -> list[SessionHit]:
    """The best rows of the kinds asked for, best first. Without `embed_query` by words alone.

    Keyword and vector mode are the plain arms: BM25 or cosine alone. `project_hash` is that of
    the filter's project.
    """
    asked = Required.of(query.text[:MAX_QUERY_CHARACTERS])
    vector: Future[Vector] | None = None
    if query.mode is not SearchMode.KEYWORD and embed_query is not None:
        vector = _embedding.submit(embed_query, asked.text)  # beside the keyword arm
    with store.reading() as connection:
        found: list[_Scored] = []
        for kind in query.kinds:
            allowed = allowed_rows(
                connection,
                kind,
                query.filter,
                project_hash=project_hash,
                told_only=HitKind.MESSAGE in query.kinds,  # those words are found as messages
            )
            if asked.phrases:
                matching = rows_with_all(connection, kind, asked.phrases)
                allowed = matching if allowed is None else np.intersect1d(matching, allowed)
            if allowed is None or len(allowed):
                search = _Search(connection, store, kind, query.mode, asked.text, vector, allowed)
                found += search.best(query.top_k)
        found.sort(key=lambda each: (-each.score, each.kind, each.row_id))
        return _read_hits(connection, found, query.top_k)


@dataclass(slots=True)
class _Scored:
    """A row with its score and what that is made of."""

    kind: HitKind
    row_id: int
    score: float
    cosine: float | None
    keyword: float | None
    boosts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Search:
    """One question to the rows of one kind."""

    connection: Connection
    store: DerivedStore
    kind: HitKind
    mode: SearchMode
    text: str
    vector: Future[Vector] | None
    allowed: Ids | None

    def best(self, top_k: int) -> list[_Scored]:
        """The best rows, and a few more."""
        corpus = CORPUS_OF[self.kind]
        keywords = keywords_of(self.connection, corpus, self.text)
        match self.mode:
            case SearchMode.KEYWORD:
                rarest = rarest_terms(self.connection, corpus, keywords)
                return self._of_arm(self._bm25(rarest), top_k)
            case SearchMode.VECTOR:
                return self._of_arm(self._cosines(), top_k)
            case SearchMode.HYBRID:
                return self._hybrid(keywords, top_k)

    def _of_arm(self, arm: Arm, top_k: int) -> list[_Scored]:
        best = arm.best(top_k)
        is_keyword = self.mode is SearchMode.KEYWORD
        return [
            _Scored(
                kind=self.kind,
                row_id=row_id,
                score=min(max(score, 0.0), 1.0),
                cosine=None if is_keyword else score,
                keyword=score if is_keyword else None,
            )
            for row_id, score in zip(best.tolist(), arm.scores_of(best).tolist(), strict=True)
        ]

    def _bm25(self, keywords: Keywords) -> Arm:
        limit = KEYWORD_DEPTH if self.allowed is None else None
        ids, bm25 = keyword_scores(self.connection, CORPUS_OF[self.kind], keywords, limit=limit)
        return Arm.of(ids, keyword_share(bm25), self.allowed)

    def _cosines(self) -> Arm:
        if self.vector is None:
            return Arm.silent()
        index = self.store.vectors[CORPUS_OF[self.kind]]
        return Arm.of(*index.cosines(self.vector.result(), self.connection), self.allowed)

    def _hybrid(self, keywords: Keywords, top_k: int) -> list[_Scored]:
        corpus = CORPUS_OF[self.kind]
        postings = read_postings(self.connection, corpus, keywords)
        rows = _Rows.of(self._cosines(), postings.lists.values(), self.allowed)
        total = sum(postings.weights.values())
        for stem, ids in postings.lists.items():
            rows.cover(ids, postings.weights[stem] / total)
        relevance = rows.relevance()
        if postings.unread:
            judged = rows.ids[_best(relevance, max(JUDGED, top_k))]
            held = held_words(self.connection, corpus, judged.tolist(), postings.unread)
            for stem, ids in held.items():
                rows.cover(ids, postings.weights[stem] / total)
            relevance = rows.relevance()
        places = _best(relevance, max(COMMON_RANK, top_k))
        lent: dict[int, float] = {}
        if self.kind is HitKind.MESSAGE:
            lent = self._lent(rows.ids[places], relevance[places])
            places = np.union1d(places, rows.places_of(np.array(list(lent), np.int64)))
        full = (1.0 if rows.has_vectors else 0.0) + COVERAGE_WEIGHT
        return [
            _Scored(
                kind=self.kind,
                row_id=row_id,
                score=_score(own + lent.get(row_id, 0.0), full),
                cosine=None if math.isnan(cosine) else cosine,
                keyword=covered,
                boosts={"neighbours": lent[row_id]} if row_id in lent else {},
            )
            for row_id, own, cosine, covered in zip(
                rows.ids[places].tolist(),
                relevance[places].tolist(),
                rows.cosine[places].tolist(),
                rows.coverage[places].tolist(),
                strict=True,
            )
        ]

    def _lent(self, best: Ids, relevance: Scores) -> dict[int, float]:
        """What messages gain from the `best` ones beside them, by id."""
        if not len(best):
            return {}
        level = np.sort(relevance)[-min(COMMON_RANK, len(best))]
        surplus = dict(zip(best.tolist(), (relevance - level).tolist(), strict=True))
        where = message_places(
            self.connection, {row_id + step for row_id in surplus for step in range(-2, 3)}
        )
        lent: dict[int, float] = {}
        for row_id, spare in surplus.items():
            if spare <= 0 or row_id not in where:
                continue
            session, sequence = where[row_id]
            for distance, share in NEIGHBOUR_SHARES:
                for step in (-distance, distance):
                    # The messages of a session have ids in a row.
                    if where.get(row_id + step) == (session, sequence + step):
                        lent[row_id + step] = lent.get(row_id + step, 0.0) + share * spare
        return lent


@dataclass(frozen=True, slots=True)
class _Rows:
    """All rows that either arm knows, by ascending id, (n,) each."""

    ids: Ids
    cosine: Scores  # NaN: its vector is still to come
    coverage: Scores

    @classmethod
    def of(cls, vector: Arm, lists: Iterable[Ids], allowed: Ids | None) -> _Rows:
        """Without coverage yet."""
        listed = [ids[np.isnan(vector.scores_of(ids))] for ids in lists]
        waiting = [found for ids in listed if len(found := ids[among(ids, allowed)])]
        if not waiting:
            return cls(vector.ids, vector.scores.astype(np.float64), np.zeros(len(vector.ids)))
        ids = np.unique(np.concatenate([vector.ids, *waiting]))
        return cls(ids, vector.scores_of(ids), np.zeros(len(ids)))

    @property
    def has_vectors(self) -> bool:
        return not np.isnan(self.cosine).all()

    def cover(self, ids: Ids, share: float) -> None:
        """Note that these rows hold a word with that share of the question's weight."""
        self.coverage[self.places_of(ids)] += share

    def relevance(self) -> Scores:
        """A row whose vector is still to come is taken for an average candidate."""
        covered = COVERAGE_WEIGHT * self.coverage
        waiting = np.isnan(self.cosine)
        if not waiting.any():
            return self.cosine + covered
        known = self.cosine[~waiting]
        average = float(known[_best(known, CANDIDATES)].mean()) if len(known) else 0.0
        return np.where(waiting, average, self.cosine) + covered

    def places_of(self, ids: Ids) -> Ids:
        """Where those of `ids` stand that are here."""
        if not len(self.ids):
            return np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found: Ids = at[self.ids[at] == ids]
        return found


def _best(scores: Scores, count: int) -> Ids:
    """Places of the highest scores, in no order."""
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(scores, -count)[-count:]


def _score(relevance: float, full: float) -> float:
    """Relevance as 0…1: 0.75 for a full match."""
    return 0.9 * (1 - math.exp(-1.8 * max(relevance, 0.0) / full))


def _read_hits(connection: Connection, found: Sequence[_Scored], top_k: int) -> list[SessionHit]:
    """The first of `found`. Vectors may be ahead of this snapshot: what it lacks is left out."""
    hits: list[SessionHit] = []
    while found and len(hits) < top_k:
        part, found = found[:top_k], found[top_k:]
        rows = {
            (kind, row.row_id): row
            for kind in HitKind
            for row in read_rows(connection, kind, [e.row_id for e in part if e.kind is kind])
        }
        heads = read_heads(connection, {row.session_row for row in rows.values()})
        hits += [
            SessionHit(
                kind=each.kind,
                session=heads[row.session_row],
                text=row.text,
                heading=row.heading,
                sequence=row.sequence,
                created_at=row.created_at,
                score=each.score,
                explanation=Explanation(each.cosine, each.keyword, each.boosts),
            )
            for each in part
            if (row := rows.get((each.kind, each.row_id)))
        ]
    return hits[:top_k]
