"""`memory-sidecar growth`"""

from __future__ import annotations

import click

from memory_sidecar.agents.growth import Growth, growth_of
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import counted, title
from memory_sidecar.cli.options import with_call
from memory_sidecar.core.times import system_clock

MAX_WEEKS = 104
_COLUMNS = ("memories", "sessions", "reads", "questions", "unanswered")


@click.command()
@click.option("--agent", metavar="A", help="Of this agent alone, not of all.")
@click.option(
    "--weeks", type=click.IntRange(1, MAX_WEEKS), default=12, show_default=True, metavar="N"
)
@with_call
def growth(call: Call, *, agent: str | None, weeks: int) -> Growth:
    """Show what comes in by week, what is read and what never, and how questions fare.

    Questions are noted in the data directory alone, unless the setting `keep_questions` says no.
    """
    found = growth_of(
        call.services, agent or "", weeks=weeks, now=system_clock(), reporter=call.reporter
    )
    return call.show(call.masked(found), _print_growth)


def _print_growth(call: Call, found: Growth) -> None:
    call.print("week of     ", *(f"{name:>11}" for name in _COLUMNS))
    for week in found.weeks:
        call.print(week.begins[:10], "  ", *(f"{getattr(week, name):11,}" for name in _COLUMNS))
    told = f"{found.hot:,} hot, {found.cold:,} cold, {found.never_read:,} never read"
    call.print(f"{counted(found.memories, 'memory', 'memories')}: {told}")
    for memory in found.most_read:
        call.print(f"{memory.uses + memory.refs:5,} reads  ", title(memory.path))
    for each in found.latency:
        half, most = f"{each.p50_ms:.1f} ms", f"{each.p95_ms:.1f} ms"
        call.print(f"{each.kind}: {counted(each.questions, 'question')}, p50 {half}, p95 {most}")
    for asked in found.unanswered:
        call.print(f"no good hit: {asked.text}  ({asked.kind}, {asked.times:,} times)")
    if not found.keeps_questions:
        call.reporter.notice("questions are not noted: the setting keep_questions says so")
