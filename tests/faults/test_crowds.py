"""Processes that store memories at once, some of them killed: what was told is there, once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory_sidecar.agents.store import AgentStore
from memory_sidecar.core.times import system_clock
from memory_sidecar.memories.files import read_memory

STORE_ALL = """
import os, sys
from pathlib import Path
from memory_sidecar.core.times import system_clock
from memory_sidecar.core.results import Silent
from memory_sidecar.agents.services import Services
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.handlers import Memories

data_dir, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
memories = Memories(services.agent("a"), Silent())
for step in range(count):
    for content in (f"Fact {step} that everybody stores.", f"Fact {step} of {name}."):
        memories.store(Draft(content=content, category=f"c{step % 2}"))
        print(content, flush=True)
services.close()
"""


@pytest.fixture
def start(data_dir):
    """`start(name, count)` runs a process that prints what it was told is stored."""
    data_dir.mkdir()
    without_model = {
        "MEMORY_SIDECAR_MODEL_DIR": str(data_dir),
        "MEMORY_SIDECAR_MODEL_DOWNLOAD": "0",
    }
    started = []

    def start(name, count):
        process = subprocess.Popen(
            [sys.executable, "-c", STORE_ALL, str(data_dir), name, str(count)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | without_model,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:  # which closes its output and waits
            process.kill()


def contents(data_dir: Path) -> list[str]:
    pages = (data_dir / "knowledge" / "a").rglob("*.md")
    return [read_memory(page.read_text(), mtime_ms=0).content for page in pages]


def test_what_was_told_is_there_once(start, run, data_dir):
    killed = start("the killed one", 1000)
    others = [start(name, 4) for name in ("one", "another")]
    told = [killed.stdout.readline().strip() for _ in range(5)]
    killed.kill()
    others.append(start("a later one", 4))
    for process in others:
        out, _ = process.communicate()
        assert process.returncode == 0
        told += out.splitlines()
    there = contents(data_dir)
    assert len(told) == 5 + 3 * 8
    assert set(told) <= set(there)
    assert len(there) == len(set(there))
    listed = run("category", "list", "--agent", "a", "--json").json
    assert sum(category["memories"] for category in listed) == len(there)
    assert not list(data_dir.rglob("*.sqlite.old"))


def test_a_database_that_several_make_at_once_is_one(tmp_path):
    for attempt in range(5):
        gate = threading.Barrier(6)
        failed: list[Exception] = []

        def make(path, gate=gate, failed=failed):
            gate.wait()
            try:
                AgentStore(path, clock=system_clock).close()
            except Exception as error:
                failed.append(error)

        path = tmp_path / f"{attempt}.sqlite"
        makers = [threading.Thread(target=make, args=(path,)) for _ in range(6)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert failed == []
