"""Arrays of row ids: which are among others, where, and each once.

`np.unique`, unless asked for more than the values, imports `numpy.ma` at its first call, and so do
`np.union1d` and the like. That takes 50 ms and 10 MB; nothing here does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from memory_sidecar.index.codes import Ids, Mask

MOST_RANGES = 4  # each is asked for every word


@dataclass(frozen=True, slots=True)
class Among:
    """Some rows of a table, as those of a project, in which words are counted and looked for."""

    ids: Ids  # ascending, perhaps with some that have been deleted
    rows: int  # how many there are
    ranges: str  # few [first id, last id], as JSON, that hold `ids`: FTS5 skips what is outside

    @classmethod
    def of(cls, ids: Ids, rows: int) -> Among:
        """Find the ranges of `ids`: they are cut where most other rows lie between them."""
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
    """Return the places in `ids`, which ascends, of those of `wanted` that it holds."""
    at, known = locate(wanted, ids)
    return at[known]


def locate(wanted: Ids, ids: Ids) -> tuple[Ids, Mask]:
    """Return the place of each of `wanted` in `ids`, which ascends, and whether it is there: (n,).

    The place of one that is missing means nothing.
    """
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return at, ids[at] == wanted
