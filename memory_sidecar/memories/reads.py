"""Counts the reads of an agent's memories: in its access log, and from there in its database.

The log is the truth, and outlasts the database.
"""

from __future__ import annotations

import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.times import Clock
from memory_sidecar.disk.usage import LogPart, log_reads, read_part
from memory_sidecar.index.schema import read_identity, write_identity

if TYPE_CHECKING:
    from memory_sidecar.index.database import Database  # which starts the engine's threads

WAIT_S = 0.2  # of a reader for the count of its own read

_LOG_POSITION = "access_log_position"


class ReadCounter:
    """Counts in the database `data`, whose store has `count_reads`."""

    def __init__(self, paths: AgentPaths, data: Database[Any], *, clock: Clock) -> None:
        self._tree = paths.tree
        self._log = paths.access_log
        self._data = data
        self._clock = clock

    def count(self, path: str, *, tool: str) -> None:
        """Note that `tool` read the memory at `path`, just now."""
        log_reads(self._tree, self._log, [path], tool=tool, at_ms=self._clock())
        self.catch_up()

    def catch_up(self) -> None:
        """Have the database know all that the log holds, unless another process sees to that.

        Waits a moment for its owner, who may be in the middle of something.
        """
        if self._size() not in (None, self._counted()):
            self._data.count(self._count, wait_s=WAIT_S)

    def _count(self) -> None:
        """By the owner alone: two that counted at once would count the same part of the log."""
        start = self._counted()
        from_start = (self._size() or 0) < start  # another log than the one we know
        part = read_part(self._tree, self._log, start=0 if from_start else start)
        self._data.open().count_reads(part, from_start=from_start)

    def _counted(self) -> int:
        """Up to which byte the log is counted in the database."""
        with self._data.open().reading() as connection:
            return int(read_identity(connection, _LOG_POSITION) or 0)

    def _size(self) -> int | None:
        """In bytes; `None` where no log is, or what is there is none."""
        with suppress(OSError):
            status = self._tree.status(self._log)
            if status is not None and stat.S_ISREG(status.st_mode):
                return status.st_size
        return None


def count_reads(connection: Connection, part: LogPart, *, from_start: bool) -> None:
    """Count in the tables what `part` of the access log says, instead of all before `from_start`.

    A move, which lets what was counted before for one path count for another, comes before reads.
    """
    if from_start:
        connection.execute("DELETE FROM memory_uses")
        connection.execute("UPDATE memories SET uses = 0, used_at = 0 WHERE uses")
    for old, new in part.moves:
        rows: list[Any] = connection.execute(
            "DELETE FROM memory_uses WHERE path = ? RETURNING uses, used_at", (old,)
        ).fetchall()
        for uses, used_at in rows:
            _add(connection, new, uses, used_at)
        _settle(connection, old)
    for path, read in part.uses.items():
        _add(connection, path, read.count, read.last_at)
    write_identity(connection, _LOG_POSITION, str(part.end))


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
