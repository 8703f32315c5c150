"""Measures the daemon: python benchmarks/daemon.py [--tree DIR] [--only PART]… [--json FILE]

Real processes over real trees: half of a public source archive for queries (about 20,000 chunks),
and 10,000 files for saves, restarts and memory. The vectors of the chunks are random numbers, which
cost as much to scan as real ones; the model embeds the questions and the saved files. No query is
asked twice. About eight minutes on two otherwise idle cores.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count, cycle
from pathlib import Path

import psutil
from command import NO_CHANGE_FILES, index_words
from figures import Results
from latency import QUESTIONS
from options import figure_options
from served import Served, served
from trees import chosen_tree, copy_part, copy_until
from vectors import give_codebase_random_vectors

CALLS = 60
QUERIES = 200
SAVES = 40
STARTS = 5
CLIENTS, QUERIES_OF_A_CLIENT = 200, 20
IDLE_UNLOAD_MINUTES = 1
IDLE_S = 30.0
SETTLE_S = 5.0  # after the last call
POLL_S = 0.005
TIMEOUT_S = 300.0


def main() -> None:
    options = _options()
    options.no_results |= bool(options.only)  # a part must not take the place of all
    tree = chosen_tree(options)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-daemon-") as scratch:
        work = Path(scratch)
        for part in options.only or PARTS:
            PARTS[part](results, tree, work / part)
    results.write("daemon", options)


def measure_queries(results: Results, tree: Path, folder: Path) -> None:
    """Measure cold and warm calls, and queries to an idle daemon."""
    half, data_dir = folder / "half", folder / "data"
    copy_part(tree, half, every=2)
    chunks = _index(half, data_dir)
    questions = _questions()
    with served(data_dir) as daemon:
        for mode, wanted in (("keyword", "≤ 1.5"), ("hybrid", "≤ 3")):
            taken = []
            for _ in range(STARTS):
                daemon.stop()
                taken.append(
                    daemon.call("search", "--all", next(questions), "--mode", mode, "--json")
                )
            note = f"no daemon before, whole process, {chunks:,} chunks, median of {STARTS}"
            results.add(
                f"cold, {mode} answer", statistics.median(taken), "s", wanted=wanted, note=note
            )
        _until(lambda: daemon.is_current)
        _measure_calls(results, daemon, questions)
        for mode in ("hybrid", "vector", "keyword"):
            taken = [
                daemon.ask_ms("search", "--all", next(questions), "--mode", mode)
                for _ in range(QUERIES)
            ]
            promised = ("≤ 10", "≤ 20") if mode == "hybrid" else ("", "")
            note = f"{len(taken)} calls over the socket"
            results.add_spread(f"query, {mode}, idle", taken, wanted=promised, note=note)


def _measure_calls(results: Results, daemon: Served, questions: Iterator[str]) -> None:
    """Measure whole command processes, in turns with a Python that does nothing."""
    python, ours = [], []
    for _ in range(CALLS):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        python.append(1000 * (time.perf_counter() - started))
        ours.append(1000 * daemon.call("search", "--all", next(questions), "--json"))
    bare = statistics.median(python)
    results.add("`python -c pass`", bare, "ms", note=f"median of {CALLS}, in turns with the next")
    results.add(
        "warm search, whole process",
        statistics.median(ours),
        "ms",
        wanted=f"≤ {2 * bare + 15:.1f}",
        note="wanted is twice the above and 15",
    )


def measure_first_index(results: Results, tree: Path, folder: Path) -> None:
    """Measure queries, `store` and `embed` while a first index runs, through its last vector."""
    half, data_dir = folder / "half", folder / "data"
    copy_part(tree, half, every=2)
    _index(half, data_dir)
    questions = _questions()
    calls: dict[str, Callable[[str], list[str]]] = {
        "query, hybrid": lambda question: ["search", question, "--source", half.name],
        "store": lambda question: ["store", "--content", f"{question} Because.", "--agent", "A"],
        "embed": lambda question: ["embed", question],
    }
    wanted = {"query, hybrid": "≤ 40", "store": "≤ 150", "embed": "≤ 60"}
    with served(data_dir) as daemon:
        daemon.start()
        for call in calls.values():
            daemon.ask(*call(next(questions)))
        indexing = daemon.begin("index", tree)
        phases = [(name, phase) for phase in ("files", "vectors") for name in calls]
        taken: dict[tuple[str, str], list[float]] = {each: [] for each in phases}
        embedding_since = 0.0
        while not embedding_since or time.monotonic() - embedding_since < IDLE_S:
            phase = "vectors" if embedding_since else "files"
            for name, call in calls.items():
                taken[name, phase].append(daemon.ask_ms(*call(next(questions))))
                time.sleep(0.02)
            if not embedding_since and _is_scanned(daemon, tree.name):
                embedding_since = time.monotonic()
        indexing.kill()
        indexing.wait()
    for (name, phase), spread in taken.items():
        note = f"{len(spread)} calls over the socket"
        results.add_spread(f"{name}, first index ({phase})", spread, note=note)
    for name in calls:
        cuts = statistics.quantiles([*taken[name, "files"], *taken[name, "vectors"]], n=20)
        results.add(f"{name}, first index, p95", cuts[18], "ms", wanted=wanted[name])


def _is_scanned(daemon: Served, name: str) -> bool:
    sources = {source["name"]: source for source in daemon.ask("status")["sources"]}
    return name in sources and sources[name]["scanned_at"] is not None


def measure_saves(results: Results, tree: Path, folder: Path) -> None:
    """Measure save-to-hit times, restarts, memory and CPU over 10,000 files."""
    root, data_dir = folder / "tree", folder / "data"
    copy_until(tree, root, files=NO_CHANGE_FILES)
    chunks = _index(root, data_dir)
    with served(data_dir, MEMORY_SIDECAR_IDLE_UNLOAD_MINUTES=str(IDLE_UNLOAD_MINUTES)) as daemon:
        _measure_starts(results, daemon)
        daemon.ask("search", "--all", "warm up")
        _measure_save_to_hit(results, daemon, root)
        _measure_memory(results, daemon, f"{NO_CHANGE_FILES:,} files, {chunks:,} chunks")


def _measure_starts(results: Results, daemon: Served) -> None:
    answered, current = [], []
    for _ in range(STARTS):
        daemon.stop()
        started = time.perf_counter()
        daemon.start()
        answered.append(time.perf_counter() - started)
        _until(lambda: daemon.is_current, poll_s=0.05)  # asking takes time from what is measured
        current.append(time.perf_counter() - started)
    note = f"from the start of the client, median of {STARTS}"
    results.add("restart, first answer", statistics.median(answered), "s", note=note)
    results.add("restart, nothing changed", statistics.median(current), "s", note="until current")
    results.add(
        "restart, catching up",
        statistics.median(c - a for a, c in zip(answered, current, strict=True)),
        "s",
        wanted="≤ 0.5",
        note="the difference of both",
    )


def _measure_save_to_hit(results: Results, daemon: Served, root: Path) -> None:
    files = sorted(path for path in root.rglob("*.py") if path.stat().st_size > 1000)
    for mode, wanted in (("keyword", "≤ 200"), ("vector", "≤ 500")):
        taken = []
        for number, file in enumerate(files[:: len(files) // SAVES][:SAVES]):
            word = f"zq{mode}{number}"
            with file.open("a", encoding="utf-8") as open_file:
                open_file.write(f"\n\ndef {word}():\n    return '{word}'\n")
            path = file.relative_to(root).as_posix()
            taken.append(1000 * _seconds_to_hit(daemon, word, mode, path))
            _until(lambda: daemon.is_current, poll_s=0.05)
        results.add_spread(f"save to {mode} hit", taken, wanted=("", wanted))


def _seconds_to_hit(daemon: Served, word: str, mode: str, path: str) -> float:
    """Seconds from now, right after the save, until a search for `word` finds it.

    The search is limited to the saved file: to the model one invented word is much like another.
    """
    started = time.perf_counter()
    while True:
        hits = daemon.ask("search", "--all", word, "--mode", mode, "--path", path, "--top-k", "100")
        if any(word in hit["code"] for hit in hits):
            return time.perf_counter() - started
        if time.perf_counter() - started > TIMEOUT_S:
            raise TimeoutError(f"{word} is not found")
        time.sleep(POLL_S)


def _measure_memory(results: Results, daemon: Served, note: str) -> None:
    process = daemon.process
    resident = process.memory_info().rss / 2**20
    results.add("resident, model and vectors loaded", resident, "MB", wanted="≤ 300", note=note)
    with suppress(psutil.TimeoutExpired):
        process.wait(TIMEOUT_S)  # once the model is unused for a minute, the next process goes on
    daemon.start()
    _until(lambda: daemon.is_current)
    time.sleep(SETTLE_S)
    resident = daemon.process.memory_info().rss / 2**20
    results.add("resident, idle after use", resident, "MB", wanted="≤ 120")
    before = _cpu_seconds(daemon)
    time.sleep(IDLE_S)
    used = 100 * (_cpu_seconds(daemon) - before) / IDLE_S
    results.add("CPU, idle", used, "%", wanted="0.0", note=f"over {IDLE_S:.0f} s")


def _cpu_seconds(daemon: Served) -> float:
    times = daemon.process.cpu_times()
    return float(times.user + times.system)


def measure_clients(results: Results, tree: Path, folder: Path) -> None:
    """Measure many clients at once, each of which runs one process after the other."""
    part, data_dir = folder / "part", folder / "data"
    copy_part(tree, part, every=20)
    _index(part, data_dir)
    with served(data_dir) as daemon:
        daemon.start()
        daemon.ask("search", "--all", "warm up")

        def ask(number: int) -> int:
            return sum(
                _is_answered(daemon, QUESTIONS[(number + n) % len(QUESTIONS)])
                for n in range(QUERIES_OF_A_CLIENT)
            )

        started = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            answered = sum(pool.map(ask, range(CLIENTS)))
        asked = CLIENTS * QUERIES_OF_A_CLIENT
        note = f"{CLIENTS} clients at once, {asked / (time.perf_counter() - started):.0f} a second"
        results.add("queries without an answer", asked - answered, "", wanted="0", note=note)


def _is_answered(daemon: Served, question: str) -> bool:
    try:
        daemon.call("search", "--all", question, "--json")
    except subprocess.CalledProcessError as error:
        print(error.stderr.decode(), file=sys.stderr)
        return False
    return True


def _index(root: Path, data_dir: Path) -> int:
    """Index `root` without a daemon, give its chunks random vectors and return their number."""
    run = index_words(root, data_dir)
    give_codebase_random_vectors(data_dir)
    return int(run.output["chunks_total"])


def _questions() -> Iterator[str]:
    """Generate questions that each contain a new word, so that no answer is cached."""
    for number, question in zip(count(), cycle(QUESTIONS), strict=False):
        yield f"{question} q{number}"


def _until(is_true: Callable[[], bool], *, poll_s: float = POLL_S) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(poll_s)


PARTS: dict[str, Callable[[Results, Path, Path], None]] = {
    "queries": measure_queries,
    "first index": measure_first_index,
    "saves": measure_saves,
    "clients": measure_clients,
}


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="measure this part alone; print only"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
