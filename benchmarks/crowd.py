"""Runs eight processes that store memories at once; kills and restarts them until all are stored.

As a script this file is one of the processes: it stores its memories one by one and prints which of
them were confirmed as stored.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.agents.services import Services
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.files import read_memory
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery

AGENT = "crowd"
PROCESSES = 8
STORES_PER_LIFE = (10, 60)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. `stored`: the memories that were confirmed to some process."""

    stored: int
    kills: int
    lost: int
    doubled: int
    not_found: int  # of a sample of 100
    seconds: float

    @property
    def note(self) -> str:
        return f"in {self.seconds:.0f} s, without a daemon"


def store_while_killed(data_dir: Path, *, stores: int) -> Outcome:
    """Have each process store `stores` memories; kill it whenever it has stored a few more."""
    data_dir.mkdir(parents=True)
    chance = random.Random(3)
    lives = [_Life(data_dir, number, stores, chance) for number in range(PROCESSES)]
    kills, started = 0, time.perf_counter()
    try:
        while lives:
            time.sleep(chance.uniform(0, 0.05))  # at any moment of the next store
            lives = [life for life in lives if not life.is_over()]
            for life in lives:
                if life.is_due():
                    life.kill()
                    life.start()
                    kills += 1
    finally:
        for life in lives:
            life.kill()
    return _judged(data_dir, kills, time.perf_counter() - started)


class _Life:
    """One of the storing processes, across all its restarts."""

    def __init__(self, data_dir: Path, number: int, stores: int, chance: random.Random) -> None:
        self._command = [sys.executable, __file__, str(data_dir), str(number), str(stores)]
        self._log = _log(data_dir, number)
        self._chance = chance
        self._log.touch()
        self.start()

    def start(self) -> None:
        self._due = self._stored + self._chance.randrange(*STORES_PER_LIFE)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log)

    def is_due(self) -> bool:
        return self._stored >= self._due

    def is_over(self) -> bool:
        if self._process.poll():
            raise RuntimeError(f"{self._log.name} ended with {self._process.returncode}")
        return self._process.returncode == 0

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def _stored(self) -> int:
        return self._log.read_bytes().count(b"\n")


def content_of(number: int, step: int) -> str:
    """The text of a step: every other text is stored by all processes, the rest by one alone."""
    whose = f"process {number}" if step % 2 else "everybody"
    return f"Observation {step} of {whose}: the cache of step{step} is never cold."


def _log(data_dir: Path, number: int) -> Path:
    return data_dir / f"stored-{number}.log"


def _judged(data_dir: Path, kills: int, seconds: float) -> Outcome:
    logs = [_log(data_dir, number).read_text("utf-8") for number in range(PROCESSES)]
    stored = {line for log in logs for line in log.splitlines()}
    pages = (data_dir / "knowledge" / AGENT).rglob("*.md")
    there = Counter(read_memory(page.read_text("utf-8"), mtime_ms=0).content for page in pages)
    services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
    agent = services.agent(AGENT)
    not_found = 0
    for content in random.Random(4).sample(sorted(stored), min(100, len(stored))):
        query = MemoryQuery(text=content, mode=SearchMode.KEYWORD, top_k=PROCESSES + 1)
        hits = Memories(agent, Silent()).query(query)
        not_found += content not in {hit.content for hit in hits}
    services.close()
    return Outcome(
        stored=len(stored),
        kills=kills,
        lost=sum(content not in there for content in stored),
        doubled=sum(count > 1 for count in there.values()),
        not_found=not_found,
        seconds=seconds,
    )


def _store_all(data_dir: Path, number: int, stores: int) -> None:
    done = set(_log(data_dir, number).read_text("utf-8").splitlines())
    services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
    memories = Memories(services.agent(AGENT), Silent())
    for step in range(stores):
        content = content_of(number, step)
        if content not in done:
            memories.store(Draft(content=content, category=f"c{step % 5}"))
            os.write(sys.stdout.fileno(), f"{content}\n".encode())
    services.close()


if __name__ == "__main__":
    _store_all(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
