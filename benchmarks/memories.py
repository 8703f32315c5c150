"""Measures memories: python benchmarks/memories.py [--memories N] [--stores N]

First indexes a directory of N memory files. Then stores, queries and lists memories within a
process that watches the directory and keeps everything open, as a daemon does. Finally, eight
processes store into one directory without a daemon and get SIGKILL again and again: every memory
that was confirmed as stored must be there exactly once. About five minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from crowd import store_while_killed
from figures import Results, times_ms
from options import figure_options, whole

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.agents.watching import Watching
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import iso_utc, system_clock
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.memories.draft import Draft
from memory_sidecar.memories.files import memory_slug
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryFilter, MemoryList, MemoryQuery, Sort

AGENT = "bench"
CATEGORIES = ("pitfall", "pattern", "decision/storage", "decision/api", "preference", "outcome")
WORDS = """
retry payment cache cursor vector index token scene shader player inventory migration schema lock
deadlock timeout queue worker daemon socket parser grammar encoder tokenizer kernel thread session
cookie header certificate proxy gateway ledger invoice refund currency rounding locale calendar
avoid prefer never always before after because unless breaks leaks blocks doubles loses returns
handles rejects keeps drops rebuilds the a every this that of in on for with without through under
""".split()


def main() -> None:
    options = _options()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-memories-") as scratch:
        data_dir = Path(scratch) / "data"
        write_memories(data_dir / "knowledge" / AGENT, options.memories)
        services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
        agent = services.agent(AGENT)
        measure_rebuild(results, agent)
        watching = Watching(services)
        watching.start()
        agent.data.wait_fresh(patience_s=60.0)
        measure_calls(results, agent)
        watching.close()
        services.close()
        outcome = store_while_killed(Path(scratch) / "crowd", stores=options.stores)
        results.add("stores of 8 killed processes", outcome.stored, "told", note=outcome.note)
        results.add("kills", outcome.kills, "kills")
        results.add("memories lost", outcome.lost, "memories", wanted="0")
        results.add("memories doubled", outcome.doubled, "memories", wanted="0")
        results.add("not found by keyword", outcome.not_found, "memories", wanted="0")
    results.write("memories", options)
    sys.exit(bool(outcome.lost or outcome.doubled or outcome.not_found))


def write_memories(root: Path, count: int) -> None:
    """Write files as `store` does, dated over two years."""
    chance = random.Random(1)
    now = system_clock()
    for number in range(count):
        content = sentences(chance, number)
        stamp = iso_utc(now - chance.randrange(730 * 86_400_000))
        meta = {
            "created_at": stamp,
            "updated_at": stamp,
            "source": f"agent:{chance.choice(('architect', 'tester', 'writer'))}",
            "tags": [chance.choice(WORDS), f"area:{chance.choice(WORDS)}"],
            "summary": content.partition(".")[0],
        }
        folder = root / chance.choice(CATEGORIES)
        folder.mkdir(parents=True, exist_ok=True)
        page = new_page(meta, content + "\n")
        (folder / f"{memory_slug(content)}-{number}.md").write_text(page, encoding="utf-8")


def sentences(chance: random.Random, number: int) -> str:
    """Two to five random sentences."""
    made = [
        " ".join(chance.choices(WORDS, k=chance.randrange(6, 14))).capitalize() + "."
        for _ in range(chance.randrange(2, 6))
    ]
    return " ".join([*made, f"Case {number}."])


def measure_rebuild(results: Results, agent: Agent) -> None:
    """Measure indexing for keywords, and embedding after that."""
    started = time.perf_counter()
    report = agent.data.update(agent.sources(), Silent(), embed=False)
    seconds = time.perf_counter() - started
    count = report.files_processed
    results.add("memories", count, "files")
    results.add("rebuild until found by keyword", seconds, "s")
    results.add("rebuild, memories", count / seconds, "files/s", wanted="≥ 300")
    started = time.perf_counter()
    embedded = agent.data.update([], Silent()).vectors_embedded
    seconds = time.perf_counter() - started
    results.add("and their vectors", embedded / seconds, "vectors/s")


def measure_calls(results: Results, agent: Agent) -> None:
    """Measure consecutive single calls."""
    chance = random.Random(2)
    memories = Memories(agent, Silent())
    drafts = [
        Draft(content=sentences(chance, 1_000_000 + n), category="pitfall", tags=("k:v",))
        for n in range(200)
    ]
    stores = _times([partial(memories.store, draft) for draft in drafts])
    results.add_spread("store", stores, wanted=("≤ 40", ""))
    again = _times([partial(memories.store, draft) for draft in drafts])
    results.add_spread("store of what is known", again)
    questions = [" ".join(chance.choices(WORDS, k=6)) for _ in range(200)]
    for mode in (SearchMode.HYBRID, SearchMode.KEYWORD):
        asked = [MemoryQuery(text=text, mode=mode, rerank=False) for text in questions]
        taken = _times([partial(memories.query, query) for query in asked])
        results.add_spread(f"query, {mode.value}", taken, wanted=("≤ 15", ""))
    filtered = MemoryFilter(category="decision", tags=("cache", "area:"), updated_after=1)
    asked = [MemoryQuery(text=text, filter=filtered, rerank=False) for text in questions]
    taken = _times([partial(memories.query, query) for query in asked])
    results.add_spread("query, filtered", taken, wanted=("≤ 15", ""))
    month_ago = system_clock() - 30 * 86_400_000
    lists = {
        "category": MemoryList(filter=MemoryFilter(category="decision"), limit=20),
        "tags": MemoryList(filter=MemoryFilter(tags=("cache", "retry")), limit=20),
        "updated": MemoryList(filter=MemoryFilter(updated_after=month_ago), limit=20),
        "source": MemoryList(filter=MemoryFilter(source="agent:tester"), limit=20),
        "by strength": MemoryList(sort=Sort.STRENGTH, limit=20),
    }
    for name, wanted in lists.items():
        taken = _times([partial(memories.list, wanted)] * 100)
        results.add_spread(f"list of 20, {name}", taken, wanted=("≤ 5", ""))


def _times(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Milliseconds of each call, after ten to warm up."""
    return times_ms([*calls[:10], *calls])[10:]


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__)
    parser.add_argument("--memories", type=whole(1), default=10_000)
    parser.add_argument(
        "--stores", type=whole(1), default=250, help="of each of the eight processes"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
