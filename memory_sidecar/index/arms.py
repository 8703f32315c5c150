"""What the keyword arm or the vector arm says of the rows of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.index.vectors import Floats, Ids

Scores = npt.NDArray[np.float64]

Judge = Callable[[str, Sequence[str]], Sequence[float]]
"""How well each text answers a question."""


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
            kept = among(ids, allowed)
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


def among(ids: Ids, allowed: Ids | None) -> npt.NDArray[np.bool_]:
    """Mask of those `ids` that are allowed. `allowed` is sorted, or `None` for all."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    at = np.searchsorted(allowed, ids)
    at[at == len(allowed)] = 0
    return allowed[at] == ids if len(allowed) else np.zeros(len(ids), np.bool_)
