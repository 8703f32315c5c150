"""Counts how memories grow, which of them are read, and how well questions are answered.

Reads the databases as they are, and indexes nothing. The questions come from `disk.usage`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import NoIndex
from memory_sidecar.core.groups import by_key
from memory_sidecar.core.model import Asked
from memory_sidecar.core.process import process_memory_bytes
from memory_sidecar.core.results import Reporter, Time, about, ask_each, build_from
from memory_sidecar.core.times import iso_utc, last_week_starts, system_clock, week_start
from memory_sidecar.disk.usage import AskedQuestion, reads_since
from memory_sidecar.index.report import count_by_week
from memory_sidecar.memories.facets import count_use
from memory_sidecar.memories.lists import MemoryRows, asking, list_memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, Sort
from memory_sidecar.memories.results import Memory, MemoryHead

SHOWN = 10  # memories or questions in one list of the result, at most
_HOT = MemoryList(filter=MemoryFilter(hot=True), sort=Sort.READS, limit=SHOWN)
_COLD = MemoryList(
    filter=MemoryFilter(cold=True), sort=Sort.CREATED, is_descending=False, limit=SHOWN
)


@dataclass(frozen=True, slots=True)
class Week:
    """What came in one week."""

    begins: Annotated[Time, about("a Monday, in UTC")]
    memories: Annotated[int, about("made")]
    sessions: Annotated[int, about("begun")]
    reads: Annotated[int, about("of memories")]
    questions: int
    unanswered: Annotated[int, about("of those, without a good hit to this day")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedMemory(MemoryHead):
    """A memory with how often it is read."""

    created_at: Time
    uses: int
    refs: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that had no hit, or weak ones alone, in all that it was asked of last."""

    text: str
    kind: Asked
    times: Annotated[int, about("asked")]
    last_at: Time


@dataclass(frozen=True, slots=True)
class Latency:
    """How long questions took, as measured where they were answered."""

    kind: Asked
    questions: int
    p50_ms: Annotated[float, about("half of them took no longer")]
    p95_ms: Annotated[float, about("95 in a hundred took no longer")]


@dataclass(frozen=True, slots=True)
class Growth:
    """How what is remembered grows and is used."""

    agents: tuple[str, ...]
    weeks: Annotated[tuple[Week, ...], about("in order, the present one last")]
    memories: Annotated[int, about("that hold today; the next three are of these")]
    hot: Annotated[int, about("read five times or more")]
    cold: Annotated[int, about("two weeks old and never read")]
    never_read: int
    most_read: tuple[UsedMemory, ...]
    longest_unread: tuple[UsedMemory, ...]
    unanswered: Annotated[tuple[Unanswered, ...], about("of those weeks, the most asked first")]
    latency: Annotated[tuple[Latency, ...], about("of those weeks")]
    keeps_questions: Annotated[bool, about("the setting: false adds no questions")]
    resident_bytes: Annotated[int, about("of memory that the process that answers holds")]


def growth_of(services: Services, agent: str = "", *, weeks: int, reporter: Reporter) -> Growth:
    """Count for `agent`, or for all agents together, over the last `weeks`, this one included.

    An agent whose database cannot be read is left out, and a notice says so.
    """
    begins = last_week_starts(weeks, now=system_clock())
    counts = _Counts(begins[0])
    names = [agent] if agent else services.agent_names()
    ask_each(names, lambda name: counts.add(services.agent(name)), reporter)
    used = counts.used
    asked = [q for q in services.questions.since(begins[0]) if agent in ("", q.agent)]
    questions = Counter(week_start(q.at) for q in asked)
    unanswered = _unanswered(asked)
    missed = Counter(week_start(q.at) for found in unanswered for q in found if q.weak)
    return Growth(
        agents=tuple(names),
        weeks=tuple(
            Week(
                *(iso_utc(at), counts.made[at], counts.began[at], counts.reads[at]),
                *(questions[at], missed[at]),
            )
            for at in begins
        ),
        memories=used["memories"],
        hot=used["hot"],
        cold=used["cold"],
        never_read=used["never_read"],
        most_read=_top(counts.hot, key=lambda memory: -(memory.uses + memory.refs)),
        longest_unread=_top(counts.cold, key=lambda memory: memory.created_at),
        unanswered=tuple(
            Unanswered(found[-1].text, found[-1].kind, len(found), iso_utc(found[-1].at))
            for found in unanswered[:SHOWN]
        ),
        latency=tuple(_latencies(asked)),
        keeps_questions=services.settings.keep_questions,
        resident_bytes=process_memory_bytes(),
    )


@dataclass(slots=True)
class _Counts:
    """What the databases and the access logs of agents have, added up; by week since `since`."""

    since: int
    made: Counter[int] = field(default_factory=Counter)
    began: Counter[int] = field(default_factory=Counter)
    reads: Counter[int] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)  # see `count_use`
    hot: list[Memory] = field(default_factory=list)
    cold: list[Memory] = field(default_factory=list)

    def add(self, agent: Agent) -> None:
        with suppress(NoIndex), agent.short_connection() as connection:
            self.made.update(count_by_week(connection, "memories", since=self.since))
            self.began.update(count_by_week(connection, "sessions", since=self.since))
            rows = MemoryRows.of(agent, connection)
            self.used.update(count_use(rows))
            self.hot += (it.memory for it in list_memories(asking(rows), _HOT))
            self.cold += (it.memory for it in list_memories(asking(rows), _COLD))
        log = reads_since(agent.paths.tree, agent.paths.access_log, self.since)
        self.reads.update(week_start(at) for _, at in log)


def _top(memories: Iterable[Memory], *, key: Callable[[Memory], Any]) -> tuple[UsedMemory, ...]:
    return tuple(build_from(UsedMemory, each) for each in sorted(memories, key=key)[:SHOWN])


def _unanswered(asked: Collection[AskedQuestion]) -> list[list[AskedQuestion]]:
    """Group the questions whose last answers were weak, the most asked first.

    Questions that differ in spacing and case only are the same. The page asks for code, memories
    and sessions at once, so a good answer of one kind counts for all.
    """
    by_text = by_key(((each.kind, " ".join(each.text.lower().split())), each) for each in asked)
    answered = {text for (_, text), found in by_text.items() if not found[-1].weak}
    return sorted(
        (found for (_, text), found in by_text.items() if text not in answered),
        key=lambda found: (len(found), found[-1].at),
        reverse=True,
    )


def _latencies(asked: Collection[AskedQuestion]) -> Iterable[Latency]:
    for kind in Asked:
        if took := sorted(each.ms for each in asked if each.kind is kind):
            yield Latency(kind, len(took), _percentile(took, 50), _percentile(took, 95))


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of `ordered`, which ascends and is not empty."""
    return ordered[math.ceil(percent / 100 * len(ordered)) - 1]
