"""How relevant every row is to a question, and what is said around a message: arrays over rows.

`search.py` tells the whole way and the formula; docs/ranking.md, what each constant gives.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Arm, Scores, among
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.keyword import Postings

COVERAGE_WEIGHT = 0.3
AROUND_WEIGHT = 0.2  # of what is said from REACH messages before to REACH after
SESSION_WEIGHT = 0.2
REACH = 2
K1, B = 1.2, 0.75  # of BM25, over a session's messages that hold a word
COMMON_RANK = 50  # the row whose relevance is the common level
LENDING_STEPS = np.array([-2, -1, 1, 2])  # from a message to those that gain from it
LENT_SHARES = np.array([0.2, 0.3, 0.3, 0.2])
MAX_PLACES = 2000  # of equal rows, when a prefix is all that is asked for
CANDIDATES = 200  # whose average cosine is taken for one that is not known


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows that either arm knows, by ascending id, (n,) each."""

    ids: Ids
    cosine: Scores  # NaN: its vector is still to come
    coverage: Scores

    @classmethod
    def of(cls, vector: Arm, lists: Iterable[Ids], allowed: Ids | None) -> Rows:
        """The rows of `vector`, and those of `lists` that are allowed; without coverage yet."""
        rows = cls(vector.ids, vector.scores.astype(np.float64), np.zeros(len(vector.ids)))
        listed = [ids[np.isnan(vector.scores_of(ids))] for ids in lists]
        waiting = [found for ids in listed if len(found := ids[among(ids, allowed)])]
        return rows.with_more(np.unique(np.concatenate(waiting))) if waiting else rows

    @property
    def has_vectors(self) -> bool:
        return bool(len(self.cosine)) and not np.isnan(self.cosine).all()

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
        average = float(known[best_places(known, CANDIDATES)].mean()) if len(known) else 0.0
        return np.where(waiting, average, self.cosine) + covered

    def with_more(self, ids: Ids) -> Rows:
        """These rows and `ids`, of which nothing is known."""
        if len(self.places_of(ids)) == len(ids):
            return self
        every = np.union1d(self.ids, ids)
        cosine, coverage = np.full(len(every), np.nan), np.zeros(len(every))
        places = np.searchsorted(every, self.ids)
        cosine[places], coverage[places] = self.cosine, self.coverage
        return Rows(every, cosine, coverage)

    def common_level(self, relevance: Scores) -> float:
        """The relevance of the fiftieth row. Of rows that are not here it is 0."""
        if len(relevance) >= COMMON_RANK:
            return float(np.partition(relevance, -COMMON_RANK)[-COMMON_RANK])
        return float(relevance.min()) if self.has_vectors and len(relevance) else 0.0

    def places_of(self, ids: Ids) -> Ids:
        """Where those of `ids` stand that are here."""
        if not len(self.ids):
            return np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found: Ids = at[self.ids[at] == ids]
        return found


def best_places(scores: npt.NDArray[np.floating[Any]], count: int) -> Ids:
    """Places of the highest scores, in no order, with all that are as high as the last of them.

    Which of equal rows are shown is decided later, not by their ids: those change with a rebuild.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -count)[-count])[:MAX_PLACES]


WEAK_BELOW = 0.54  # under 2 % of the best hits of questions with an answer, most of those without


def score_of(relevance: float, full: float) -> float:
    """Relevance as 0…1: 0.75 for a full match."""
    return 0.9 * (1 - math.exp(-1.8 * max(relevance, 0.0) / full))


@dataclass(frozen=True, slots=True)
class Conversations:
    """Sessions as ranges of message ids, which follow one another: from `first` to before `end`.

    Ascending, (n,) each.
    """

    first: Ids
    end: Ids

    @classmethod
    def holding(cls, connection: Connection, messages: Ids) -> Conversations:
        """The sessions of `messages`."""
        rows: list[Any] = connection.execute(
            "SELECT DISTINCT s.first_message, s.first_message + s.message_count FROM messages m"
            " JOIN sessions s ON s.id = m.session_id"
            " WHERE m.id IN (SELECT value FROM json_each(?)) ORDER BY 1",
            (json.dumps(messages.tolist()),),
        ).fetchall()
        first, end = np.array(rows, np.int64).reshape(-1, 2).T
        return cls(first, end)

    def lent(self, messages: Ids, surplus: Scores) -> tuple[Ids, Scores]:
        """What messages gain from those of `messages` beside them whose surplus is above 0.

        Ids, ascending, and their gains.
        """
        first, end = self._bounds(messages)
        near = messages[:, None] + LENDING_STEPS
        gains = (near >= first[:, None]) & (near < end[:, None]) & (surplus > 0)[:, None]
        ids, places = np.unique(near[gains], return_inverse=True)
        shares = (surplus[:, None] * LENT_SHARES)[gains]
        lent: Scores = np.bincount(places, weights=shares, minlength=len(ids)).astype(np.float64)
        return ids, lent

    def spoken_of(self, messages: Ids, postings: Postings) -> tuple[Scores, Scores]:
        """How much of the question is said around each message, and in its session: (n,) each.

        0…1: the idf of the words there, and BM25 of the session as a share of what it can reach.
        Words that very many rows hold, whose lists are not read, count as absent.
        """
        first, end = self._bounds(messages)
        low, high = np.maximum(messages - REACH, first), np.minimum(messages + REACH + 1, end)
        lengths = self.end - self.first
        damping = K1 * (1 - B + B * (end - first) / (lengths.mean() if len(lengths) else 1))
        around, session = np.zeros(len(messages)), np.zeros(len(messages))
        total = sum(postings.weights.values())
        for stem, rows in postings.lists.items():
            share = postings.weights[stem] / total
            around += share * (_count(rows, low, high) > 0)
            held = _count(rows, first, end)
            session += share * held / (held + damping)
        return around, session

    def _bounds(self, messages: Ids) -> tuple[Ids, Ids]:
        """First and end of the session of each of `messages`."""
        at = np.searchsorted(self.first, messages, side="right") - 1
        return self.first[at], self.end[at]


def _count(rows: Ids, low: Ids, high: Ids) -> Ids:
    """How many of `rows`, ascending, lie from each of `low` up to, not with, that of `high`."""
    counts: Ids = np.searchsorted(rows, high) - np.searchsorted(rows, low)
    return counts
