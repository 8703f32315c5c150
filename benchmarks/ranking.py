"""Measures ranking on every set: ./task bench -- --ranking SETS

SETS is a folder with code-dev, cosqa-dev and locomo-dev; the sets in `sets/` are always measured.
Prints one table: the arms, hybrid with each step left out, and published figures of others.
`--check` compares with `golden.json` instead, and fails if a figure fell by more than its noise.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from statistics import fmean

import commits
import known_items
from conversations import measure_conversations, read_conversations
from figures import write_report
from options import folder, set_options
from repositories import each_indexed, ndcg, ranking, relevant
from retrieval import measure, read_set
from steps import STEPS, left_out
from stored_memories import measure_stored, read_memories

from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent

GOLDEN = Path(__file__).parent / "golden.json"
CODING_SESSIONS = Path(__file__).parent / "sets/coding-sessions"
CODING_MEMORIES = Path(__file__).parent / "sets/coding-memories"
# How far a figure may fall: by one question of a small set, or by other vectors on other chips.
NOISE = 0.01

Figures = dict[str, float]
"""By set and metric, such as `code-dev ndcg@10`, and by the ranking if it is not hybrid."""


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("sets", type=folder, metavar="SETS")
    parser.add_argument("--check", action="store_true", help="compare with the golden figures")
    parser.add_argument("--golden", action="store_true", help="write the golden figures anew")
    options = parser.parse_args()
    figures: Figures = {}
    for name, value in measured(
        options.sets, options.checkouts, options.cache, steps=not options.check
    ):
        figures[name] = round(value, 4)
        print(f"{name:78} {value:8.4f}", flush=True)
    if options.check:
        sys.exit(check(figures))
    write_report("ranking", {"figures": figures}, options)
    if options.golden:
        kept = {name: value for name, value in figures.items() if ", " not in name}
        GOLDEN.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def check(figures: Figures) -> int:
    """Return the exit status: 1 if a figure fell. A missing set is reported, but no failure."""
    golden: Figures = json.loads(GOLDEN.read_text(encoding="utf-8"))
    fallen = {
        name: (value, figures[name])
        for name, value in golden.items()
        if name in figures and figures[name] < value - NOISE
    }
    for name in golden.keys() - figures.keys():
        print(f"not measured: {name}")
    for name, (before, now) in fallen.items():
        print(f"fell: {name} from {before} to {now}")
    return 1 if fallen else 0


def measured(
    sets: Path, checkouts: Path, cache: Path, *, steps: bool
) -> Iterator[tuple[str, float]]:
    """Yield each figure as soon as it is measured; without `steps`, those of the arms only."""
    if (sets / "code-dev").is_dir():
        yield from of_repositories(sets / "code-dev", checkouts, cache, steps=steps)
    if (sets / "cosqa-dev").is_dir():
        for mode, metrics in measure(read_set(sets / "cosqa-dev"), cache=cache).items():
            yield _name("cosqa-dev", "ndcg@10", mode), metrics["ndcg@10"]
    if (sets / "locomo-dev").is_dir():
        yield from of_conversations(sets / "locomo-dev", cache)
    yield from of_own_sets(checkouts, cache)


def of_conversations(set_folder: Path, cache: Path) -> Iterator[tuple[str, float]]:
    judged_set = read_conversations(set_folder)
    for way, by_category in measure_conversations(
        judged_set, cache=cache, reporter=Silent()
    ).items():
        for metric in ("hit@5", "hit@10") if way == "sessions" else ("recall@5", "recall@10"):
            yield _name(set_folder.name, metric, way), by_category["all"][metric]


def of_own_sets(checkouts: Path, cache: Path) -> Iterator[tuple[str, float]]:
    yield from of_conversations(CODING_SESSIONS, cache)
    memories = measure_stored(read_memories(CODING_MEMORIES), cache=cache, reporter=Silent())
    for way, by_category in memories.items():
        for metric in ("hit@1", "ndcg@10"):
            yield _name(CODING_MEMORIES.name, metric, way), by_category["all"][metric]
    for way, metrics in commits.measure(commits.SET, checkouts, cache)["macro"].items():
        for metric, value in metrics.items():
            yield _name("commits", metric, "" if way == "with history" else way), value
    for kind, metrics in known_items.measure(checkouts, cache).items():
        for metric in ("hit@1", "hit@5"):
            yield _name(f"known items: {kind}", metric, ""), metrics[metric]


def of_repositories(
    code_set: Path, checkouts: Path, cache: Path, *, steps: bool
) -> Iterator[tuple[str, float]]:
    """Mean NDCG@10 over repositories: of the arms, with each step left out, and of others."""
    means: dict[str, list[float]] = defaultdict(list)
    ways = [(str(mode), mode, "") for mode in SearchMode]
    if steps:
        ways += [(f"without: {step}", SearchMode.HYBRID, step) for step in STEPS]
    for repository, asked, codebase in each_indexed(code_set, checkouts, cache):
        for way, mode, step in ways:
            with left_out(step) if step else nullcontext():
                scores = [
                    ndcg(relevant(each), ranking(codebase, each["text"], mode)) for each in asked
                ]
            means[way].append(fmean(scores))
        for system, value in repository["published_ndcg10"].items():
            means[f"published: {system}"].append(value)
    for way, values in means.items():
        yield _name("code-dev", "ndcg@10", way), fmean(values)


def _name(of: str, metric: str, way: str) -> str:
    return f"{of} {metric}" + (f", {way}" if way not in ("", "hybrid") else "")


if __name__ == "__main__":
    main()
