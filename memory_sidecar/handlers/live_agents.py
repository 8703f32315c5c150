"""Watches the files of every agent of a data directory, as soon as there are any.

An agent costs a handful of threads: of very many, those that were used last are watched from the
start, and each other one from its first use on.
"""

from __future__ import annotations

import threading
from pathlib import Path

from memory_sidecar.clock import Clock
from memory_sidecar.handlers.agents import Agent
from memory_sidecar.handlers.live import Live
from memory_sidecar.handlers.services import Services

WATCHED_FROM_START = 32


class LiveAgents:
    """Keeps the agents of `services` up to date between `start` and `close`."""

    def __init__(
        self, services: Services, *, clock: Clock, begin: threading.Event | None = None
    ) -> None:
        """Each waits for `begin` as `Live` does."""
        self._services = services
        self._begin = begin
        self._clock = clock
        self._lives: dict[Path, Live] = {}  # by database
        self._lock = threading.Lock()
        self._is_closed = False

    def start(self) -> None:
        """Begin with the agents that there are; returns at once."""
        self._services.on_agent_use = self.follow
        agents = [self._services.agent(name) for name in self._services.agent_names()]
        agents.sort(key=lambda agent: -agent.last_changed)
        for agent in agents[:WATCHED_FROM_START]:
            self.follow(agent)

    def follow(self, agent: Agent) -> None:
        """Watch `agent` from now on, if there is anything to watch."""
        with self._lock:
            if self._is_closed or agent.paths.db in self._lives or not agent.sources():
                return
            live = Live(agent.data, clock=self._clock, begin=self._begin)
            self._lives[agent.paths.db] = live
            live.start()

    def close(self) -> None:
        """Stop watching; what is being indexed is finished first."""
        with self._lock:
            self._is_closed = True
        for live in self._lives.values():
            live.close()
