"""Measures sessions: python benchmarks/sessions.py [--sessions N] [--messages N] [--json FILE]

Indexes N session files and searches them within a process that keeps everything open, as a daemon
does. Embedding 200,000 messages takes an hour, so their vectors are random numbers, whose scan
costs the same; the real model embeds the questions. Ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from figures import Results, times_ms
from options import figure_options, whole
from vectors import give_random_vectors

from memory_sidecar.agents.agent import Agent
from memory_sidecar.agents.services import Services
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import iso_utc
from memory_sidecar.index.words import STOPWORDS
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import TIERS, SessionFilter, SessionQuery

AGENT = "bench"
FIRST_AT = 1_700_000_000_000
VOCABULARY = 40_000
WANTED = {1: "≤ 15", 2: "≤ 60"}
QUESTIONS = 60
SAVES = 20


class Language:
    """Generates text with the word frequencies of natural language (Zipf, Mandelbrot)."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)
        syllables = [c + v for c in "bcdfghklmnprstvwz" for v in ("a", "e", "i", "o", "u")]
        made = self._random.choice(syllables, (VOCABULARY, 4))
        lengths = self._random.integers(2, 5, VOCABULARY)
        self._words = np.array(
            ["".join(word[:length]) for word, length in zip(made, lengths, strict=True)]
        )
        weights = 1 / (np.arange(VOCABULARY) + 8.0)
        self._cumulated = np.cumsum(weights / weights.sum())
        self._little = sorted(STOPWORDS)

    def text(self, words: int) -> str:
        """A text; about two in five of its words are common to all texts."""
        ranks = np.searchsorted(self._cumulated, self._random.random(words))
        chosen = self._words[np.minimum(ranks, VOCABULARY - 1)]
        little = self._random.random(words) < 0.4
        chosen[little] = self._random.choice(self._little, int(little.sum()))
        return " ".join(chosen)

    def between(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high))


def main() -> None:
    options = _options()
    results = Results()
    language = Language()
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-sessions-") as scratch:
        data_dir = Path(scratch, "data")
        per_session = options.messages // options.sessions
        write_sessions(data_dir, language, sessions=options.sessions, messages=per_session)
        services = Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)
        agent = services.agent(AGENT)
        sessions = services.sessions(AGENT, reporter=Silent())
        measure_index(results, agent)
        give_random_vectors(agent.data.open())
        measure_searches(results, sessions, language)
        measure_saves(results, sessions, language)
        services.close()
    results.write("sessions", options)


def write_sessions(data_dir: Path, language: Language, *, sessions: int, messages: int) -> None:
    for number in range(sessions):
        document = session_document(language, number, messages=messages)
        folder = data_dir / "episodic" / AGENT / document["created_at"][:7]
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(document, indent=1) + "\n"
        (folder / f"{document['session_id']}.json").write_text(text, encoding="utf-8")


def session_document(language: Language, number: int, *, messages: int) -> dict[str, Any]:
    """A session of one hour; ten thousand of them are spread over three years."""
    began_at = FIRST_AT + number * 9_500_000
    return {
        "session_id": f"session-{number}",
        "created_at": iso_utc(began_at),
        "project_path": f"/src/project-{number % 20}",
        "topics": [language.text(1) for _ in range(3)],
        "summary": {
            "brief": language.text(12),
            "detailed": language.text(60),
            "key_decisions": [language.text(10) for _ in range(2)],
            "problems_solved": [language.text(10)],
            "outcome": ("success", "partial", "abandoned")[number % 3],
        },
        "messages": [
            {
                "role": "user" if place % 2 == 0 else "assistant",
                "content": language.text(language.between(5, 90)),
                "created_at": iso_utc(began_at + place * 60_000),
            }
            for place in range(messages)
        ],
    }


def measure_index(results: Results, agent: Agent) -> None:
    """Measure indexing the files for keywords."""
    started = time.perf_counter()
    report = agent.data.update(agent.sources(), Silent(), embed=False)
    seconds = time.perf_counter() - started
    results.add("sessions", report.files_processed, "files")
    results.add("summaries, messages and snippets", report.chunks_total, "rows")
    results.add("index until found by keyword", seconds, "s")
    results.add("index, rows", report.chunks_indexed / seconds, "rows/s")
    results.add("database without vectors", agent.paths.db.stat().st_size / 2**20, "MB")


def measure_searches(results: Results, sessions: Sessions, language: Language) -> None:
    questions = [language.text(language.between(5, 11)) for _ in range(QUESTIONS)]
    for tier, kinds in TIERS.items():
        for mode in SearchMode:
            queries = [SessionQuery(text=q, kinds=kinds, mode=mode) for q in questions]
            _add(results, f"tier {tier}, {mode.value}", sessions, queries, wanted=WANTED[tier])
        chosen = SessionFilter(projects=("project-7",), after=FIRST_AT + 1)
        queries = [SessionQuery(text=q, kinds=kinds, filter=chosen) for q in questions]
        _add(results, f"tier {tier}, hybrid, a project", sessions, queries, wanted=WANTED[tier])
        phrases = [f'"{" ".join(q.split()[:2])}" {q}' for q in questions]
        queries = [SessionQuery(text=q, kinds=kinds) for q in phrases]
        _add(results, f"tier {tier}, hybrid, a phrase", sessions, queries, wanted=WANTED[tier])
    queries = [SessionQuery(text=q, kinds=TIERS[2], rerank=True) for q in questions[:10]]
    _add(results, "tier 2, reranked", sessions, queries)


def measure_saves(results: Results, sessions: Sessions, language: Language) -> None:
    """Measure saving short sessions, embedded by the real model."""
    documents = [session_document(language, 1_000_000 + n, messages=2) for n in range(SAVES)]
    taken = times_ms(partial(sessions.save, document) for document in documents)
    note = f"median of {SAVES}, of two messages; without a daemon's open files"
    results.add("save until found by meaning", statistics.median(taken), "ms", note=note)


def _add(
    results: Results,
    name: str,
    sessions: Sessions,
    queries: list[SessionQuery],
    *,
    wanted: str = "",
) -> None:
    for query in queries[:5]:
        sessions.search(query)
    taken = times_ms(partial(sessions.search, query) for query in queries)
    results.add_spread(name, taken, wanted=(wanted, ""))


def _options() -> argparse.Namespace:
    parser = figure_options(__doc__)
    parser.add_argument("--sessions", type=whole(1), default=10_000)
    parser.add_argument("--messages", type=whole(1), default=200_000)
    return parser.parse_args()


if __name__ == "__main__":
    main()
