"""What a daemon takes of the machine, looked at from time to time."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass

import psutil
from served import Served

EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One daemon at one moment."""

    pid: int
    resident_mb: float
    open_files: int
    threads: int


class Watcher:
    """Takes `samples` of whichever daemon runs."""

    def __init__(self, daemon: Served) -> None:
        self.samples: list[Sample] = []
        self._daemon = daemon

    def watch_until(self, until: float) -> None:
        while time.monotonic() < until:
            with suppress(RuntimeError, psutil.NoSuchProcess):  # between two daemons
                self.samples.append(self.sample())
            time.sleep(EVERY_S)

    def sample(self) -> Sample:
        """Raises RuntimeError where no daemon runs."""
        process = self._daemon.process
        with process.oneshot():
            return Sample(
                process.pid,
                process.memory_info().rss / 2**20,
                process.num_fds(),
                process.num_threads(),
            )
