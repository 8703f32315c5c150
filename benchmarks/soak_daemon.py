"""Samples the memory and threads of a daemon once a minute, so that growth can be attributed.

On Linux the memory is split by what it is backed by: `anonymous` grows with what Python and the
libraries allocate, `file` with what is mapped, such as models and the engine's state.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from served import Served

EVERY_S = 60.0
YOUNG_S = 600.0  # from then on memory should be flat
_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of one daemon."""

    pid: int
    age_s: float  # since it was first seen
    resident_mb: float
    anonymous_mb: float
    file_mb: float
    open_files: int
    threads: int


class Watcher:
    """Takes `samples` of the daemon that is running."""

    def __init__(self, daemon: Served) -> None:
        self.samples: list[Sample] = []
        self._daemon = daemon
        self._seen: dict[int, float] = {}

    def watch_until(self, until: float) -> None:
        due = 0.0
        while (now := time.monotonic()) < until:
            with suppress(RuntimeError, psutil.NoSuchProcess, OSError):  # between two daemons
                if now >= due or self._daemon.process.pid not in self._seen:
                    self.sample()
                    due = now + EVERY_S
            time.sleep(_POLL_S)

    def sample(self) -> Sample:
        """Take a sample. Raises RuntimeError if no daemon runs."""
        process = self._daemon.process
        began = self._seen.setdefault(process.pid, time.monotonic())
        resident, anonymous = _memory_mb(process)
        sample = Sample(
            pid=process.pid,
            age_s=time.monotonic() - began,
            resident_mb=resident,
            anonymous_mb=anonymous,
            file_mb=resident - anonymous,
            open_files=process.num_fds(),
            threads=process.num_threads(),
        )
        self.samples.append(sample)
        return sample

    def life(self, pid: int) -> list[Sample]:
        """All samples of the daemon `pid`, the first minute first."""
        return [each for each in self.samples if each.pid == pid]


def grown_up(life: list[Sample]) -> Sample:
    """The first sample after `YOUNG_S`, or the middle one of a shorter life."""
    return next((each for each in life if each.age_s >= YOUNG_S), life[len(life) // 2])


def _memory_mb(process: psutil.Process) -> tuple[float, float]:
    """Resident and anonymous memory."""
    if sys.platform != "linux":
        resident = process.memory_info().rss / 2**20
        return resident, resident
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    kib = {name: int(value) for name, value, *_ in (line.split() for line in lines[1:])}
    return kib["Rss:"] / 1024, kib["Anonymous:"] / 1024
