"""How relevant every row is to a question: arrays over all of them, and what neighbours lend.

`search.sessions` tells the whole way and the formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Arm, Scores, among
from memory_sidecar.index.vectors import Ids
from memory_sidecar.sessions.lookup import message_places

COVERAGE_WEIGHT = 0.3
COMMON_RANK = 50  # the row whose relevance is the common level
NEIGHBOUR_SHARES = ((1, 0.3), (2, 0.2))  # distance, and what a neighbour there lends
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

    Which of equal ones are shown is decided by what they are: ids change with a rebuild.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -count)[-count])[:MAX_PLACES]


def score_of(relevance: float, full: float) -> float:
    """Relevance as 0…1: 0.75 for a full match."""
    return 0.9 * (1 - math.exp(-1.8 * max(relevance, 0.0) / full))


def lent_by_neighbours(
    connection: Connection, best: Ids, relevance: Scores, *, level: float
) -> dict[int, float]:
    """What messages gain from the `best` ones beside them, by id: a share of what is above `level`.

    `relevance` is that of the best ones, (n,).
    """
    surplus = dict(zip(best.tolist(), (relevance - level).tolist(), strict=True))
    where = message_places(
        connection, {row_id + step for row_id in surplus for step in range(-2, 3)}
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
