"""Measures what a user waits for: python benchmarks/speed.py [--tree DIR] [--json FILE]

The tree is a public source archive (see `trees.py`), downloaded once. Commands are timed as whole
processes, as a user starts them; only query latency and the share of the raw ONNX limit are
measured in this process. Under ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from command import NO_CHANGE_FILES, index_unchanged, index_words, median_run, run_command
from figures import Results
from latency import query_latency
from onnx_limit import share_of_limit
from options import figure_options, whole
from trees import chosen_tree, copy_part, copy_until

FIRST_RUNS = 3


def main() -> None:
    options = _options()
    tree = chosen_tree(options)
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-speed-") as scratch:
        work = Path(scratch)
        measure_first_run(results, tree, work / "first")
        measure_small_runs(results, tree, work / "small")
        measure_vectors(results, tree, work / "vectors", chunks=options.vectors)
        measure_queries(results, work / "first", work / "vectors")
    results.write("speed", options)


def measure_first_run(results: Results, tree: Path, data_dir: Path) -> None:
    """Measure a first run until every file is found by keyword, as one whole command."""
    runs = []
    for number in range(FIRST_RUNS):
        folder = data_dir if number == 0 else data_dir.with_name(f"first-{number}")
        runs.append(index_words(tree, folder))
    run, report = median_run(runs), runs[0].output
    files, chunks = report["files_processed"], report["chunks_indexed"]
    note = f"median of {len(runs)} whole processes"
    results.add("files", report["files_total"], "files", note=f"{files:,} indexed")
    results.add("chunks", chunks, "chunks")
    results.add("keyword-ready", run.seconds, "s", note=note)
    results.add("keyword-ready, files", files / run.seconds, "files/s")
    results.add("keyword-ready, chunks", chunks / run.seconds, "chunks/s", wanted="≥ 3,000")
    results.add("keyword-ready, CPU time", run.cpu_seconds, "s", note="user and system")
    results.add(
        "keyword-ready, peak memory",
        max(r.peak_mb for r in runs),
        "MB",
        wanted="≤ 350",
        note="resident, all processes together",
    )
    size = (data_dir / "codebase.sqlite").stat().st_size
    results.add("database without vectors", size / 2**20, "MB")


def measure_small_runs(results: Results, tree: Path, folder: Path) -> None:
    """Measure runs over 10,000 files of which few or none changed."""
    root, data_dir = folder / "tree", folder / "data"
    copy_until(tree, root, files=NO_CHANGE_FILES)
    runs = index_unchanged(root, data_dir)
    total = runs[0].output["files_total"]
    results.add(
        "no change",
        median_run(runs).seconds,
        "s",
        wanted="≤ 2",
        note=f"{total:,} files, whole process, median of {len(runs)}",
    )
    changed = next(path for path in sorted(root.rglob("*.py")) if path.stat().st_size > 1000)
    runs = []
    for number in range(3):
        with changed.open("a", encoding="utf-8") as file:
            file.write(f"\n# changed {number}\n")
        runs.append(index_words(root, data_dir))
        assert runs[-1].output["files_processed"] == 1
    results.add("one file changed", median_run(runs).seconds, "s", note="whole process")


def measure_vectors(results: Results, tree: Path, folder: Path, *, chunks: int) -> None:
    """Measure embedding a part of the tree, and a run after a folder was renamed."""
    root, data_dir = folder / "tree", folder / "data"
    copy_part(tree, root, every=max(int(results.value("chunks") / chunks), 1))
    run = run_command("index", root, data_dir=data_dir, cwd=root)
    embedded = run.output["vectors_embedded"]
    results.add(
        "vector-ready",
        embedded / run.seconds,
        "chunks/s",
        note=f"{embedded:,} chunks, whole process, model loading included",
    )
    results.add("vector-ready, peak memory", run.peak_mb, "MB", wanted="≤ 350")
    limit = share_of_limit(root, folder / "limit")
    results.add("embedding, sustained", limit.ours_per_second, "chunks/s")
    results.add(
        "raw ONNX limit",
        limit.raw_per_second,
        "chunks/s",
        note="session.run alone on the same texts, tokenized before, in turns with ours",
    )
    results.add("share of the limit", limit.share, "", wanted="≥ 0.85")
    _measure_rename(results, root, data_dir)


def _measure_rename(results: Results, root: Path, data_dir: Path) -> None:
    folders = [path for path in root.iterdir() if path.is_dir()]
    largest = max(folders, key=lambda folder: sum(1 for _ in folder.rglob("*")))
    largest.rename(largest.with_name("renamed"))
    run = run_command("index", root, data_dir=data_dir, cwd=root)
    assert run.output["vectors_pending"] == 0
    results.add(
        "renamed folder, embedded again",
        run.output["vectors_embedded"],
        "chunks",
        note=f"{run.output['chunks_indexed']:,} chunks moved in {run.seconds:.1f} s: paths are"
        " part of what is embedded",
    )


def measure_queries(results: Results, data_dir: Path, vectors: Path) -> None:
    """Measure query latency within one process that has everything loaded."""
    size = (vectors / "data" / "codebase.sqlite").stat().st_size
    results.add("database of the part, with vectors", size / 2**20, "MB")
    for mode, milliseconds in query_latency(data_dir).items():
        note = f"{len(milliseconds)} queries"
        if mode != "keyword":
            note += "; vectors of the chunks are random numbers, which cost what real ones cost"
        results.add_spread(f"query, {mode}", milliseconds, note=note)


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__, tree=True)
    parser.add_argument("--vectors", type=whole(1), default=1000, help="chunks to embed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
