"""Counts memories by the values that a list can be filtered by, such as tags, and by their use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from memory_sidecar.core.results import about
from memory_sidecar.core.times import DAY_MS
from memory_sidecar.memories.lists import MemoryRows, filter_sql
from memory_sidecar.memories.model import COLD_SQL, HOT_SQL, MemoryFilter
from memory_sidecar.memories.names import with_parents
from memory_sidecar.memories.results import SUPERSEDED
from memory_sidecar.memories.strength import STRENGTH_SQL

MOST_VALUES = 40  # values of one facet, at most

FacetRow = tuple[str, str, int]
"""A facet, one of its values, and how many memories have that."""

AGES: dict[str, tuple[int | None, int | None]] = {
    "week": (None, 7),
    "month": (7, 30),
    "year": (30, 365),
    "older": (365, None),
}
"""By name of an age, the days since the last change: more than the first, at most the second."""
STRENGTHS: dict[str, tuple[float | None, float | None]] = {
    "strong": (2 / 3, None),
    "fading": (1 / 3, 2 / 3),
    "faint": (None, 1 / 3),
}
"""By name of a band of strength, its lowest value, and the value that it lies below."""


def _first_that_holds(conditions: Mapping[str, str], otherwise: str) -> str:
    """Build the SQL for the first name whose condition holds."""
    cases = " ".join(f"WHEN {each} THEN '{name}'" for name, each in conditions.items())
    return f"CASE {cases} ELSE '{otherwise}' END"


_FACETS = {
    "category": "category",
    "project": "project",
    "status": "status",
    "kind": "kind",
    "source": "source",
    "age": _first_that_holds(
        {age: f"updated_at >= :now - {most * DAY_MS}" for age, (_, most) in AGES.items() if most},
        "older",
    ),
    "strength": _first_that_holds(
        {band: f"{STRENGTH_SQL} >= {least}" for band, (least, _) in STRENGTHS.items() if least},
        "faint",
    ),
}
"""By facet, the SQL for the value of a row of `memories`; '' where the row has none."""


def count_by_facet(rows: MemoryRows, wanted: MemoryFilter) -> list[FacetRow]:
    """Count the memories that satisfy `wanted` by facet and value; the first row counts all."""
    condition, values = filter_sql(wanted, rows)
    columns = ", ".join(f"{sql} AS {facet}" for facet, sql in _FACETS.items())
    counts = [
        "SELECT 'memories', '', count(*) FROM chosen",
        *(
            f"SELECT '{facet}', {facet}, count(*) FROM chosen WHERE {facet} <> '' GROUP BY {facet}"
            for facet in _FACETS
        ),
    ]
    # A superseded memory has that status, whatever its page says, as in `lists`.
    superseded = (
        f"SELECT 'status', '{SUPERSEDED}', count(*) FROM chosen"
        f" WHERE superseded AND status <> '{SUPERSEDED}' HAVING count(*)"
    )
    # A tag with a key has a row for the key alone, too, which ends in a colon.
    tags = (
        "SELECT 'tag', tag, count(*) FROM memory_tags WHERE tag NOT LIKE '%:'"
        " AND memory IN (SELECT key FROM chosen) GROUP BY tag"
    )
    counted = rows.connection.execute(
        f"WITH chosen AS MATERIALIZED (SELECT key, superseded, {columns} FROM memories"
        f" WHERE {condition})"
        f" {' UNION ALL '.join([*counts, superseded, tags])}",
        values,
    )
    return list(counted)


def count_use(rows: MemoryRows) -> dict[str, int]:
    """Count the current memories, which `list` shows, and those of them hot, cold or never read."""
    condition, values = filter_sql(MemoryFilter(), rows)
    counts: Any = rows.connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {HOT_SQL}), count(*) FILTER (WHERE {COLD_SQL}),"
        f" count(*) FILTER (WHERE uses + refs = 0) FROM memories WHERE {condition}",
        values,
    ).get
    return dict(zip(("memories", "hot", "cold", "never_read"), counts, strict=True))


@dataclass(frozen=True, slots=True)
class FacetCount:
    """A value of a facet, and how many memories have it."""

    value: str
    memories: int


Counts = Annotated[tuple[FacetCount, ...], about("the most frequent first")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The number of memories that satisfy a filter, by each property, as the page lists them."""

    memories: Annotated[int, about("that satisfy the filter")]
    agent: Counts
    project: Counts
    category: Annotated[tuple[FacetCount, ...], about("in it and below it")]
    tag: Counts
    status: Counts
    kind: Counts
    age: Annotated[tuple[FacetCount, ...], about("since the last change: week, month, year, older")]
    strength: Annotated[tuple[FacetCount, ...], about("strong, fading, faint: by thirds")]
    source: Counts

    @classmethod
    def of(cls, counted: Iterable[tuple[str, list[FacetRow]]]) -> Facets:
        """Add up the rows that `count_by_facet` counted, given as pairs of agent and rows."""
        sums: dict[str, Counter[str]] = defaultdict(Counter)
        for agent, rows in counted:
            for facet, value, count in rows:
                for each in with_parents(value) if facet == "category" else (value,):
                    sums[facet][each] += count
                if facet == "memories" and count:
                    sums["agent"][agent] += count
        counts: dict[str, Any] = {
            name: tuple(
                FacetCount(value, count)
                for value, count in sorted(sums[name].items(), key=lambda one: (-one[1], one[0]))
            )[:MOST_VALUES]
            for name in cls.__dataclass_fields__
        }
        return cls(**counts | {"memories": sums["memories"].total()})
