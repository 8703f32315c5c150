"""Why a hit has its score: what each term adds to it.

A score is a curve over a sum of terms, and some steps after it. Each term gets its share of what
the curve makes of the sum; each step counts as what it changed. So all of them add up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from memory_sidecar.core.model import Explanation
from memory_sidecar.core.results import rounded


def explained(
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
