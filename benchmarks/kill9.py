"""Kills first runs: python benchmarks/kill9.py [--kills N] [--seed N] [--tree DIR]

Each run starts in an empty data directory and gets a SIGKILL at a random moment of the time that an
undisturbed run takes. The next run then completes the index, and its database must equal that of
the undisturbed run, row for row (`rows.py` says what the comparison leaves out). Embedding the
whole tree would take a quarter of an hour each time, so the cache holds random vectors for all
texts but a few hundred: kills do hit the model at work, but it has little to do. About fifteen
minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
from command import command_line, index_words, run_command
from figures import Results
from options import figure_options, whole
from rows import Rows, differences, rows_of
from trees import chosen_tree
from vectors import random_vectors

from memory_sidecar.agents.services import Services
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.times import system_clock
from memory_sidecar.embedding.cache import vector_key
from memory_sidecar.index.embed import next_pending

DB = "codebase.sqlite"
KNOWN = "embeddings.sqlite"


@dataclass(frozen=True, slots=True)
class Kill:
    """One killed run, and the result of the run after it."""

    moment_s: float  # after the start of the process
    stage: str  # starting, files, vectors or ending
    files_before: int  # committed when it was killed
    vectors_before: int
    files_after: int  # indexed by the next run
    vectors_after: int  # embedded by the next run
    seconds_after: float  # that the next run took
    differences: dict[str, tuple[int, int]]  # by table: rows missing, rows too many


def main() -> None:
    options = _options()
    results = Results()
    tree = chosen_tree(options, part="django")
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-kill9-") as scratch:
        work = Path(scratch)
        known = know_vectors(tree, work, unknown=options.unknown, seed=options.seed)
        clean = work / "clean"
        _start_with(known, clean)
        run = run_command("index", tree, data_dir=clean, cwd=tree)
        wanted = rows_of(clean / DB)
        note = f"{run.output['files_processed']:,} files indexed"
        results.add("undisturbed", run.seconds, "s", note=note)
        killed = unequal = 0
        while killed < options.kills:
            folder = work / f"killed-{killed}"
            _start_with(known, folder)
            kill = kill_once(tree, folder, wanted, moments.uniform(0, run.seconds))
            shutil.rmtree(folder)
            if kill:
                killed += 1
                unequal += bool(kill.differences)
                _add(results, kill)
        results.add("databases that differ", unequal, "", wanted="0", note=f"of {killed}")
    results.write("kill9", options)
    sys.exit(bool(unequal))


def know_vectors(tree: Path, work: Path, *, unknown: int, seed: int) -> Path:
    """Make a cache with random vectors for all texts of `tree` except `unknown` of them."""
    folder = work / "known"
    index_words(tree, folder)
    services = Services.find(data_dir=folder, cwd=folder, environ=os.environ)
    store = CodeStore(folder / DB, clock=system_clock)
    texts = sorted({item.text for item in next_pending(store, 1_000_000)})
    known = random.Random(seed).sample(texts, max(len(texts) - unknown, 0))
    keys = [vector_key(services.models.files.sha256, text) for text in known]
    vectors = random_vectors(len(keys), seed=seed)
    services.models.cache.put_many(dict(zip(keys, vectors, strict=True)))
    store.close()
    services.close()
    return folder / KNOWN


def kill_once(tree: Path, data_dir: Path, wanted: Rows, moment_s: float) -> Kill | None:
    """Kill one run and complete it; None if the run ended before the kill."""
    process = subprocess.Popen(
        command_line("index", tree, data_dir=data_dir),
        cwd=tree,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=moment_s)
        return None
    process.kill()
    process.wait()
    stage, files, vectors = _state_of(data_dir)
    run = run_command("index", tree, data_dir=data_dir, cwd=tree)
    return Kill(
        moment_s=round(moment_s, 2),
        stage=stage,
        files_before=files,
        vectors_before=vectors,
        files_after=run.output["files_processed"],
        vectors_after=run.output["vectors_embedded"],
        seconds_after=round(run.seconds, 1),
        differences=differences(wanted, rows_of(data_dir / DB)),
    )


def _start_with(known: Path, data_dir: Path) -> None:
    data_dir.mkdir()
    shutil.copyfile(known, data_dir / KNOWN)


def _state_of(data_dir: Path) -> tuple[str, int, int]:
    """How far a killed run had come: stage, files and vectors, read from a copy of its data."""
    with tempfile.TemporaryDirectory(dir=data_dir.parent) as folder:
        for part in data_dir.glob(f"{DB}*"):
            shutil.copyfile(part, Path(folder, part.name))
        if not Path(folder, DB).exists():
            return "starting", 0, 0
        with closing(apsw.Connection(str(Path(folder, DB)))) as connection:
            if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
                return "starting", 0, 0
            files, vectors, waiting = connection.execute(
                "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM chunk_vectors_rowids),"
                " (SELECT count(*) FROM chunk_pending)"
            ).get
            scanned = connection.execute("SELECT max(scanned_at) FROM sources").get
    if scanned is None:
        return "files" if files else "starting", files, vectors
    return "vectors" if waiting else "ending", files, vectors


def _add(results: Results, kill: Kill) -> None:
    note = (
        f"{kill.stage}: {kill.files_before:,} files, {kill.vectors_before:,} vectors; then"
        f" {kill.files_after:,}, {kill.vectors_after:,} in {kill.seconds_after:.1f} s:"
        f" {kill.differences or 'equal'}"
    )
    results.add("killed after", kill.moment_s, "s", note=note)


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--kills", type=whole(1), default=20)
    parser.add_argument("--seed", type=whole(0), default=1, help="of the moments")
    parser.add_argument(
        "--unknown", type=whole(0), default=300, help="vectors to embed in each run"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
