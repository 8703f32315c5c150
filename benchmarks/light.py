"""Measures scaling: python benchmarks/light.py [--only PART]… [--files N]… [--rows N]…

Whole processes are timed in turns with a Python that does nothing, vector scans in turns with
numpy's exact scan of the same vectors: on a busy machine ratios hold and seconds do not. CPU time
is user and system time of all processes. A few minutes on two cores.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from command import NO_CHANGE_FILES, Run, index_unchanged, index_words, median_run, run_command
from curve import draw_curve
from figures import Results
from machine import RESULTS
from options import figure_options, whole
from trees import chosen_tree, copy_part, copy_until

from memory_sidecar.code.search import DEPTH
from memory_sidecar.core.process import process_memory_bytes, return_free
from memory_sidecar.embedding.static import STATIC_DIMENSION
from memory_sidecar.index.codes import CodedQuery, Codes
from memory_sidecar.index.schema import DIMENSION

QUESTIONS = 20
NEAREST = 10
CLUSTERS = 20_000
BLOCK_ROWS = 10_000
NOISE = 0.5

Floats = npt.NDArray[np.float32]


def main() -> None:
    options = _options()
    options.no_results |= bool(options.only)  # a part must not take the place of all
    tree = chosen_tree(options)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-light-") as scratch:
        for part in options.only or PARTS:
            PARTS[part](results, tree, Path(scratch, part), options)
            results.write("light", options)


def measure_first(results: Results, tree: Path, folder: Path, _options: argparse.Namespace) -> None:
    """Measure a first index, until every chunk has keywords and a static vector."""
    small = folder / "small"
    copy_part(tree, small, every=14)
    for root, times, wanted in ((small, 5, "≤ 2"), (tree, 1, "≤ 25")):
        runs = [index_words(root, folder / f"data-{root.name}-{n}") for n in range(times)]
        run = median_run(runs)
        chunks = run.output["chunks_total"]
        _add_run(results, f"hybrid complete, {chunks:,} chunks", run, wanted)
        results.add(f"peak memory, {chunks:,} chunks", run.peak_mb, "MB")


def measure_no_change(
    results: Results, tree: Path, folder: Path, _options: argparse.Namespace
) -> None:
    """Measure `index` without a daemon over unchanged files."""
    root = folder / "tree"
    copy_until(tree, root, files=NO_CHANGE_FILES)
    run = median_run(index_unchanged(root, folder / "data"), cpu=True)
    _add_run(results, f"no change, {run.output['files_total']:,} files", run, "≤ 0.8")


def measure_curve(results: Results, tree: Path, folder: Path, options: argparse.Namespace) -> None:
    """Measure milliseconds per file until all files have keywords and static vectors."""
    points = []
    for files in options.files:
        root = folder / f"{files}"
        copy_until(tree, root, files=files)
        run = index_words(root, folder / "data")
        per_file = 1000 * run.cpu_seconds / files
        results.add(f"first index, {files:,} files", run.seconds, "s")
        results.add(f"first index, {files:,} files, CPU a file", per_file, "ms")
        points.append((files, per_file))
        run_command("source", "remove", root.name, data_dir=folder / "data", cwd=folder)
    if not options.no_results:
        draw_curve(
            points,
            title="CPU time a file until it is found by words and static vectors",
            x="files",
            y="ms",
            file=RESULTS / "light-files.svg",
        )


def measure_vectors(
    results: Results, _tree: Path, folder: Path, options: argparse.Namespace
) -> None:
    """Measure both vector scans over `--rows` rows, against numpy's exact scan."""
    folder.mkdir(parents=True)
    held: list[Codes] = []
    for rows in options.rows:
        held.clear()
        return_free()
        before = process_memory_bytes()
        for arm, dimension in (("model", DIMENSION), ("static", STATIC_DIMENSION)):
            is_exact = arm == "static"
            held.append(Codes(dimension, rows, folder=str(folder), is_exact=is_exact))
            name = f"{arm} arm, {rows:,} rows"
            _measure_arm(results, name, held[-1], dimension, rows, is_exact=is_exact)
        taken = (process_memory_bytes() - before) / 2**20
        results.add(f"both arms, {rows:,} rows, memory", taken, "MB", note="resident, difference")


def _measure_arm(
    results: Results, name: str, codes: Codes, dimension: int, rows: int, *, is_exact: bool
) -> None:
    """Measure one scan over clustered vectors, as texts have them, with queries near some."""
    random = np.random.default_rng(1)
    centers = _unit(random.standard_normal((CLUSTERS, dimension), np.float32))
    questions = _clustered(random, centers, QUESTIONS)
    exact: list[Floats] = []
    exact_s = np.zeros(QUESTIONS)
    for start in range(0, rows, BLOCK_ROWS):
        vectors = _clustered(random, centers, min(BLOCK_ROWS, rows - start))
        if is_exact:  # whole numbers of eight bits, as the table of static vectors has them
            vectors = _unit(np.rint(127 * vectors / np.abs(vectors).max(axis=1, keepdims=True)))
        codes.append(np.arange(start, start + len(vectors)), vectors)
        scores = np.empty((QUESTIONS, len(vectors)), np.float32)
        for number, question in enumerate(questions):
            started = time.perf_counter()
            scores[number] = vectors @ question
            exact_s[number] += time.perf_counter() - started
        exact.append(scores)
    cosines = np.concatenate(exact, axis=1)
    wall, cpu, right = [], [], 0
    for question, truth in zip(questions, cosines, strict=True):
        started, cpu_started = time.perf_counter(), time.thread_time()
        found, scores_found = codes.nearest(CodedQuery(question), DEPTH, None)
        wall.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (time.thread_time() - cpu_started))
        best = codes.ids[found[np.argsort(-scores_found)[:NEAREST]]]
        right += len(set(best.tolist()) & set(np.argsort(-truth)[:NEAREST].tolist()))
    results.add_spread(name, wall)
    results.add(f"{name}, CPU", statistics.median(cpu), "ms")
    numpy_ms = 1000 * float(np.median(exact_s))
    results.add(f"{name}, numpy's exact scan", numpy_ms, "ms", note="32-bit floats")
    recall = right / (NEAREST * QUESTIONS)
    results.add(f"{name}, recall@10", recall, "", wanted="≥ 0.99")


def _clustered(random: np.random.Generator, centers: Floats, count: int) -> Floats:
    dimension = centers.shape[1]
    noise = random.standard_normal((count, dimension), np.float32) * NOISE / dimension**0.5
    return _unit(centers[random.integers(0, len(centers), count)] + noise)


def _unit(vectors: Floats) -> Floats:
    unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _add_run(results: Results, name: str, run: Run, wanted: str) -> None:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = 1000 * (time.perf_counter() - started)
    note = f"whole process; `python -c pass` takes {bare:.0f} ms beside it"
    results.add(name, run.seconds, "s", wanted=wanted, note=note)
    results.add(f"{name}, CPU", run.cpu_seconds, "s")


PARTS: dict[str, Callable[[Results, Path, Path, argparse.Namespace], None]] = {
    "no-change": measure_no_change,
    "vectors": measure_vectors,
    "first": measure_first,
    "curve": measure_curve,
}


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="measure this part alone; print only"
    )
    parser.add_argument(
        "--files", type=whole(1), nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000]
    )
    parser.add_argument("--rows", type=whole(100), nargs="+", default=[20_000, 100_000, 1_000_000])
    return parser.parse_args()


if __name__ == "__main__":
    main()
