"""Counts the reads of an agent's memories: in its access log, and from there in its database.

The log is the source of truth, and outlives the database.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from functools import partial

from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.sqlite import Connection, named_errors
from memory_sidecar.disk.usage import log_move, log_reads, read_part
from memory_sidecar.index.agent_database import AgentDatabase
from memory_sidecar.index.schema import read_identity, write_identity
from memory_sidecar.memories.model import address

WAIT_S = 0.2  # how long a reader waits for its own read to be counted

_LOG_POSITION = "access_log_position"


def note_read(agent: AgentDatabase, path: str) -> None:
    """Log that the memory at `path` has just been read, and count the read."""
    paths = agent.paths
    log_reads(paths.tree, paths.access_log, [path], tool="get", at_ms=agent.clock())
    count_reads(agent)


def note_move(agent: AgentDatabase, reporter: Reporter, directory: str, old: str, new: str) -> None:
    """Log that a file of `directory` moves from `old` to `new`; a notice says if it cannot."""
    paths = agent.paths
    old, new = address(directory, old), address(directory, new)
    try:
        with named_errors(paths.access_log):
            log_move(paths.tree, paths.access_log, old, new, at_ms=agent.clock())
    except SidecarError as error:
        reporter.notice(f"the earlier reads of {new} no longer count: {error}")


def count_reads(agent: AgentDatabase) -> None:
    """Have the owner of the database count the new part of the log, unless another process does.

    Waits up to WAIT_S for the owner, which may be busy.
    """
    size = _log_size(agent)
    if size is not None and size != _counted_position(agent):
        agent.data.count(partial(_count_new_reads, agent), wait_s=WAIT_S)


def _count_new_reads(agent: AgentDatabase) -> None:
    """Count the part of the log after the counted position; if the log shrank, all of it anew.

    Only the owner calls it: two callers at once would count the same part. Moves are applied before
    reads: they carry the counts of an old path over to the new one.
    """
    start = _counted_position(agent)
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
            _update_row(connection, old)
        for path, read in part.uses.items():
            _add(connection, path, read.count, read.last_at)
        write_identity(connection, _LOG_POSITION, str(part.end))


def _counted_position(agent: AgentDatabase) -> int:
    """Read from the database the byte up to which the log is counted."""
    with agent.data.open().reading() as connection:
        return int(read_identity(connection, _LOG_POSITION) or 0)


def _log_size(agent: AgentDatabase) -> int | None:
    """Return the size of the access log in bytes; None if it is missing or no regular file."""
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
    _update_row(connection, path)


def _update_row(connection: Connection, path: str) -> None:
    """Copy the counts of `path` into the row of its memory."""
    connection.execute(
        "UPDATE memories SET (uses, used_at) = (SELECT coalesce(max(uses), 0),"
        " coalesce(max(used_at), 0) FROM memory_uses WHERE path = ?1) WHERE path = ?1",
        (path,),
    )
