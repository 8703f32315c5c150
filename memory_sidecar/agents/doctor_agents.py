"""What `doctor` looks at in each agent's database, and in the files that it comes from.

A file that cannot be read as it should be, and an id that two of them claim, are faults. What is
stale, never read or contradicted is told, and left to the user, who knows better.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.doctor_index import Check, examine_index
from memory_sidecar.agents.services import Services
from memory_sidecar.core.clock import system_clock
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.report import list_files
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.memories.health import (
    broken_files,
    challenged,
    cold,
    contradictions,
    doubled_ids,
    faded,
    missing_successors,
)

SHOWN = 5  # of a list that may be long


def examine_agents(services: Services) -> list[Check]:
    """Every check of every agent of the data directory; none changes anything."""
    checks = []
    for name in services.agent_names():
        agent = services.agent(name)
        found = examine_index(agent.data, name)
        if len(found) > 1:  # its database can be read
            with agent.data.open().reading() as connection:
                found += [*_faults(agent, connection), *_doubts(agent, connection)]
        checks += found
    return checks


def repair_agents(checks: Iterable[Check], services: Services, *, reporter: Reporter) -> None:
    """Make the databases again that `checks` say are damaged, and index what is missing."""
    remedies: dict[str, set[str]] = {}
    for each in checks:
        if each.agent and each.remedy:
            remedies.setdefault(each.agent, set()).add(each.remedy)
    for name, wanted in remedies.items():
        agent = services.agent(name)
        if "rebuild" in wanted:
            agent.rebuild(reporter=reporter)
        else:
            agent.data.update(agent.sources(), reporter)


def _faults(agent: Agent, connection: Connection) -> Iterator[Check]:
    """One check for each kind of fault, or one that says there is none."""
    check = f"agent {agent.name}, files"
    failed = [(file.path, file.reason) for file in list_files(connection, FileStatus.FAILED)]
    faults = (
        ([f"{path}: {why}" for path, why in broken_files(connection)],
         "cannot be read as they should be", "mend them; what could be read of them counts"),
        ([f"{path}: {why}" for path, why in failed],
         "could not be read", "see that they can be; they are tried again"),
        ([f"{each}: {', '.join(paths)}" for each, paths in doubled_ids(connection)],
         "give an id that is given twice", "give one of each another id"),
        ([f"{path} -> {target}" for path, target in missing_successors(connection)],
         "are superseded by one that is not there", "name another, or remove superseded_by"),
        ([f"{one} and {other}" for one, other in contradictions(connection)],
         "supersede each other", "remove one of the two `supersedes`"),
    )  # fmt: skip
    found = False
    for faulty, what, hint in faults:
        if faulty:
            found = True
            text = f"{len(faulty):,} {what}: {_some(faulty)}"
            yield Check(check, False, text, hint, agent=agent.name)
    if not found:
        yield Check(check, True, "all are sound", agent=agent.name)


def _doubts(agent: Agent, connection: Connection) -> Iterator[Check]:
    now = system_clock()
    doubts = (
        (faded(connection, now=now), "stale, hardly any strength left"),
        (cold(connection, now=now), "cold, two weeks old and never read"),
        (challenged(connection), "contradicted, their status is challenged"),
    )
    for paths, what in doubts:
        if paths:
            yield Check(
                f"agent {agent.name}, memories", True, f"{len(paths):,} {what}: {_some(paths)}",
                "update, pin or remove them, or see "
                f"`memory-sidecar prune --dry-run --agent {agent.name}`",
                agent=agent.name,
            )  # fmt: skip


def _some(names: Sequence[str]) -> str:
    shown = "; ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown}; and {len(names) - SHOWN:,} more"
