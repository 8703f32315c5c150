"""`/memories/duplicates`: pairs of near-duplicate memories, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.results import about
from memory_sidecar.memories.model import MemoryList
from memory_sidecar.memories.results import Memory
from memory_sidecar.web.memories import overview_of
from memory_sidecar.web.memory import memories_of
from memory_sidecar.web.visit import PAGE_ROWS, View, Visit

LOOKED_AT = 200  # memories of a page, each compared with all of its agent


@dataclass(frozen=True, slots=True)
class DuplicatePair:
    """Two memories that are near duplicates."""

    cosine: float
    one: Memory
    other: Memory


@dataclass(frozen=True, slots=True)
class DuplicatesShown:
    """The near duplicates of a page of memories, the last changed first."""

    pairs: tuple[DuplicatePair, ...]
    looked_at: int
    more: Annotated[bool, about("there are further memories to look at")]


def show(visit: Visit) -> View:
    wanted = MemoryList(limit=LOOKED_AT + 1, offset=(visit.page - 1) * LOOKED_AT)
    found = overview_of(visit).list_memories(wanted)
    by_agent: dict[str, list[Memory]] = {}
    for each in found[:LOOKED_AT]:
        by_agent.setdefault(each.agent, []).append(each)
    near = [
        (pair, memories)
        for agent, of_agent in by_agent.items()
        for memories in (memories_of(visit, agent),)
        for pair in memories.near_pairs(of_agent)
    ]
    near.sort(key=lambda each: (-each[0].cosine, each[0].path))
    pairs = [
        DuplicatePair(pair.cosine, memories.peek(pair.path), memories.peek(pair.other))
        for pair, memories in near[:PAGE_ROWS]
    ]
    if len(near) > PAGE_ROWS:
        visit.notice(f"the {PAGE_ROWS} most alike of {len(near):,} pairs")
    return View(
        template="duplicates.html",
        title="Say the same",
        data=DuplicatesShown(tuple(pairs), min(len(found), LOOKED_AT), len(found) > LOOKED_AT),
    )
