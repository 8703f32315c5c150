"""What all searches share: arms, threads for what goes on beside the keyword arm, explanations.

An arm is what words or vectors say of the rows of a corpus. A score is a curve over a sum of terms,
and some steps after it: each term gets its share of what the curve makes of the sum, each step
counts as what it changed, so all of them add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.model import Explanation
from memory_sidecar.core.results import rounded
from memory_sidecar.index.codes import Floats, Ids, Mask
from memory_sidecar.index.vectors import VectorView

Scores = npt.NDArray[np.float64]

Judge = Callable[[str, Sequence[str]], Sequence[float]]
"""How well each text answers a question."""

SEARCH_THREADS = ThreadPoolExecutor(4, thread_name_prefix="question")
"""For what a search does beside its keyword arm, nearly all outside of Python's lock.

Few threads, shared by all searches: what is submitted may wait for what was submitted before.
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """What an arm says of every chunk it knows, by ascending id."""

    ids: Ids
    scores: Floats

    @classmethod
    def silent(cls) -> Arm:
        return cls(np.empty(0, np.int64), np.empty(0, np.float32))

    @classmethod
    def of(cls, ids: Ids, scores: Floats, allowed: Ids | None) -> Arm:
        if allowed is not None:
            kept = is_allowed(ids, allowed)
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
        """NaN for the chunks it does not know."""
        if not len(self.ids):
            return np.full(len(wanted), np.nan)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, self.scores[at].astype(np.float64), np.nan)


class VectorArm:
    """What a vector arm says of every row with a vector that is allowed, asked row by row."""

    def __init__(self, view: VectorView, query: Floats, allowed: Ids | None, depth: int) -> None:
        """`query` is a unit vector; finds the best `depth` rows now. `allowed` as in `Arm.of`."""
        self._view = view
        self._query = query
        self._best, _ = view.nearest(query, depth, allowed)

    def best(self, depth: int) -> Ids:
        return self._best[:depth]

    def scores_of(self, wanted: Ids) -> Scores:
        """NaN for the rows without a vector."""
        return self._view.cosines_of(self._query, wanted).astype(np.float64)


def is_allowed(ids: Ids, allowed: Ids | None) -> Mask:
    """Mask of those `ids` that are allowed. `allowed` is sorted, or `None` for all."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    at = np.searchsorted(allowed, ids)
    at[at == len(allowed)] = 0
    return allowed[at] == ids if len(allowed) else np.zeros(len(ids), np.bool_)


def rerank_order(
    question: str,
    texts: Sequence[str],
    scores: Sequence[float],
    judge: Judge,
    *,
    weight: float,
) -> list[int]:
    """Places of `texts`, best first, by score + `weight` · what `judge` says of each.

    So one can pass another that `judge` finds little better only if they were close before. Of
    equal ones the first stays first.
    """
    judged = judge(question, texts)
    keys = [score + weight * value for score, value in zip(scores, judged, strict=True)]
    return sorted(range(len(keys)), key=lambda at: -keys[at])


def explain_score(
    summands: Mapping[str, float],
    score: float,
    *,
    cosine: float,
    keyword: float,
    boosts: Mapping[str, float],
    steps: Mapping[str, float] | None = None,
) -> Explanation:
    """`score` is what the curve made of the sum of `summands`, and the `steps` after it.

    `cosine` and `keyword` are what the arms say, NaN where one has no opinion.
    """
    steps = steps or {}
    total = sum(summands.values())
    share = (score - sum(steps.values())) / total if total > 0 else 0.0
    terms = {name: value * share for name, value in summands.items()} | dict(steps)
    return Explanation(
        cosine=_opinion(cosine),
        keyword=_opinion(keyword),
        boosts={name: rounded(value) for name, value in boosts.items() if value},
        terms={name: rounded(value) for name, value in terms.items() if value},
    )


def _opinion(value: float) -> float | None:
    return None if math.isnan(value) else rounded(value)
