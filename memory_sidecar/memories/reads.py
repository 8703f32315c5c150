"""Counts the reads of an agent's memories: in its access log, and from there in its database.

The log is the truth, and outlasts the database.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.usage import log_reads, read_part
from memory_sidecar.index.schema import read_identity, write_identity

if TYPE_CHECKING:
    from memory_sidecar.index.agent_database import AgentDatabase  # starts the engine's threads

WAIT_S = 0.2  # of a reader for the count of its own read

_LOG_POSITION = "access_log_position"


def note_read(agent: AgentDatabase, path: str, *, tool: str) -> None:
    """Log that `tool` read the memory at `path`, just now, and count it."""
    paths = agent.paths
    log_reads(paths.tree, paths.access_log, [path], tool=tool, at_ms=agent.clock())
    count_reads(agent)


def count_reads(agent: AgentDatabase) -> None:
    """Count what the log holds beyond what is counted, unless another process does so.

    Waits up to WAIT_S for the owner of the database, which may be at work.
    """
    if _log_size(agent) not in (None, _counted(agent)):
        agent.data.count(partial(_count, agent), wait_s=WAIT_S)


def _count(agent: AgentDatabase) -> None:
    """Count what the log holds beyond what is counted; all of it where it is another log.

    Called by the owner alone: two that counted at once would count the same part of the log. A
    move, which lets what was counted before for one path count for another, comes before reads.
    """
    start = _counted(agent)
    is_new = (_log_size(agent) or 0) < start
    part = read_part(agent.paths.tree, agent.paths.access_log, start=0 if is_new else start)
    with agent.data.open().writing() as write:
        connection = write.connection
        if is_new:
            connection.execute("DELETE FROM memory_uses")
            connection.execute("UPDATE memories SET uses = 0, used_at = 0 WHERE uses")
        for old, new in part.moves:
            moved = connection.execute(
                "DELETE FROM memory_uses WHERE path = ? RETURNING uses, used_at", (old,)
            )
            for uses, used_at in list(moved):
                _add(connection, new, uses, used_at)
            _settle(connection, old)
        for path, read in part.uses.items():
            _add(connection, path, read.count, read.last_at)
        write_identity(connection, _LOG_POSITION, str(part.end))


def _counted(agent: AgentDatabase) -> int:
    """Up to which byte the log is counted in the database."""
    with agent.data.open().reading() as connection:
        return int(read_identity(connection, _LOG_POSITION) or 0)


def _log_size(agent: AgentDatabase) -> int | None:
    """The bytes of the log of reads; `None` where none is, or what is there is no file."""
    with suppress(OSError):
        status = agent.paths.tree.status(agent.paths.access_log)
        if status is not None and stat.S_ISREG(status.st_mode):
            return status.st_size
    return None


def _add(connection: Connection, path: str, uses: int, used_at: int) -> None:
    connection.execute(
        "INSERT INTO memory_uses VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
        " SET uses = uses + excluded.uses, used_at = max(used_at, excluded.used_at)",
        (path, uses, used_at),
    )
    _settle(connection, path)


def _settle(connection: Connection, path: str) -> None:
    """Have the row of the memory at `path` say what is counted for that."""
    connection.execute(
        "UPDATE memories SET (uses, used_at) = (SELECT coalesce(max(uses), 0),"
        " coalesce(max(used_at), 0) FROM memory_uses WHERE path = ?1) WHERE path = ?1",
        (path,),
    )
