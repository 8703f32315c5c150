"""What all searches share: arms, the threads beside the keyword arm, reranking, explanations.

An arm is the ranking of a corpus's rows by words, or by vectors. A final score is a curve applied
to a sum of terms, followed by some steps that add or subtract. An explanation splits the value of
the curve among the terms in proportion, and lists each step, so that all of it adds up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.model import Explanation, SearchMode
from memory_sidecar.core.results import rounded
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.codes import Floats, Ids, Mask
from memory_sidecar.index.vectors import VectorView
from memory_sidecar.index.words import lacks_latin

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
        if not len(self.ids):
            return np.full(len(wanted), np.nan)
        at = np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)
        return np.where(self.ids[at] == wanted, self.scores[at].astype(np.float64), np.nan)


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


def mask_allowed(ids: Ids, allowed: Ids | None) -> Mask:
    """Return a mask (n,) of the `ids` that are in `allowed`, which is sorted; None allows all."""
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
    """Return the indexes of `texts`, best first, by `scores` + `weight` · the scores of `judge`.

    Where `judge` prefers a text only a little, it passes another only if their scores were close.
    Equal ones keep their order.
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
    """Explain a `score`: a curve over the sum of `summands`, followed by `steps`.

    `cosine` and `keyword` are the scores of the arms, NaN where an arm does not know the row.
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


def weak_below(text: str, mode: SearchMode, explanation: Explanation, usual: float) -> float:
    """Return the score below which a hit of the query `text` is weak; 0 if only one arm made it.

    To the model all text without Latin letters is alike: a hit that shares no word with such a
    query is weak whatever its score, any other below `usual`.
    """
    if mode is not SearchMode.HYBRID or explanation.cosine is None:
        return 0.0
    return math.inf if not explanation.keyword and lacks_latin(text) else usual


def _opinion(value: float) -> float | None:
    return None if math.isnan(value) else rounded(value)
