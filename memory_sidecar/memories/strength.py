"""The strength of a memory: from 1, just written or read, falling towards 0; and SQL for `doctor`.

Forgetting is exponential with a half-life that grows with every use, as in half-life regression
(Settles & Meeder, "A Trainable Spaced Repetition Model for Language Learning", ACL 2016), which
writes the curve of Ebbinghaus as p = 2^(-Δ/h). With its growth by the square root of the number
of recalls:

    strength = 2 ^ (-days since the last change or use / half-life)
    half-life = 60 days * sqrt(1 + uses) * (1 + 0.25 * pieces of evidence, at most 4)

A pinned memory does not fade. The constants are chosen, not fitted, for lack of data. Strength
therefore changes a score little: it decides between memories that match about equally well.
"""

from __future__ import annotations

import math

from memory_sidecar.core import reasons

HALF_LIFE_DAYS = 60.0
EVIDENCE_SHARE = 0.25
MAX_EVIDENCE = 4
SHARE = 0.1
"""The largest share of its score that a memory can lose by fading."""

_DAY_MS = 86_400_000


def apply_strength(score: float, strength: float) -> float:
    """Lower `score` by at most SHARE of it, depending on `strength`.

    Falls with 1 / (1 + elapsed half-lives), so that older memories rank after newer ones at any
    age: after six years the strength itself is 2^-36, and would make no difference any more.
    """
    present = 1 / (1 - math.log2(strength)) if strength > 0 else 0.0
    return score * (1 - SHARE + SHARE * present)


# Days of the calendar, so that asking again a minute later gives the same scores to the last digit,
# for every memory: all of them fade at midnight UTC.
_FADED_DAYS_SQL = f"max(:today - max(updated_at, used_at) / {_DAY_MS}, 0)"
_HALF_LIFE_SQL = (
    f"({HALF_LIFE_DAYS} * sqrt(1 + uses) * (1 + {EVIDENCE_SHARE} * min(evidence, {MAX_EVIDENCE})))"
)

STRENGTH_SQL = f"CASE WHEN pinned THEN 1.0 ELSE pow(2.0, -{_FADED_DAYS_SQL} / {_HALF_LIFE_SQL}) END"
"""The strength, 0…1, as SQL over columns of `memories`; bind `today`, see below."""

STRENGTH_ORDER_SQL = (
    f"-CASE WHEN pinned THEN 0.0 WHEN uses OR evidence THEN {_FADED_DAYS_SQL} / {_HALF_LIFE_SQL}"
    f" ELSE {_FADED_DAYS_SQL} / {HALF_LIFE_DAYS} END"
)
"""SQL that orders rows as their strength does, in half the time."""


def today(now_ms: int) -> int:
    """Return the value of `:today` in the SQL above: whole days since 1970."""
    return now_ms // _DAY_MS


FADED = 0.1  # strength below which a memory counts as faded

_CURRENT = "standing = 'active' AND NOT superseded AND (expires_at IS NULL OR expires_at > :now)"
_NOT_INDEXED = (
    "SELECT path || ': ' || reason FROM files INDEXED BY files_not_indexed"
    " WHERE status <> 'indexed' AND status"
)

FAULTS = (
    (
        "cannot be read as they should be",
        "fix them; what could be read of them counts",
        "SELECT path || ': ' || problem FROM memories WHERE problem <> '' ORDER BY path",
    ),
    (
        "could not be read",
        "make them readable; they are tried again",
        f"{_NOT_INDEXED} = 'failed' ORDER BY source, path",
    ),
    (  # atoms of different projects may have the same id
        "give an id that is given twice",
        "give one of each another id",
        "SELECT declared_id || ': ' || group_concat(path, ', ' ORDER BY path) FROM memories"
        " WHERE declared_id <> '' GROUP BY declared_id, directory, project HAVING count(*) > 1"
        " ORDER BY declared_id, min(path)",
    ),
    (
        "are superseded by one that is not there",
        "name another, or remove superseded_by",
        "SELECT m.path || ' -> ' || r.target FROM memories m"
        " JOIN memory_relations r ON r.memory = m.key WHERE r.relation = 'superseded_by'"
        " AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.path = r.target)"
        " ORDER BY m.path, r.target",
    ),
    (
        "supersede each other",
        "remove one of the two `supersedes`",
        "SELECT m.path || ' and ' || r.target FROM memories m"
        " JOIN memory_relations r ON r.memory = m.key JOIN memories o ON o.path = r.target"
        " JOIN memory_relations b ON b.memory = o.key AND b.target = m.path"
        " WHERE r.relation = 'supersedes' AND b.relation = 'supersedes' AND m.path < r.target"
        " ORDER BY m.path, r.target",
    ),
)
"""What is wrong with the files of an agent, the hint, and the SQL that lists them."""

SKIPPED = f"{_NOT_INDEXED} = 'skipped' AND reason <> '{reasons.EMPTY}' ORDER BY source, path"
"""The SQL that lists the files that are no memories, except for empty ones."""

DOUBTS = (
    (
        "stale, hardly any strength left",
        f"SELECT path FROM memories WHERE {_CURRENT} AND {STRENGTH_SQL} < {FADED}"
        f" ORDER BY {STRENGTH_SQL}, path",
    ),
    (
        "cold, two weeks old and never read",
        f"SELECT path FROM memories WHERE {_CURRENT} AND uses + refs = 0"
        " AND created_at < :cold_before ORDER BY created_at, path",
    ),
    (
        "contradicted, their status is challenged",
        "SELECT path FROM memories WHERE status = 'challenged' ORDER BY path",
    ),
)
"""What the user may want to update or prune, and the SQL that lists the paths of it."""
