"""The arms of all searches, and the threads beside the keyword arm.

An arm is the ranking of a corpus's rows by words, or by vectors.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.ids import locate, mask_allowed
from memory_sidecar.index.vectors import VectorView

Scores = npt.NDArray[np.float64]

SEARCH_POOL = ThreadPoolExecutor(4, thread_name_prefix="question")
"""The threads for work beside the keyword arm, nearly all of which releases Python's lock.

Few, and shared by all searches: a task may wait only for tasks that were submitted before it.
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm's score of every row that it knows; `ids` and `scores` (n,), by ascending id."""

    ids: Ids
    scores: Floats

    @classmethod
    def silent(cls) -> Arm:
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, ids: Ids, scores: Floats, allowed: Ids | None) -> Arm:
        if allowed is not None:
            kept = mask_allowed(ids, allowed)
            ids, scores = ids[kept], scores[kept]
        if np.any(np.diff(ids) < 0):
            order = np.argsort(ids)
            ids, scores = ids[order], scores[order]
        return cls(ids, scores)

    def best(self, depth: int) -> Ids:
        if len(self.ids) <= depth:
            return self.ids
        return self.ids[np.argpartition(self.scores, -depth)[-depth:]]

    def scores_of(self, wanted: Ids) -> Scores:
        """Return the scores (n,) of the rows `wanted`; NaN for those that the arm does not know."""
        at, known = locate(wanted, self.ids)
        scores = np.full(len(wanted), np.nan)
        scores[known] = self.scores[at[known]]
        return scores


class VectorArm:
    """The vector arm, which computes cosines only of the rows that it is asked for."""

    def __init__(self, view: VectorView, query: Floats, allowed: Ids | None, depth: int) -> None:
        """Find the best `depth` rows for `query`, a unit vector; `allowed` is as in `Arm.of`."""
        self._view = view
        self._query = query
        self._best, _ = view.nearest(query, depth, allowed)

    def best(self, depth: int) -> Ids:
        return self._best[:depth]

    def scores_of(self, wanted: Ids) -> Scores:
        """Return the cosines (n,) of the rows `wanted`; NaN for those without a vector."""
        return self._view.cosines_of(self._query, wanted).astype(np.float64)
