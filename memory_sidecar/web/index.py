"""`/index`: what is indexed, how fresh it is, and what is wrong."""

from __future__ import annotations

from dataclasses import replace

from memory_sidecar.agents.status import Status, status_of
from memory_sidecar.web.visit import View, Visit


def show(visit: Visit) -> View:
    return View(template="index.html", title="Index", data=_status(visit))


def version(visit: Visit) -> object:
    """The status, less what differs with every look."""
    return replace(_status(visit), daemon=None, vectors_seconds_left=None)


def _status(visit: Visit) -> Status:
    """That of the command line, of the agents that may be seen."""
    status = status_of(visit.services, None, daemon=visit.daemon())
    readable = set(visit.readable)
    return replace(status, agents=tuple(each for each in status.agents if each.name in readable))
