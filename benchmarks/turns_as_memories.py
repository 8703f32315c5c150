"""Measures ranking over memories: each conversation becomes an agent, each turn a memory.

The files go through the real index and the real search. Like any memory, a turn is ranked without
its neighbours.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conversations import ConversationSet, Metrics, Question
from metrics import Judged, mean_metrics
from model_cache import cached_models

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery

TOP_K = 20
STAMPED_AT = 1_772_356_320_000  # every turn and every question, so that no memory has faded
RANKINGS: dict[str, dict[str, Any]] = {
    "keyword": {"mode": SearchMode.KEYWORD},
    "vector": {"mode": SearchMode.VECTOR},
    "hybrid": {"rerank": False},
    "reranked": {"rerank": True},
}


def measure_memories(
    judged_set: ConversationSet, *, cache: Path, reporter: Reporter
) -> dict[str, Metrics]:
    """Metrics of each ranking over all questions."""
    with (
        cached_models(cache) as models,
        tempfile.TemporaryDirectory(prefix="memory-sidecar-memories-") as scratch,
    ):
        data_dir = DataDir(Path(scratch, "data"))
        agents: dict[str, Agent] = {}
        paths: dict[str, str] = {}  # ids of turns, by agent and path
        for number, turn in enumerate(judged_set.turns):
            name = turn["conversation"]
            if name not in agents:
                agents[name] = Agent(
                    data_dir.agent(name), models=models, clock=lambda: STAMPED_AT, shared=None
                )
            paths[f"{name}/{number}.md"] = turn["_id"]
            write_turn(agents[name].paths.memories / f"{number}.md", turn)
        for agent in agents.values():
            agent.rebuild(reporter=reporter)
        results = {
            ranking: run_questions(judged_set.questions, agents, paths, options, reporter)
            for ranking, options in RANKINGS.items()
        }
        for agent in agents.values():
            agent.close()
    return results


def write_turn(file: Path, turn: dict[str, Any]) -> None:
    """Write a memory with the text of `turn`, its speaker and time."""
    caption = f" [{turn['caption']}]" if turn.get("caption") else ""
    content = f"{turn['date']}\n{turn['speaker']}: {turn['text']}{caption}\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    stamp = iso_utc(STAMPED_AT)
    page = new_page({"created_at": stamp, "updated_at": stamp}, content)
    file.write_text(page, encoding="utf-8")


def run_questions(
    questions: Sequence[Question],
    agents: dict[str, Agent],
    paths: dict[str, str],
    options: dict[str, Any],
    reporter: Reporter,
) -> Metrics:
    judged, seconds = [], 0.0
    for question in questions:
        query = MemoryQuery(text=question.text, top_k=TOP_K, **options)
        started = time.perf_counter()
        hits = Memories(agents[question.conversation], reporter).query(query)
        seconds += time.perf_counter() - started
        ranking = [paths[f"{question.conversation}/{hit.path}"] for hit in hits]
        judged.append(Judged(ranking, question.relevance))
    return mean_metrics(judged) | {"ms_per_query": 1000 * seconds / len(questions)}


def print_memories(results: dict[str, Metrics]) -> None:
    names = list(next(iter(results.values())))
    print("each turn a memory of its own")
    print(" " * 8, *(f"{name:>12}" for name in names))
    for ranking, metrics in results.items():
        print(f"{ranking:8}", *(f"{metrics[name]:12.4f}" for name in names))
    print()
