"""Which texts say nearly the same: for each, its nearest earlier neighbour by vector.

Every pair is compared, a block of rows at a time, so that memory stays small: 10,000 texts take a
second or two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ROWS = 1024


@dataclass(frozen=True, slots=True)
class Pair:
    """`later` says nearly what `earlier` does; both are rows."""

    earlier: int
    later: int
    cosine: float


def near_pairs(vectors: npt.NDArray[np.float32], *, threshold: float) -> list[Pair]:
    """For each row the nearest row before it, where their cosine reaches `threshold`.

    `vectors` are (n, dimension) and of length one.
    """
    pairs = []
    for start in range(0, len(vectors), ROWS):
        block = vectors[start : start + ROWS]
        cosines = block @ vectors[: start + len(block)].T
        # A row is compared with those before it: neither with itself, nor with a pair twice.
        rows = np.arange(start, start + len(block))[:, None]
        cosines[np.arange(cosines.shape[1])[None, :] >= rows] = -1.0
        nearest = cosines.argmax(axis=1)
        best = cosines[np.arange(len(block)), nearest]
        pairs += [
            Pair(int(nearest[row]), start + int(row), float(best[row]))
            for row in np.flatnonzero(best >= threshold)
        ]
    return pairs
