"""Watches the sources of code and the files of agents, in the daemon and in a server of MCP.

If there are more than WATCHED_FROM_START agents, those whose databases changed last are watched
from the start, and each other agent from its first use.
"""

from __future__ import annotations

import logging
import threading
import time

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.process import return_free
from memory_sidecar.core.results import Silent
from memory_sidecar.index.scheduler import Scheduler

WATCHED_FROM_START = 32
CHECK_IDLE_S = 60.0
EXCHANGE_EVERY_S = 10.0
END_WITHIN_S = 8.0  # how long `close` waits for work under way

_log = logging.getLogger(__name__)


class Watching:
    """Keeps the databases of `services` up to date between `start` and `close`."""

    def __init__(self, services: Services, *, begin: threading.Event | None = None) -> None:
        """The first scans wait for `begin`, but not longer than `Scheduler` lets them."""
        self._services = services
        self._scheduler = Scheduler(begin=begin)
        self._is_over = threading.Event()
        self._exchanging = threading.Thread(target=self._exchange, name="team", daemon=True)

    def start(self) -> None:
        """Start the threads, and return at once."""
        services = self._services
        if idle_s := services.settings.idle_unload_minutes * 60:
            self._scheduler.every(min(CHECK_IDLE_S, idle_s), lambda: self._unload(idle_s))
        self._scheduler.add(services.codebase().data)
        services.on_agent_use = self.follow
        agents = [services.agent(name) for name in services.agent_names()]
        agents.sort(key=lambda agent: -agent.last_changed)
        for agent in agents[:WATCHED_FROM_START]:
            try:
                self.follow(agent)
            except SidecarError as error:  # the others are watched; the agent's next call raises
                _log.warning("%s is not watched: %s", agent.name, error.message)
        self._scheduler.start()
        if services.settings.database:
            self._exchanging.start()

    def follow(self, agent: Agent) -> None:
        """Watch `agent` from now on, if it has any source."""
        if not agent.data.is_watching and agent.sources():
            self._scheduler.add(agent.data)

    def close(self) -> None:
        """Stop watching; what is committed stays."""
        self._is_over.set()
        self._scheduler.close(until_s=time.monotonic() + END_WITHIN_S)

    def _unload(self, idle_s: float) -> None:
        if self._services.unload(unused_for_s=idle_s):
            _log.info("the model was unused for %d s and is unloaded", idle_s)
            return_free()

    def _exchange(self) -> None:
        """Exchange files with the team every EXCHANGE_EVERY_S, even when no command runs."""
        logged: dict[str, str] = {}
        while not self._is_over.wait(EXCHANGE_EVERY_S):
            for name in self._services.settings.database_agents:
                try:
                    team = self._services.agent(name).team
                    if team is not None:
                        team.exchange(Silent())
                    logged.pop(name, None)
                except SidecarError as error:
                    if logged.get(name) != error.message:
                        _log.info("%s is not in step with the team: %s", name, error.message)
                    logged[name] = error.message
                except Exception:  # the next exchange may go well
                    _log.exception("%s is not in step with the team", name)
