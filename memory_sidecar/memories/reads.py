"""Counts the reads of an agent's memories: in its access log, and from there in its database."""

from __future__ import annotations

import stat
from contextlib import suppress

from memory_sidecar.agents.store import AgentStore
from memory_sidecar.core.clock import Clock
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.disk.access_log import log_reads, read_part
from memory_sidecar.index.database import Database

WAIT_S = 0.2  # of a reader for the count of its own read


class ReadCounter:
    """The log is the truth, and outlasts the database `data`."""

    def __init__(self, paths: AgentPaths, data: Database[AgentStore], *, clock: Clock) -> None:
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
        if self._size() not in (None, self._data.open().log_position):
            self._data.count(self._count, wait_s=WAIT_S)

    def _count(self) -> None:
        """By the owner alone: two that counted at once would count the same part of the log."""
        store = self._data.open()
        position = store.log_position
        from_start = (self._size() or 0) < position  # another log than the one we know
        part = read_part(self._tree, self._log, start=0 if from_start else position)
        store.count_uses(
            [(path, uses.count, uses.last_at) for path, uses in part.uses.items()],
            moves=part.moves,
            log_position=part.end,
            from_start=from_start,
        )

    def _size(self) -> int | None:
        """In bytes; `None` where no log is, or what is there is none."""
        with suppress(OSError):
            status = self._tree.status(self._log)
            if status is not None and stat.S_ISREG(status.st_mode):
                return status.st_size
        return None
