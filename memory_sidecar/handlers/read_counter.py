"""Counts the reads of an agent's memories: in its access log, and from there in its database."""

from __future__ import annotations

import stat
from contextlib import suppress

from memory_sidecar.clock import Clock
from memory_sidecar.handlers.index import Index
from memory_sidecar.paths import AgentPaths
from memory_sidecar.sources.access_log import log_reads, read_part
from memory_sidecar.store.agent import AgentStore


class ReadCounter:
    """The log is the truth, and outlasts the database `data`."""

    def __init__(self, paths: AgentPaths, data: Index[AgentStore], *, clock: Clock) -> None:
        self._tree = paths.tree
        self._log = paths.access_log
        self._data = data
        self._clock = clock

    def count(self, path: str, *, tool: str) -> None:
        """Note that `tool` read the memory at `path`, just now."""
        log_reads(self._tree, self._log, [path], tool=tool, at_ms=self._clock())
        self.catch_up()

    def catch_up(self) -> None:
        """Have the database know all that the log holds, unless another process sees to that."""
        store = self._data.open()
        size = self._size()
        if size in (None, store.log_position):
            return
        with self._data.held_if_free() as is_held:
            if not is_held:
                return
            position = store.log_position
            from_start = size < position  # another log than the one we know
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
