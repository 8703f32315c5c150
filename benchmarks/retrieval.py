"""Measures ranking: python benchmarks/retrieval.py SET [SET…]

A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or the `questions` of a data
directory, for which see `own_questions.py`. Every document becomes a file, goes through the real
index and is looked for with the real search, by keyword, by vector and by both. A file counts at
the rank of its best chunk. A set of conversations becomes sessions instead, and then memories: see
`conversations.py` and `turns_as_memories.py`. For a set of memories see `stored_memories.py`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversations import (
    lead_over_arms,
    measure_conversations,
    print_by_category,
    print_conversations,
    read_conversations,
)
from figures import write_report
from judged_sets import holds_conversations, holds_memories, read_lines, read_relevance
from machine import describe_machine
from metrics import Judged, mean_metrics, rounded
from model_cache import cached_models
from options import judged_set as set_with
from options import set_options
from own_questions import is_own, measure_own
from stored_memories import measure_stored, read_memories
from turns_as_memories import measure_memories, print_memories

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock

TOP_CHUNKS = 50  # of which the first ten files are judged
_ENDINGS = {"python": ".py"}


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Documents by file name, queries by id, and relevance by query."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    relevance: dict[str, dict[str, int]]


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("sets", nargs="+", type=set_with("queries.jsonl"), metavar="SET")
    options = parser.parse_args()
    machine = describe_machine()
    for folder in options.sets:
        if is_own(folder):
            report = report_own(folder, cache=options.cache)
        elif holds_conversations(folder):
            report = report_conversations(folder, cache=options.cache)
        elif holds_memories(folder):
            report = report_memories(folder, cache=options.cache)
        else:
            report = report_files(folder, cache=options.cache)
        write_report(f"retrieval-{folder.name}", report | {"machine": machine}, options)


def report_own(folder: Path, *, cache: Path) -> dict[str, Any]:
    results = measure_own(folder, cache=cache, reporter=_Progress())
    for kind, modes in results.items():
        print(f"{kind}: {next(iter(modes.values()))['questions']:.0f} questions")
        print_modes(modes)
    return {
        "set": folder.name,
        "kinds": {
            kind: {mode: rounded(metrics) for mode, metrics in modes.items()}
            for kind, modes in results.items()
        },
    }


def report_files(folder: Path, *, cache: Path) -> dict[str, Any]:
    judged_set = read_set(folder)
    results = measure(judged_set, cache=cache)
    print_table(judged_set, results)
    return {
        "set": judged_set.name,
        "files": len(judged_set.documents),
        "queries": len(judged_set.queries),
        "modes": {mode: rounded(metrics) for mode, metrics in results.items()},
        "hybrid_over_better_arm_ndcg@10": round(_lead(results), 4),
    }


def report_conversations(folder: Path, *, cache: Path) -> dict[str, Any]:
    judged_set = read_conversations(folder)
    results = measure_conversations(judged_set, cache=cache, reporter=_Progress())
    print_conversations(judged_set, results)
    memories = measure_memories(judged_set, cache=cache, reporter=_Progress())
    print_memories(memories)
    return {
        "set": judged_set.name,
        "turns": len(judged_set.turns),
        "queries": len(judged_set.questions),
        "modes": {
            ranking: {name: rounded(metrics) for name, metrics in by_category.items()}
            for ranking, by_category in results.items()
        },
        **{
            f"hybrid_over_better_arm_{metric}": round(lead_over_arms(results, metric), 4)
            for metric in ("recall@5", "recall@10")
        },
        "as_memories": {ranking: rounded(metrics) for ranking, metrics in memories.items()},
    }


def report_memories(folder: Path, *, cache: Path) -> dict[str, Any]:
    judged_set = read_memories(folder)
    results = measure_stored(judged_set, cache=cache, reporter=_Progress())
    print(
        f"{folder.name}: {len(judged_set.memories)} memories, {len(judged_set.questions)} questions"
    )
    print_by_category(results)
    return {
        "set": folder.name,
        "memories": len(judged_set.memories),
        "queries": len(judged_set.questions),
        "modes": {
            ranking: {name: rounded(metrics) for name, metrics in by_category.items()}
            for ranking, by_category in results.items()
        },
        "hybrid_over_better_arm_ndcg@10": round(lead_over_arms(results, "ndcg@10"), 4),
    }


def measure(judged_set: RetrievalSet, *, cache: Path) -> dict[str, dict[str, float]]:
    """Metrics of each mode, over all queries; vectors are kept in `cache` between runs."""
    with (
        cached_models(cache) as models,
        tempfile.TemporaryDirectory(prefix="memory-sidecar-retrieval-") as scratch,
    ):
        tree = Path(scratch, "tree")
        write_files(judged_set, tree)
        paths = StorePaths(Path(scratch, "data", "codebase.sqlite"))
        codebase = Codebase(paths, settings=Settings(), models=models, clock=system_clock)
        report = codebase.index([tree], reporter=_Progress())
        if report.files_skipped or report.files_failed:
            left_out = [*report.files_skipped, *report.files_failed]
            print(f"{judged_set.name}: {len(left_out)} files left out, such as {left_out[0]}")
        results = {mode.value: run_queries(codebase, judged_set, mode) for mode in SearchMode}
        codebase.close()
    return results


def run_queries(codebase: Codebase, judged_set: RetrievalSet, mode: SearchMode) -> dict[str, float]:
    reporter: Reporter = Silent()
    judged, seconds = [], 0.0
    for query_id, text in judged_set.queries.items():
        started = time.perf_counter()
        hits = codebase.search(CodeQuery(text, top_k=TOP_CHUNKS, mode=mode), reporter=reporter)
        seconds += time.perf_counter() - started
        ranking = list(dict.fromkeys(hit.filename for hit in hits))
        judged.append(Judged(ranking, judged_set.relevance[query_id]))
    return mean_metrics(judged) | {"ms_per_query": 1000 * seconds / len(judged)}


def read_set(folder: Path) -> RetrievalSet:
    names, documents = {}, {}
    for document in read_lines(folder / "corpus.jsonl"):
        name = _file_name(document)
        names[document["_id"]] = name
        documents[name] = document["text"]
    relevance = {
        query_id: {names[document]: grade for document, grade in grades.items()}
        for query_id, grades in read_relevance(folder).items()
    }
    queries = {q["_id"]: q["text"] for q in read_lines(folder / "queries.jsonl")}
    judged = {query_id: text for query_id, text in queries.items() if query_id in relevance}
    return RetrievalSet(folder.name, documents, judged, relevance)


def write_files(judged_set: RetrievalSet, tree: Path) -> None:
    for name, text in judged_set.documents.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")


def _file_name(document: dict[str, Any]) -> str:
    """The document's id if that is a path, else the id with the suffix of its language."""
    name = str(document["_id"])
    if "/" in name or "." in name:
        return name
    return name + _ENDINGS.get(document.get("language", ""), "")


def print_table(judged_set: RetrievalSet, results: dict[str, dict[str, float]]) -> None:
    print(
        f"{judged_set.name}: {len(judged_set.documents)} files, {len(judged_set.queries)} queries"
    )
    print_modes(results)
    print(f"hybrid is {_lead(results):+.4f} NDCG@10 from the better arm\n")


def print_modes(results: dict[str, dict[str, float]]) -> None:
    names = list(next(iter(results.values())))
    print(" " * 8, *(f"{name:>12}" for name in names))
    for mode, metrics in results.items():
        print(f"{mode:8}", *(f"{metrics[name]:12.4f}" for name in names))


def _lead(results: dict[str, dict[str, float]]) -> float:
    ndcg = {mode: metrics["ndcg@10"] for mode, metrics in results.items()}
    return ndcg["hybrid"] - max(ndcg["keyword"], ndcg["vector"])


class _Progress(Silent):
    """Reports the progress of embedding on a terminal, as a first run takes minutes."""

    def progress(self, stage: str, done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{stage} {done:,} of {total:,} ", end="", file=sys.stderr)


if __name__ == "__main__":
    main()
