"""`/memories`: the memories of all readable agents, filtered or searched, and near duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TypeVar

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.credentials import mask_document
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.results import build_from
from memory_sidecar.core.times import DAY_MS, system_clock
from memory_sidecar.memories.facets import AGES, MOST_VALUES, STRENGTHS, Facets
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery, Sort
from memory_sidecar.memories.overview import Overview
from memory_sidecar.memories.results import Listed, MemoryHit
from memory_sidecar.web.memory import memories_of
from memory_sidecar.web.stamps import StampedCache, stamps_of
from memory_sidecar.web.visit import PAGE_ROWS, View, Visit

Number = TypeVar("Number", int, float)

MINUTE_MS = 60_000
FACETS = [each.name for each in fields(Facets) if each.name != "memories"]
COUNTED_AT_ONCE = 5_000  # memories; counting more takes longer than the rest of the view
COMPARED_AT_ONCE = 200  # memories a page of duplicates, each compared with all of its agent
_counted = StampedCache[Facets](64)  # by filter
_OPEN = frozenset({"agent", "category", "tag"})  # facets that are unfolded from the start


def show(visit: Visit) -> View:
    overview = overview_of(visit)
    wanted = filter_of(visit)
    question = visit.text("q").strip()
    rows: Sequence[Listed | MemoryHit]
    if question:
        # Asked at every keystroke: reranking would double the time.
        asked = MemoryQuery(text=question, top_k=PAGE_ROWS, filter=wanted, rerank=False)
        rows, more = overview.query(asked), False
    else:
        sort = visit.choice("sort", Sort, Sort.UPDATED)
        found = overview.list_memories(
            MemoryList(
                filter=wanted,
                sort=sort,
                is_descending=sort is not Sort.PATH,
                limit=PAGE_ROWS + 1,
                offset=visit.offset,
            )
        )
        rows = [build_from(Listed, each) for each in found[:PAGE_ROWS]]
        more = len(found) > PAGE_ROWS
    counted = _facets(visit, overview, wanted)
    facets = [(name, getattr(counted, name)) for name in FACETS] if counted else []
    return View(
        template="memories.html",
        title="Memories",
        data={"facets": counted, "memories": rows, "more": more},  # facets None: not counted yet
        more={
            "facets": facets,
            "most": MOST_VALUES,
            "unfolded": _OPEN,
            "sorts": list(Sort),
            "question": question,
        },
    )


def duplicates(visit: Visit) -> View:
    """Show pairs of near-duplicate memories, among the page of those changed last."""
    wanted = MemoryList(limit=COMPARED_AT_ONCE + 1, offset=(visit.page - 1) * COMPARED_AT_ONCE)
    found = overview_of(visit).list_memories(wanted)
    by_agent = by_key((each.agent, each) for each in found[:COMPARED_AT_ONCE])
    near = [
        (-cosine, path, other, memories)
        for agent, of_agent in by_agent.items()
        for memories in (memories_of(visit, agent),)
        for cosine, path, other in memories.near_pairs(of_agent)
    ]
    near.sort(key=lambda each: each[:2])
    pairs = [
        {"cosine": -less, "one": memories.peek(path), "other": memories.peek(other)}
        for less, path, other, memories in near[:PAGE_ROWS]
    ]
    if len(near) > PAGE_ROWS:
        visit.notice(f"the {PAGE_ROWS} most alike of {len(near):,} pairs")
    return View(
        template="duplicates.html",
        title="Near duplicates",
        data={
            "pairs": pairs,
            "looked_at": min(len(found), COMPARED_AT_ONCE),
            "more": len(found) > COMPARED_AT_ONCE,
        },
    )


def _facets(visit: Visit, overview: Overview, wanted: MemoryFilter) -> Facets | None:
    """Return the facets of `wanted`, cached; None if counting them would keep the list waiting.

    The view then requests them with the parameter `facets`.
    """
    key = (visit.services, tuple(visit.readable), visit.text("agent"), wanted)
    stamp = (_stamps(visit), system_clock() // MINUTE_MS)  # memories expire
    if (known := _counted.find(key, stamp)) is not None:
        return known
    is_asked_for = visit.text("facets") or visit.text("json")
    if not is_asked_for and overview.count() > COUNTED_AT_ONCE:
        return None
    facets = mask_document(overview.facets(wanted))
    return _counted.keep(key, stamp, facets)


def version(visit: Visit) -> object:
    """Return the stamps of the readable agents' databases, and how many passes index them.

    A database differs after any change; a pass may end, and its notice with it, without one.
    """
    return _stamps(visit), sum(_count_passes(visit, name) for name in visit.readable)


def _stamps(visit: Visit) -> object:
    databases = [visit.services.data_dir.agent(name).db for name in visit.readable]
    return stamps_of(file for db in databases for file in (db, db.with_name(f"{db.name}-wal")))


def _count_passes(visit: Visit, agent: str) -> int:
    with suppress(SidecarError):  # the view tells why the agent cannot be read
        states = visit.services.agent(agent).data.states()
        return sum(live.indexing is not None for live in states.values())
    return 0


def overview_of(visit: Visit) -> Overview:
    """Return the overview of the readable agents, or of the one that the address names."""

    def open_agent(name: str) -> Agent | None:
        agent = visit.services.agent(name)
        return agent if agent.exists and visit.can_show(agent) else None

    return Overview(visit.ask_each_agent(open_agent), visit)


def filter_of(visit: Visit) -> MemoryFilter:
    """Parse the memory filter in the address. Raises UsageError."""
    least, most = _bounds(visit, "age", AGES)
    stronger, weaker = _bounds(visit, "strength", STRENGTHS)
    outdated = visit.text("outdated")
    # The filter stays equal for a minute, so that its facets stay cached.
    now = system_clock() // MINUTE_MS * MINUTE_MS
    return MemoryFilter(
        category=visit.text("category"),
        tags=visit.texts("tag"),
        statuses=visit.texts("status"),
        kinds=visit.texts("kind"),
        project=visit.services.project_named(visit.text("project").strip(), visit.folder),
        source=visit.text("source").strip(),
        updated_after=None if most is None else now - most * DAY_MS,
        updated_before=None if least is None else now - least * DAY_MS,
        stronger_than=stronger,
        weaker_than=weaker,
        with_expired=bool(outdated),
        with_superseded=bool(outdated),
    )


def _bounds(
    visit: Visit, facet: str, known: Mapping[str, tuple[Number | None, Number | None]]
) -> tuple[Number | None, Number | None]:
    """Return the bounds of the chosen `facet`, (None, None) for none. Raises UsageError."""
    name = visit.text(facet)
    if name and name not in known:
        raise UsageError(f"there is no {facet} {name[:40]!r}", hint=f"one of {', '.join(known)}")
    return known[name] if name else (None, None)
