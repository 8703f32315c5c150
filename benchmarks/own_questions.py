"""Measures ranking by the questions that a user judged, by command or on the page.

SET is the folder `questions` of a data directory. Its sources are indexed where they lie, memories
and sessions from a copy, all into a temporary database: the data in use is only read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from judged_sets import read_lines
from metrics import Judged, mean_metrics
from model_cache import models_in

from memory_sidecar.agents.services import Services
from memory_sidecar.code.model import CodeFilter, CodeQuery
from memory_sidecar.core.model import Asked, SearchMode
from memory_sidecar.core.paths import EPISODIC, KNOWLEDGE, SHARED, DataDir
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.settings import load_settings
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.sessions.model import SessionQuery

TOP_K = 50
QUERIES = "queries.jsonl"

Row = dict[str, Any]
Ask = Callable[[str, SearchMode], list[str]]


def is_own(folder: Path) -> bool:
    """Whether `folder` holds judged questions without the documents they are about."""
    return (folder / QUERIES).is_file() and not (folder / "corpus.jsonl").exists()


def measure_own(
    folder: Path, *, cache: Path, reporter: Reporter
) -> dict[str, dict[str, dict[str, float]]]:
    """Metrics by kind of question and search mode; kinds without questions are left out."""
    rows = list(read_lines(folder / QUERIES))
    settings = replace(load_settings(Path.cwd(), os.environ), keep_questions=False)
    judged: dict[str, dict[str, list[Judged]]] = defaultdict(lambda: defaultdict(list))
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-own-") as scratch:
        services = Services(DataDir(Path(scratch, "data")), settings)
        services.models = models_in(cache, settings)
        for row, ask in _askable(rows, folder.resolve().parent, services, reporter):
            for mode in SearchMode:
                ranking = list(dict.fromkeys(ask(row["text"], mode)))
                relevance = dict.fromkeys(row["relevant"], 1)
                judged[row["kind"]][mode.value].append(Judged(ranking, relevance))
        services.close()
    return {
        kind: {
            mode: mean_metrics(all_of) | {"questions": len(all_of)}
            for mode, all_of in modes.items()
        }
        for kind, modes in judged.items()
    }


def _askable(
    rows: list[Row], data: Path, services: Services, reporter: Reporter
) -> Iterator[tuple[Row, Ask]]:
    """Yield each question with the function that ranks for it, once its data is indexed."""
    askers: dict[tuple[str, str, str], Ask | None] = {}
    for row in rows:
        key = (row["kind"], row["of"], row["root"])
        if key not in askers:
            askers[key] = (
                _code_asker(Path(row["root"]), services, reporter)
                if row["kind"] == Asked.CODE
                else _agent_asker(row, data, services, reporter)
            )
        if ask := askers[key]:
            yield row, ask
        else:
            print(f"left out, as {row['of']} is not there any more: {row['text']}")


def _code_asker(root: Path, services: Services, reporter: Reporter) -> Ask | None:
    if not root.is_dir():
        return None
    codebase = services.codebase()
    codebase.index([root], reporter=reporter)
    within = CodeFilter(sources=(codebase.require_source_around(root).name,))
    return lambda text, mode: [
        hit.filename
        for hit in codebase.search(
            CodeQuery(text, top_k=TOP_K, mode=mode, filter=within), reporter=reporter
        )
    ]


def _agent_asker(row: Row, data: Path, services: Services, reporter: Reporter) -> Ask | None:
    for name in (row["of"], SHARED):
        for kept in (KNOWLEDGE, EPISODIC):
            if (data / kept / name).is_dir():
                copy = services.data_dir.root / kept / name
                shutil.copytree(data / kept / name, copy, dirs_exist_ok=True)
    agent = services.agent(row["of"])
    if not agent.exists:
        return None
    if row["kind"] == Asked.MEMORIES:
        memories = Memories(agent, reporter)
        return lambda text, mode: [
            hit.path for hit in memories.query(MemoryQuery(text=text, top_k=TOP_K, mode=mode))
        ]
    sessions = services.sessions(row["of"], reporter=reporter)
    return lambda text, mode: [
        hit.session_id for hit in sessions.search(SessionQuery(text=text, top_k=TOP_K, mode=mode))
    ]
