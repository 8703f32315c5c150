"""Collects the state of a data directory: what is indexed and remembered, and how fresh it is.

Reads the agents' databases as they are, and creates none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import UNSET, UnsetType

from memory_sidecar import __version__
from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.store import AgentStore
from memory_sidecar.agents.team_status import TeamStatus, team_status
from memory_sidecar.code.results import CodebaseStatus, SourceStatus
from memory_sidecar.core.errors import NoIndex, SidecarError
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.process import process_memory_bytes
from memory_sidecar.core.results import (
    ListedFile,
    Problem,
    Reporter,
    Time,
    about,
    build_from,
    pluralize,
)
from memory_sidecar.core.times import iso_utc, system_clock
from memory_sidecar.index.report import (
    Failure,
    VectorCounts,
    count_vectors,
    row_count,
    seconds_left,
)
from memory_sidecar.index.watched import currency
from memory_sidecar.memories.health import count_unread
from memory_sidecar.memories.lists import MemoryRows, count_outdated


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The counts of an agent's database; all 0 where it is not there or cannot be read."""

    name: str
    memories: int
    sessions: int
    texts: Annotated[
        int, about("passages of memories and parts of sessions, each of which gets a vector")
    ]
    vectors_pending: int
    is_current: Annotated[
        bool | None, about("nothing saved up to now waits to be indexed; null if no daemon watches")
    ]
    problem: Annotated[str, about("why it cannot be read or followed, or empty")]
    memories_outdated: Annotated[
        int, about("of the memories, expired or superseded ones, which `list` leaves out")
    ] = 0
    files_unread: Annotated[
        int, about("that should be memories or sessions; `doctor` says why")
    ] = 0

    @property
    def state(self) -> str:
        """What `problem`, `is_current` and `files_unread` say in words; "" for none of them."""
        known = "" if self.is_current is None else currency(self.is_current)
        unread = f"{pluralize(self.files_unread, 'file')} not read, see `memory-sidecar doctor`"
        return ", ".join(filter(None, [self.problem or known, unread if self.files_unread else ""]))


@dataclass(frozen=True, slots=True)
class DaemonStatus:
    """The process that answered."""

    pid: int
    version: str
    started_at: Time
    uptime_seconds: float
    resident_bytes: Annotated[int, about("of memory that it holds")]
    log: Annotated[str, about("its file")]


@dataclass(frozen=True, slots=True)
class Status:
    """What is indexed, and how fresh it is."""

    data_dir: str
    db: str
    db_bytes: int
    sources: tuple[SourceStatus, ...]
    agents: Annotated[
        tuple[AgentStatus, ...], about("of the data directory; none of them with --db")
    ]
    chunks: Annotated[int, about("of all sources")]
    vectors: int
    vectors_pending: int
    vectors_per_second: Annotated[float, about("embedded lately")]
    vectors_seconds_left: float | None
    model: str | None
    model_loaded: bool
    model_problem: Problem | None
    last_error: Annotated[
        Failure | None, about("of what works in the background, until that goes well")
    ]
    team: Annotated[TeamStatus | None, about("null where no database of a team is set")]
    daemon: Annotated[DaemonStatus | None, about("null where the command ran in its own process")]
    files: Annotated[tuple[ListedFile, ...], about("with --skipped or --failed")] | UnsetType = (
        UNSET
    )


def daemon_here(log: str) -> DaemonStatus:
    """Describe this process as the daemon that logs to the file `log`."""
    import psutil

    # psutil counts from the machine's boot where it can, as the clock may have been set since.
    started_at_ms = int(psutil.Process().create_time() * 1000)
    return DaemonStatus(
        pid=os.getpid(),
        version=__version__,
        started_at=iso_utc(started_at_ms),
        uptime_seconds=max(system_clock() - started_at_ms, 0) / 1000,
        resident_bytes=process_memory_bytes(),
        log=log,
    )


def status_of(
    services: Services,
    db: Path | None,
    reporter: Reporter,
    *,
    daemon_log: str = "",
    listed: Sequence[FileStatus] = (),
    names: Sequence[str] | None = None,
) -> Status:
    """Collect the status of the data directory, or of the database `db` alone.

    `daemon_log`: the file of this process's log if it is a daemon. `listed`: the kinds of files to
    list with it. `names`: the agents to include, by default all. Raises NoIndex where nothing was
    indexed, no agent exists and no team is set.
    """
    if names is None:
        names = services.agent_names() if db is None else ()
    agents = [services.agent(name) for name in names]
    codebase = services.codebase(db)
    codebase.registry.warn_if_lost(reporter)
    # First: once the team's server answers again, its chunks are counted, too.
    team = team_status(services) if db is None else None
    try:
        code = codebase.status(reporter)
    except NoIndex:
        if not agents and team is None:
            raise
        code = CodebaseStatus(codebase.paths.db, 0, (), 0, 0, 0.0, None)
    failures = [code.last_failure, *(agent.data.owner.activity.last_failure for agent in agents)]
    models = services.models
    problem = models.problem
    return build_from(
        Status,
        code,
        data_dir=services.data_dir.root.as_posix(),
        db=code.db.as_posix(),
        agents=tuple(map(_agent_status, agents)),
        vectors=code.chunks - code.vectors_pending,
        vectors_per_second=round(code.vectors_per_second, 1),
        vectors_seconds_left=seconds_left(code.vectors_pending, code.vectors_per_second),
        model=None if problem else models.files.spec.name,
        model_loaded=models.is_loaded,
        model_problem=build_from(Problem, problem) if problem else None,
        last_error=max(filter(None, failures), key=lambda each: each.at, default=None),
        team=team,
        daemon=daemon_here(daemon_log) if daemon_log else None,
        files=tuple(file for each in listed for file in codebase.files(each)) if listed else UNSET,
    )


def _agent_status(agent: Agent) -> AgentStatus:
    live = agent.data.states()
    memories = outdated = sessions = unread = 0
    vectors = VectorCounts(0, 0)
    problem = next((f"{name}: {each.error}" for name, each in live.items() if each.error), "")
    try:
        with agent.short_connection() as connection:
            memories = row_count(connection, "memories")
            outdated = count_outdated(MemoryRows.of(agent, connection))
            sessions = row_count(connection, "sessions")
            unread = count_unread(connection)
            vectors = count_vectors(connection, AgentStore.SCHEMA.corpora)
    except SidecarError as error:
        problem = error.message
    return AgentStatus(
        name=agent.name,
        memories=memories,
        sessions=sessions,
        texts=vectors.rows,
        vectors_pending=vectors.pending,
        is_current=all(each.is_current for each in live.values()) if live else None,
        problem=problem,
        memories_outdated=outdated,
        files_unread=unread,
    )
