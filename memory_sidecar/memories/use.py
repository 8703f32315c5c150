"""Counts how much the memories of a database are read, for `growth`. Only reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memory_sidecar.memories.lists import MemoryRows, filter_sql, list_memories
from memory_sidecar.memories.model import (
    COLD_AFTER_MS,
    HOT_USES,
    MemoryFilter,
    MemoryList,
    Sort,
)
from memory_sidecar.memories.results import Memory


@dataclass(frozen=True, slots=True)
class Use:
    """How the current memories, those that `list` shows, are read."""

    memories: int
    hot: int
    cold: int
    never_read: int
    most_read: Sequence[Memory]  # of the hot ones, the most read first
    longest_unread: Sequence[Memory]  # of the cold ones, the oldest first


def measure_use(rows: MemoryRows, *, shown: int) -> Use:
    """Count hot, cold and unread memories; list at most `shown` of the hot and the cold ones."""
    condition, values = filter_sql(MemoryFilter(), rows.now)
    counts: Any = rows.connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE uses + refs >= {HOT_USES}),"
        f" count(*) FILTER (WHERE uses + refs = 0 AND created_at < :now - {COLD_AFTER_MS}),"
        f" count(*) FILTER (WHERE uses + refs = 0) FROM memories WHERE {condition}",
        values,
    ).get
    hot = MemoryList(filter=MemoryFilter(hot=True), sort=Sort.REFS, limit=shown)
    cold = MemoryList(
        filter=MemoryFilter(cold=True), sort=Sort.CREATED, is_descending=False, limit=shown
    )
    first_hot, first_cold = (
        [each.memory for each in list_memories([rows], wanted)] for wanted in (hot, cold)
    )
    memories, hot_count, cold_count, never_read = counts
    return Use(memories, hot_count, cold_count, never_read, first_hot, first_cold)
