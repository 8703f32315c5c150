"""Measures indexing for a team, and many at once: python benchmarks/team.py [--minutes M]

PostgreSQL 18 with pgvector from a package, on this machine, over a Unix socket. `team_queries.py`
measures queries.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psycopg
from figures import Results
from latency import QUESTIONS
from options import figure_options, positive
from postgres import database, started_server
from team_queries import clone
from trees import chosen_tree

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.team.connection import SCHEMA_NAME

READERS, WRITERS = 32, 4

Floats = npt.NDArray[np.float32]


def main() -> None:
    options = _options()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-team-") as scratch:
        work = Path(scratch)
        work.chmod(0o755)
        server = started_server(work / "postgres")
        tree = chosen_tree(options)
        measure_first_index(results, tree, work, server.get_uri())
        with database(server.get_uri(), "busy") as address:
            measure_readers_and_writers(results, work, address, tree, minutes=options.minutes)
        server.stop()
    results.write("team", options)


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--minutes", type=positive, default=1.0, help="of readers and writers")
    return parser.parse_args()


def measure_first_index(results: Results, tree: Path, work: Path, address: str) -> None:
    """Measure a first index to keywords and static vectors, locally and at the team."""
    part = clone(work / "part", tree, every=4)
    seconds, chunks = [], 0
    for name, shares in (("sqlite", False), ("team", True)):
        with database(address, name) as made:
            services = Services(DataDir(work / name), Settings(database=made if shares else ""))
            started = time.perf_counter()
            report = services.codebase().index([part], reporter=Silent(), embed=False)
            seconds.append(time.perf_counter() - started)
            chunks = report.chunks_indexed
            if shares:
                _measure_save(results, services, part)
            services.close()
    results.add("first index in SQLite", chunks / seconds[0], "chunks/s")
    results.add("first index at the team", chunks / seconds[1], "chunks/s")
    ratio = 100 * seconds[0] / seconds[1]
    results.add("of SQLite's speed", ratio, "%", wanted="≥ 60", note=f"{chunks:,} chunks")


def _measure_save(results: Results, services: Services, root: Path) -> None:
    taken = []
    for turn in range(5):
        (root / "django" / "saved.py").write_text(f"def saved_{turn}_by_a_colleague():\n    pass\n")
        started = time.perf_counter()
        services.codebase().index([root], reporter=Silent(), embed=False)
        query = CodeQuery(f"saved_{turn}_by_a_colleague")
        while "saved.py" not in services.codebase().search(query, reporter=Silent())[0].filename:
            pass
        taken.append(time.perf_counter() - started)
    results.add("save to hit", statistics.median(taken), "s", wanted="≤ 1", note="with a scan")


def measure_readers_and_writers(
    results: Results, work: Path, address: str, tree: Path, *, minutes: float
) -> None:
    """Search without a pause while four sources change; compare the final rows with SQLite's."""
    roots = [clone(work / f"busy-{n}", tree, every=160, name=f"busy-{n}") for n in range(WRITERS)]
    givers = [Services(DataDir(work / f"giver-{n}"), Settings(database=address)) for n in range(4)]
    for giver, root in zip(givers, roots, strict=True):
        giver.codebase().index([root], reporter=Silent(), embed=False)
    done, errors = _read_and_write(givers, roots, time.monotonic() + 60 * minutes)
    wrong = 0
    for number, (giver, root) in enumerate(zip(givers, roots, strict=True)):
        giver.codebase().index([root], reporter=Silent(), embed=False)
        alone = Services(DataDir(work / f"alone-{number}"), Settings())
        alone.codebase().index([root], reporter=Silent(), embed=False)
        wrong += _texts_here(alone) != _texts_of_team(address, f"git.example/bench/busy-{number}")
        alone.close()
        giver.close()
    for error in errors[:5]:
        print(error)
    results.add("searches of 32 readers", done["searches"], "", note=f"in {minutes:g} minutes")
    results.add("saves of 4 writers", done["saves"], "")
    results.add("errors", len(errors), "", wanted="0")
    results.add("sources that differ from a rebuild", wrong, "", wanted="0")


def _read_and_write(
    givers: Sequence[Services], roots: Sequence[Path], end_s: float
) -> tuple[dict[str, int], list[str]]:
    """Search and save until `end_s`; return the counts of both and the errors."""
    errors: list[str] = []
    done = {"searches": 0, "saves": 0}

    def until_the_end(name: str, work: Callable[[], object]) -> None:
        while time.monotonic() < end_s:
            try:
                work()
                done[name] += 1
            except Exception as error:
                errors.append(f"{name}: {error!r}")

    def save(number: int) -> None:
        file = random.choice(sorted(roots[number].rglob("*.py")))
        file.write_text(f"def changed_{random.random()}():\n    return {random.random()}\n")
        givers[number].codebase().index([roots[number]], reporter=Silent(), embed=False)

    def search(number: int) -> None:
        query = CodeQuery(random.choice(QUESTIONS))
        givers[number % WRITERS].codebase().search(query, reporter=Silent())

    def thread(name: str, work: Callable[[int], None], number: int) -> threading.Thread:
        return threading.Thread(target=until_the_end, args=(name, partial(work, number)))

    threads = [thread("searches", search, number) for number in range(READERS)]
    threads += [thread("saves", save, number) for number in range(WRITERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return done, errors


def _texts_here(services: Services) -> list[tuple[str, str]]:
    with services.codebase().data.open().reading() as connection:
        rows = connection.execute("SELECT filename, code FROM code_chunks")
        return sorted((str(path), str(code)) for path, code in rows)


def _texts_of_team(address: str, repository: str) -> list[tuple[str, str]]:
    with psycopg.connect(address, options=f"-c search_path={SCHEMA_NAME}") as owner:
        rows = owner.execute(
            "SELECT f.path, c.code FROM chunks c JOIN files f ON f.id = c.file"
            " JOIN sources s ON s.id = f.source WHERE s.repository = %s",
            (repository,),
        )
        return sorted((path, code) for path, code in rows)


if __name__ == "__main__":
    main()
