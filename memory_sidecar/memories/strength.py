"""The strength of a memory: from 1, just written or read, falling towards 0.

Forgetting is exponential with a half-life that grows with every use, as in half-life regression
(Settles & Meeder, "A Trainable Spaced Repetition Model for Language Learning", ACL 2016), which
writes the curve of Ebbinghaus as p = 2^(-Δ/h). Here, the half-life grows with the square root
of the number of recalls:

    strength = 2 ^ (-days since the last change or use / half-life)
    half-life = 60 days * sqrt(1 + uses) * (1 + 0.25 * pieces of evidence, at most 4)

A pinned memory does not fade. The constants are chosen, not fitted, for lack of data. Strength
therefore changes a score little: it decides between memories that match about equally well.
"""

from __future__ import annotations

import math

from memory_sidecar.core.times import DAY_MS

HALF_LIFE_DAYS = 60.0
EVIDENCE_SHARE = 0.25
MAX_EVIDENCE = 4
SHARE = 0.1
"""The largest share of its score that a memory can lose by fading."""


def kept_share(strength: float) -> float:
    """Return the share of its score that a memory keeps, from 1 - SHARE to 1.

    Falls with 1 / (1 + elapsed half-lives), so that older memories rank after newer ones at any
    age: after six years the strength itself is 2^-36, and would make no difference any more.
    """
    present = 1 / (1 - math.log2(strength)) if strength > 0 else 0.0
    return 1 - SHARE + SHARE * present


# Days of the calendar, so that asking again a minute later gives the same scores to the last digit,
# for every memory: all of them fade at midnight UTC.
_FADED_DAYS_SQL = f"max(:today - max(updated_at, used_at) / {DAY_MS}, 0)"
_HALF_LIFE_SQL = (
    f"({HALF_LIFE_DAYS} * sqrt(1 + uses) * (1 + {EVIDENCE_SHARE} * min(evidence, {MAX_EVIDENCE})))"
)

STRENGTH_SQL = f"CASE WHEN pinned THEN 1.0 ELSE pow(2.0, -{_FADED_DAYS_SQL} / {_HALF_LIFE_SQL}) END"
"""The strength, 0…1, as SQL over columns of `memories`; bind `today`, see below."""

STRENGTH_ORDER_SQL = (
    f"-CASE WHEN pinned THEN -1.0 WHEN uses OR evidence THEN {_FADED_DAYS_SQL} / {_HALF_LIFE_SQL}"
    f" ELSE {_FADED_DAYS_SQL} / {HALF_LIFE_DAYS} END"
)
"""SQL that orders rows as their strength does, pinned ones above all others, in half the time."""


def today(now_ms: int) -> int:
    """Return the value of `:today` in the SQL above: whole days since 1970."""
    return now_ms // DAY_MS
