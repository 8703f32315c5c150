"""Soaks a daemon: python benchmarks/soak.py [--minutes N] [--seed N] [--tree DIR] [--json FILE]

The daemon serves a copy of a source tree that changes without a pause (`churn.py`), while clients
make calls of every kind, and both get SIGKILL now and then. In the second half no daemon is killed,
to see whether it grows: at the end it may use a tenth more memory than when it was ten minutes old,
and forty threads. Its index must then equal that of a first run over the tree, row for row
(`rows.py` says what the comparison leaves out). The first vectors are random numbers from the
cache, as in `kill9.py`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from churn import Churn
from command import run_command
from figures import Results
from kill9 import KNOWN, know_vectors
from options import figure_options, positive, whole
from rows import Rows, differences, rows_of
from served import Served, served
from soak_clients import Clients, Kills
from soak_daemon import Sample, Watcher, grown_up
from trees import chosen_tree

DB = "codebase.sqlite"
PAUSE_S = (0.0, 0.4)  # between two changes
CLIENTS = 2
WORD_EVERY = 25  # changes between two saves that are searched for at once
LEFT_ALIVE = 1 / 2  # of the time
MOST_GROWTH = 1.1  # of the memory of a daemon that is ten minutes old
MOST_THREADS = 40  # when all is indexed; CocoIndex keeps those of a first index for 10 s more
SETTLE_S = 900.0
QUIET_S = 5.0  # longer than a watch takes to hand a change over


def main() -> None:
    options = _options()
    origin = chosen_tree(options, part="django")
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-soak-") as scratch:
        work = Path(scratch)
        results, errors = soak(origin, work, minutes=options.minutes, seed=options.seed)
    results.write("soak", options)
    for error in errors:
        print(error, file=sys.stderr)
    sys.exit(bool(errors))


def soak(origin: Path, work: Path, *, minutes: float, seed: int) -> tuple[Results, list[str]]:
    """Run the soak; return its figures and all errors found."""
    tree, data_dir = work / "tree", work / "data"
    shutil.copytree(origin, tree, ignore=shutil.ignore_patterns(".git"))
    churn = Churn(tree, seed=seed)
    churn.begin()
    data_dir.mkdir()
    shutil.copyfile(know_vectors(tree, work, unknown=0, seed=seed), data_dir / KNOWN)
    with served(data_dir) as daemon:
        kills, watcher = Kills(daemon, seed=seed), Watcher(daemon)
        clients = Clients(daemon, tree, kills, seed=seed)
        clients.begin()
        _settle(daemon)
        at_first = watcher.sample()
        until = time.monotonic() + 60 * minutes
        with (
            _in_background(clients.ask_until, until, threads=CLIENTS),
            _in_background(kills.kill_until, until - 60 * minutes * LEFT_ALIVE),
            _in_background(watcher.watch_until, until),
        ):
            _work(churn, clients, until)
        _settle(daemon)
        at_end = watcher.sample()
        clients.require_stored()
    results = Results()
    rows = rows_of(data_dir / DB)
    _count(results, churn, clients, kills)
    left_alive = watcher.life(at_end.pid)
    _add_sample(results, "after the first index", at_first)
    for each in left_alive:
        _add_sample(results, f"at the age of {each.age_s / 60:.0f} min", each)
    grew = at_end.resident_mb / grown_up(left_alive).resident_mb
    results.add("memory at the end to that at ten minutes", grew, "", wanted=f"{MOST_GROWTH}")
    results.add("most threads at once", max(each.threads for each in watcher.samples), "")
    results.add("threads at the end", at_end.threads, "", wanted=f"{MOST_THREADS}")
    unequal = differences(_fresh_rows(tree, work, data_dir / KNOWN), rows)
    results.add("rows", sum(counted.total() for counted in rows.values()), "")
    results.add("tables unlike a first run's", len(unequal), "", wanted="0")
    errors = [*clients.errors]
    if unequal:
        errors.append(f"rows missing, rows too many: {unequal}")
    if grew > MOST_GROWTH:
        errors.append(f"the daemon grew {grew:.2f}-fold after its first ten minutes")
    if at_end.threads > MOST_THREADS:
        errors.append(f"the daemon had {at_end.threads} threads at the end")
    return results, errors


def _work(churn: Churn, clients: Clients, until: float) -> None:
    """Change the tree, and check now and then that a saved file is found."""
    steps = 0
    while time.monotonic() < until:
        churn.step()
        steps += 1
        if steps % WORD_EVERY == 0:
            word = f"soakword{steps}"
            clients.require_found(word, churn.save_word(word))
        time.sleep(clients.chance.uniform(*PAUSE_S))


@contextmanager
def _in_background(
    work: Callable[[float], None], until: float, *, threads: int = 1
) -> Iterator[None]:
    """Run `work` in threads during the block; then raise what a thread raised."""
    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(work, until) for _ in range(threads)]
        yield
    for each in running:
        each.result()


def _settle(daemon: Served) -> None:
    """Wait until everything stays indexed, without a call that would scan by itself."""
    deadline = time.monotonic() + SETTLE_S
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_S:
        if not daemon.is_current:
            quiet_since = time.monotonic()
        if time.monotonic() > deadline:
            raise TimeoutError("the daemon does not come to rest")
        time.sleep(0.2)


def _fresh_rows(tree: Path, work: Path, known: Path) -> Rows:
    fresh = work / "fresh"
    fresh.mkdir()
    shutil.copyfile(known, fresh / KNOWN)
    run_command("index", tree, data_dir=fresh, cwd=tree)
    return rows_of(fresh / DB)


def _count(results: Results, churn: Churn, clients: Clients, kills: Kills) -> None:
    for what, count in sorted(churn.done.items()):
        results.add(what.replace("_", " "), count, "")
    for what, count in sorted(clients.asked.items()):
        results.add(f"calls of {what}", count, "")
    results.add("daemons killed", kills.daemons, "")
    results.add("clients killed", clients.killed, "")
    results.add("calls cut off by a kill", clients.cut_off, "")
    results.add("saves that were looked for", clients.looked_for, "", note="by --wait-fresh")
    results.add("errors", len(clients.errors), "", wanted="0")


def _add_sample(results: Results, when: str, sample: Sample) -> None:
    note = (
        f"{sample.anonymous_mb:.0f} anonymous, {sample.file_mb:.0f} of files,"
        f" {sample.threads} threads, {sample.open_files} open files"
    )
    results.add(f"resident memory {when}", sample.resident_mb, "MB", note=note)


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--minutes", type=positive, default=60)
    parser.add_argument(
        "--seed", type=whole(0), default=1, help="of what is changed, asked and killed"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
