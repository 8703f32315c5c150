"""`/index`: what is indexed, how fresh it is, what was left out, `doctor`'s checks, and the log."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from memory_sidecar.agents.checks import Check
from memory_sidecar.agents.doctor import examine, repair
from memory_sidecar.agents.status import Status, status_of
from memory_sidecar.agents.team_status import team_line
from memory_sidecar.code.breakdown import break_down, vectors_by_source
from memory_sidecar.core.errors import NoIndex, NotFound
from memory_sidecar.core.results import pluralize
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.visit import Done, View, Visit

FolderTree = dict[str, "FolderTree"]
"""The entries of a folder by name; a file has none."""

LOG_BYTES = 24_000  # from its end: some two hundred lines


def show(visit: Visit) -> View:
    try:
        status = _status(visit)
    except NoIndex as error:
        links = [("Checks", visit.to("/index/checks"))]
        return View(
            template="problem.html", title="Index", data=error.as_json(), more={"links": links}
        )
    vectors = vectors_by_source(visit.services.codebase()) if status.chunks else {}
    data = {"status": status, "vectors": vectors}
    more = {"team": team_line(status.team) if status.team else ""}
    return View(template="index.html", title="Index", data=data, more=more)


def version(visit: Visit) -> object:
    """Return the status without what changes each time it is read; None without an index."""
    try:
        status = _status(visit)
    except NoIndex:
        return None
    team = status.team and replace(status.team, delay_ms=None)
    return replace(status, daemon=None, vectors_seconds_left=None, team=team)


def source(visit: Visit) -> View:
    name = visit.text("name")
    found = break_down(visit.services.codebase(), name)
    return View(template="source.html", title=name, data=found, more={"tree_of": tree_of})


def tree_of(paths: Iterable[str]) -> FolderTree:
    """Group `paths` by folder, whose names end in a slash.

    A folder with a single entry is joined with it: `a/b.py`.
    """
    by_first: dict[str, list[str]] = {}
    for path in paths:
        first, slash, rest = path.partition("/")
        by_first.setdefault(first + slash, []).extend([rest] if rest else [])
    tree: FolderTree = {}
    for first, rests in by_first.items():
        within = tree_of(rests)
        if len(within) == 1:
            ((only, below),) = within.items()
            tree[first + only] = below
        else:
            tree[first] = within
    return tree


def checks(visit: Visit) -> View:
    found = _checks(visit)
    can_mend = any(each.remedy and not each.ok for each in found)
    return View(
        template="checks.html", title="Checks", data={"checks": found, "can_mend": can_mend}
    )


def log(visit: Visit) -> View:
    """Show the end of the daemon's log.

    Raises NotFound while viewing as an agent, as the log names every agent, or without a file.
    """
    file = visit.daemon_log
    if visit.seen_as or not file:
        raise NotFound("there is no log to see", hint="see as everyone, served by the daemon")
    if not os.path.exists(file):  # noqa: PTH110  `serve` logs to standard error
        raise NotFound(f"there is no {file}", hint="where the daemon runs, its log is shown")
    with open(file, "rb") as opened:  # noqa: PTH123  our own file, and a long one
        opened.seek(max(opened.seek(0, os.SEEK_END) - LOG_BYTES, 0))
        lines = opened.read().decode("utf-8", "replace").splitlines()
    return View(template="log.html", title="Log", data={"file": file, "lines": lines[::-1]})


def log_version(visit: Visit) -> object:
    return visit.daemon_log and os.stat(visit.daemon_log).st_size  # noqa: PTH116


# Changes


def fix(visit: Visit) -> Done:
    """Fix what needs no decision, as `doctor --fix` does, among the checks that may be seen."""
    codebase = visit.services.codebase()
    repair(_checks(visit), visit.services, codebase, reporter=visit)
    left = sum(not each.ok for each in _checks(visit))
    text = f"Fixed, except {left}" if left else "Fixed"
    return Done(visit.to("/index/checks"), Flash("; ".join([text, *visit.notices])))


def rescan(visit: Visit) -> Done:
    """Rescan the source that the form names, without its vectors."""
    codebase = visit.services.codebase()
    source = codebase.registry.get(visit.text("name"))
    report = codebase.index([source.root], reporter=visit, embed=False)
    files = pluralize(report.files_processed, "file")
    return Done(visit.to("/index"), Flash(f"{source.name}: rescanned, {files} indexed again"))


def _status(visit: Visit) -> Status:
    """Return what `status` prints, restricted to the readable agents."""
    status = status_of(
        visit.services, None, visit, daemon_log=visit.daemon_log, names=visit.readable
    )
    if (team := status.team) is None:
        return status
    theirs = tuple(each for each in team.agents if each.name in visit.readable)
    return replace(status, team=replace(team, agents=theirs))


def _checks(visit: Visit) -> tuple[Check, ...]:
    found = examine(visit.services, visit.services.codebase(), visit.environ)
    return tuple(each for each in found if not each.agent or each.agent in visit.readable)
