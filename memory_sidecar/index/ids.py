"""Arrays of row ids: membership, positions, distinct values.

Nothing here calls `np.union1d` and the like, nor `np.unique` for the values alone: at its first
call each imports `numpy.ma`, which takes 50 ms and 10 MB.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from memory_sidecar.index.codes import Ids, Mask

MOST_RANGES = 4  # every word is searched for in each


@dataclass(frozen=True, slots=True)
class Among:
    """Some rows of a table, such as those of one project, to count and look for words in."""

    ids: Ids  # ascending, perhaps with some that have been deleted
    rows: int  # how many of these rows exist
    ranges: str  # JSON: a few [first id, last id] that cover `ids`; FTS5 skips what is outside

    @classmethod
    def of(cls, ids: Ids, rows: int) -> Among:
        """Find the ranges of `ids`, cut at the widest gaps between these."""
        gaps = np.diff(ids)
        cuts = np.flatnonzero(gaps > 1)
        widest = np.sort(cuts[np.argsort(-gaps[cuts])[: MOST_RANGES - 1]])
        parts = np.split(ids, widest + 1)
        return cls(ids, rows, json.dumps([(int(p[0]), int(p[-1])) for p in parts if len(p)]))


def distinct(*parts: Ids) -> Ids:
    """Return the ids of all `parts`, each once, ascending."""
    merged = np.sort(np.concatenate(parts), kind="stable")
    return merged[np.append(True, merged[1:] != merged[:-1])] if len(merged) else merged


def mask_allowed(ids: Ids, allowed: Ids | None) -> Mask:
    """Return a mask (n,) of the `ids` that are in `allowed`, which is sorted; None allows all."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    return locate(ids, allowed)[1]


def places_of(wanted: Ids, ids: Ids) -> Ids:
    """Return the places, in the ascending `ids`, of those of `wanted` that are there."""
    at, known = locate(wanted, ids)
    return at[known]


def locate(wanted: Ids, ids: Ids) -> tuple[Ids, Mask]:
    """Return the place of each of `wanted` in the ascending `ids`, and whether it is there: (n,).

    The place of a missing one means nothing.
    """
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return at, ids[at] == wanted
