"""Measures how well code search ranks whole repositories: python benchmarks/repositories.py SET

A set is a folder with repositories.json (name, GitHub repository, revision, the folder that is
indexed, what other systems reached there) and queries.jsonl (question, category, relevant files).
Each repository is cloned once, or taken from `--checkouts`, then indexed and searched by the
product. Scored as published: of the first ten chunks, a relevant file gains at the rank of its
first chunk; the result is the mean over repositories of the means over questions.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from figures import write_report
from judged_sets import read_lines
from metrics import rounded
from model_cache import cached_models
from options import OF_REPOSITORIES, set_options

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import StorePaths
from memory_sidecar.core.results import Silent
from memory_sidecar.core.settings import Settings
from memory_sidecar.core.times import system_clock
from memory_sidecar.embedding.models import Models

CUT = 10
TOP_CHUNKS = 50  # so that the first ten files are among them

Row = dict[str, float]  # NDCG@10 by repository, or by category


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("set", type=OF_REPOSITORIES, metavar="SET")
    parser.add_argument(
        "--asked-as", default="{}", help="the wording of each question: 'how does {} work'"
    )
    options = parser.parse_args()
    chunks: dict[str, Row] = {mode: {} for mode in SearchMode}
    files: dict[str, Row] = {mode: {} for mode in SearchMode}
    categories: dict[str, list[float]] = defaultdict(list)
    questions = 0
    for repository, asked, codebase in each_indexed(options.set, options.checkouts, options.cache):
        name = repository["name"]
        questions += len(asked)
        for mode in SearchMode:
            texts = (options.asked_as.replace("{}", query["text"]) for query in asked)
            rankings = [ranking(codebase, text, mode) for text in texts]
            found = [(relevant(query), each) for query, each in zip(asked, rankings, strict=True)]
            by_chunk = [ndcg(wanted, each) for wanted, each in found]
            chunks[mode][name] = fmean(by_chunk)
            files[mode][name] = fmean(ndcg(w, list(dict.fromkeys(each))) for w, each in found)
            if mode is SearchMode.HYBRID:
                for query, score in zip(asked, by_chunk, strict=True):
                    categories[query["category"]].append(score)
        best = max(repository["published_ndcg10"].values(), default=math.nan)
        print(f"{name:16}", *(f"{chunks[mode][name]:8.3f}" for mode in SearchMode), f"{best:8.3f}")
    report = {
        "set": options.set.name,
        "queries": questions,
        "ndcg@10": {mode: with_mean(row) for mode, row in chunks.items()},
        "ndcg@10_over_files": {mode: with_mean(row) for mode, row in files.items()},
        "hybrid_by_category": {name: round(fmean(all_), 4) for name, all_ in categories.items()},
    }
    print(json.dumps({key: report[key] for key in ("ndcg@10", "hybrid_by_category")}, indent=1))
    write_report(f"retrieval-{options.set.name}", report, options)


def each_indexed(
    set_folder: Path, checkouts: Path, cache: Path
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], Codebase]]:
    """Yield each repository of the set with its questions, once it is indexed."""
    questions = list(read_lines(set_folder / "queries.jsonl"))
    with cached_models(cache) as models:
        for repository in json.loads((set_folder / "repositories.json").read_text("utf-8")):
            asked = [each for each in questions if each["repository"] == repository["name"]]
            tree = checkout(repository, checkouts) / repository["root"]
            with indexed(tree, models) as codebase:
                yield repository, asked, codebase


@contextmanager
def indexed(tree: Path, models: Models, *, embed: bool = True) -> Iterator[Codebase]:
    """A complete index of `tree` alone; without `embed`, for keywords only."""
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-benchmark-") as scratch:
        paths = StorePaths(Path(scratch, "codebase.sqlite"))
        codebase = Codebase(paths, settings=Settings(), models=models, clock=system_clock)
        with closing(codebase):
            codebase.index([tree], reporter=Silent(), embed=embed)
            yield codebase


def ranking(codebase: Codebase, text: str, mode: SearchMode) -> list[str]:
    """The files of the best chunks, best first, one for each chunk."""
    query = CodeQuery(text, top_k=TOP_CHUNKS, mode=mode)
    return [hit.filename for hit in codebase.search(query, reporter=Silent())]


def relevant(query: dict[str, Any]) -> list[str]:
    """Paths of the relevant files; the set gives some with line numbers."""
    found = (each if isinstance(each, str) else each["path"] for each in query["relevant"])
    return list(dict.fromkeys(found))


def ndcg(wanted: Sequence[str], found: Sequence[str]) -> float:
    """NDCG@10 where each file of `wanted` gains once, at its first rank in `found`."""
    gain = sum(
        next(
            (
                _discount(rank)
                for rank, path in enumerate(found[:CUT], 1)
                if is_same_file(path, each)
            ),
            0.0,
        )
        for each in wanted
    )
    return gain / sum(_discount(rank) for rank in range(1, min(CUT, len(wanted)) + 1))


def checkout(repository: dict[str, Any], folder: Path) -> Path:
    """The tree of that repository at its revision, cloned if it is not in `folder`."""
    target = folder / str(repository["name"])
    if not target.is_dir():
        url = f"https://github.com/{repository['repository']}"
        clone = ["git", "clone", "--quiet", "--no-checkout", url, str(target)]
        if subprocess.run(clone, check=False).returncode:
            sys.exit(f"{target.name} can not be cloned; put its tree into a folder of --checkouts")
        switch = ["git", "-C", str(target), "checkout", "--quiet", repository["revision"]]
        subprocess.run(switch, check=True)
    return target


def is_same_file(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith("/" + wanted) or wanted.endswith("/" + path)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def with_mean(row: Row) -> Row:
    return rounded({"mean": fmean(row.values())} | row)


if __name__ == "__main__":
    main()
