"""Measures ranking over memories as coding agents store them: one agent, three projects.

The files are written as `store` does, go through the real index, and are asked for from within the
project of each question. Questions of the category `foreign` have no answer: they tell whether the
first score does, see `answerable.py`.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from judged_sets import read_lines, read_relevance
from metrics import Judged, auc, mean_metrics
from model_cache import cached_models
from turns_as_memories import RANKINGS, TOP_K

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.disk.frontmatter import new_page
from memory_sidecar.memories.files import memory_slug
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery

ASKED_AT = 1_782_896_400_000  # 1 July 2026, of every question: strength falls with time
FOREIGN = "foreign"

Row = dict[str, Any]
Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class MemorySet:
    """The memories and questions as their files have them, and relevance by question."""

    name: str
    memories: list[Row]
    questions: list[Row]
    relevance: dict[str, dict[str, int]]


def read_memories(folder: Path) -> MemorySet:
    return MemorySet(
        folder.name,
        list(read_lines(folder / "corpus.jsonl")),
        list(read_lines(folder / "queries.jsonl")),
        read_relevance(folder),
    )


def measure_stored(
    judged_set: MemorySet, *, cache: Path, reporter: Reporter
) -> dict[str, dict[str, Metrics]]:
    """Metrics by ranking and category of question, and how well scores tell foreign questions."""
    with stored(judged_set, cache=cache, reporter=reporter) as (memories, ids):
        results = {
            ranking: run_questions(judged_set, memories, ids, options)
            for ranking, options in RANKINGS.items()
        }
        named = replace(judged_set, questions=[*map(naming_project, judged_set.questions)])
        results["naming project"] = run_questions(named, memories, ids, RANKINGS["hybrid"])
        return results


def naming_project(question: Row) -> Row:
    """Return the question with its project's name, as a person outside that project asks it."""
    project = question.get("project")
    return question | {"text": f"{question['text']} in {project}"} if project else question


@contextmanager
def stored(
    judged_set: MemorySet, *, cache: Path, reporter: Reporter
) -> Iterator[tuple[Memories, dict[str, str]]]:
    """Index the memories for as long as the context lasts; yields them with their ids by path."""
    with (
        cached_models(cache) as models,
        tempfile.TemporaryDirectory(prefix="memory-sidecar-stored-") as scratch,
    ):
        paths = DataDir(Path(scratch, "data")).agent("coder")
        agent = Agent(paths, models=models, clock=lambda: ASKED_AT, shared=None)
        ids = write_memories(paths.memories, judged_set.memories)
        agent.rebuild(reporter=reporter)
        yield Memories(agent, Silent()), ids
        agent.close()


def write_memories(root: Path, memories: Sequence[Row]) -> dict[str, str]:
    """Write the files as `store` does; returns the ids of the memories by path."""
    paths = {each["_id"]: f"{each['category']}/{memory_slug(each['text'])}.md" for each in memories}
    for memory in memories:
        meta = {
            "created_at": f"{memory['date']}T09:00:00Z",
            "updated_at": f"{memory['date']}T09:00:00Z",
            "project": memory.get("project"),
            "tags": memory.get("tags"),
            "pinned": memory.get("pinned"),
            "expires_at": memory.get("expires"),
            "supersedes": paths.get(memory.get("supersedes", "")),
        }
        file = root / paths[memory["_id"]]
        file.parent.mkdir(parents=True, exist_ok=True)
        page = new_page({key: value for key, value in meta.items() if value}, memory["text"] + "\n")
        with file.open("x", encoding="utf-8", newline="") as new:  # each path once
            new.write(page)
    return {path: memory for memory, path in paths.items()}


def run_questions(
    judged_set: MemorySet, memories: Memories, ids: dict[str, str], options: Row
) -> dict[str, Metrics]:
    judged: dict[str, list[Judged]] = defaultdict(list)
    firsts: dict[bool, list[float]] = {False: [], True: []}  # by whether the question is foreign
    weak: dict[bool, list[bool]] = {False: [], True: []}
    seconds = 0.0
    for question in judged_set.questions:
        prefers = question.get("project", "")
        query = MemoryQuery(text=question["text"], prefers=prefers, top_k=TOP_K, **options)
        started = time.perf_counter()
        hits = memories.query(query)
        seconds += time.perf_counter() - started
        is_foreign = question["category"] == FOREIGN
        firsts[is_foreign].append(hits[0].relevance if hits else 0.0)
        weak[is_foreign].append(not hits or hits[0].is_weak)
        if not is_foreign:
            one = Judged([ids[hit.path] for hit in hits], judged_set.relevance[question["_id"]])
            judged["all"].append(one)
            judged[f"category {question['category']}"].append(one)
    results = {name: mean_metrics(judged[name]) for name in sorted(judged)}
    results["all"] |= {
        "auc": auc(firsts[False], firsts[True]),
        "weak": fmean(weak[False]),
        "foreign weak": fmean(weak[True]),
    }
    results["all"]["ms_per_query"] = 1000 * seconds / len(judged_set.questions)
    return results
