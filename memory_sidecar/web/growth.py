"""`/growth`: what is added, read and asked by week, what is never read, and what had no answer."""

from __future__ import annotations

import json
from datetime import datetime

from memory_sidecar.agents.growth import Growth, growth_of
from memory_sidecar.core.paths import ASKED, QUESTIONS
from memory_sidecar.core.times import last_week_starts, system_clock
from memory_sidecar.web import memories
from memory_sidecar.web.stamps import stamps_of
from memory_sidecar.web.visit import View, Visit

WEEKS = (4, 12, 26, 52)
USUAL_WEEKS = 12

# The charts: by title, the fields of a week that each draws.
_CHARTS = {
    "New memories": ("memories",),
    "Sessions": ("sessions",),
    "Memory reads": ("reads",),
    "Questions": ("questions", "unanswered"),
}


def show(visit: Visit) -> View:
    """Show what the command `growth` prints, for one agent or for all readable ones."""
    agent = visit.text("agent") or visit.seen_as
    if agent:
        visit.require_readable(agent)
    weeks = min(max(visit.number("weeks", USUAL_WEEKS), 1), max(WEEKS))
    found = growth_of(visit.services, agent, weeks=weeks, reporter=visit)
    return View(
        template="growth.html",
        title="Growth",
        data=found,
        more={
            "spans": WEEKS,
            "span": weeks,
            "asked": sum(week.questions for week in found.weeks),
            "unanswered": sum(week.unanswered for week in found.weeks),
            "charts": [(name, fields, _lines(found, fields)) for name, fields in _CHARTS.items()],
        },
    )


def version(visit: Visit) -> object:
    """Return what differs after a new memory, session, read or question, and in another week."""
    data_dir = visit.services.data_dir
    logs = [data_dir.agent(name).access_log for name in visit.readable]
    asked = data_dir.root / QUESTIONS / ASKED
    return (
        memories.version(visit),
        stamps_of([*logs, asked]),
        last_week_starts(1, now=system_clock()),
    )


def _lines(found: Growth, fields: tuple[str, ...]) -> str:
    """Return uPlot's data as JSON: the starts of the weeks in epoch seconds, and each field."""
    begins = [datetime.fromisoformat(week.begins).timestamp() for week in found.weeks]
    return json.dumps([begins, *([getattr(w, name) for w in found.weeks] for name in fields)])
