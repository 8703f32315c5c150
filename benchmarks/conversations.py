"""Measures ranking over conversations: each becomes an agent, each of its sittings a session.

Turns go through real session files, the real index and the real search. Each question is asked
unchanged, within its own conversation. A hit counts if its turn is a relevant one, a session if it
holds one. `sets/coding-sessions` has sessions of people with coding agents, made up for measuring.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from judged_sets import read_lines, read_relevance
from metrics import Judged, mean_metrics
from model_cache import cached_models

from memory_sidecar.agents.agent import Agent
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.times import iso_utc, system_clock
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import TIERS, SessionQuery

TOP_K = 20
RANKINGS: dict[str, dict[str, Any]] = {
    "keyword": {"mode": SearchMode.KEYWORD},
    "vector": {"mode": SearchMode.VECTOR},
    "hybrid": {"mode": SearchMode.HYBRID},
    "reranked": {"mode": SearchMode.HYBRID, "rerank": True},
    "sessions": {"mode": SearchMode.HYBRID, "by_session": True},
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a conversation, and the turns that answer it."""

    conversation: str
    category: str
    text: str
    relevance: dict[str, int]


@dataclass(frozen=True, slots=True)
class ConversationSet:
    """The turns, in the order of the set, and the questions."""

    name: str
    turns: list[dict[str, Any]]
    questions: list[Question]


Metrics = dict[str, float]


def read_conversations(folder: Path) -> ConversationSet:
    relevance = read_relevance(folder)
    questions = [
        Question(q["conversation"], str(q["category"]), q["text"], relevance[q["_id"]])
        for q in read_lines(folder / "queries.jsonl")
        if q["_id"] in relevance
    ]
    return ConversationSet(folder.name, list(read_lines(folder / "corpus.jsonl")), questions)


def measure_conversations(
    judged_set: ConversationSet, *, cache: Path, reporter: Reporter
) -> dict[str, dict[str, Metrics]]:
    """Metrics by ranking and category of question; "all" is every question."""
    with (
        cached_models(cache) as models,
        tempfile.TemporaryDirectory(prefix="memory-sidecar-conversations-") as scratch,
    ):
        data_dir = DataDir(Path(scratch, "data"))
        agents, sessions, turn_ids = [], {}, {}
        for name in dict.fromkeys(turn["conversation"] for turn in judged_set.turns):
            agent = Agent(data_dir.agent(name), models=models, clock=system_clock, shared=None)
            agents.append(agent)
            sessions[name] = Sessions(agent, reporter)
            own = [turn for turn in judged_set.turns if turn["conversation"] == name]
            turn_ids[name] = save_conversation(sessions[name], own)
        results = {
            ranking: run_questions(judged_set.questions, sessions, turn_ids, options)
            for ranking, options in RANKINGS.items()
        }
        for agent in agents:
            agent.close()
    return results


def save_conversation(
    sessions: Sessions, turns: Sequence[dict[str, Any]]
) -> dict[tuple[str, int], str]:
    """Save the sittings of a conversation; returns turns by session and place in it."""
    first_speaker = turns[0]["speaker"]
    turn_ids = {}
    for number, sitting in _sittings(turns):
        session_id = f"session-{number}"
        began_at = _moment(sitting[0]["date"])
        sessions.save(
            {
                "session_id": session_id,
                "created_at": began_at,
                "project_path": sitting[0].get("project", ""),
                "messages": [
                    {
                        "role": "user" if turn["speaker"] == first_speaker else "assistant",
                        "speaker": turn["speaker"],
                        "content": _content(turn),
                        "created_at": began_at,
                    }
                    for turn in sitting
                ],
            }
        )
        for place, turn in enumerate(sitting):
            turn_ids[session_id, place] = turn["_id"]
    return turn_ids


def run_questions(
    questions: Sequence[Question],
    sessions: dict[str, Sessions],
    turn_ids: dict[str, dict[tuple[str, int], str]],
    options: dict[str, Any],
) -> dict[str, Metrics]:
    judged: dict[str, list[Judged]] = defaultdict(list)
    seconds = 0.0
    for question in questions:
        query = SessionQuery(text=question.text, kinds=TIERS[2], top_k=TOP_K, **options)
        started = time.perf_counter()
        hits = sessions[question.conversation].search(query)
        seconds += time.perf_counter() - started
        ids = turn_ids[question.conversation]
        if options.get("by_session"):
            ranking = [hit.session_id for hit in hits]
            holding = {session for (session, _), turn in ids.items() if turn in question.relevance}
            one = Judged(ranking, dict.fromkeys(holding, 1))
        else:
            ranking = [ids[hit.session_id, hit.sequence or 0] for hit in hits]
            one = Judged(ranking, question.relevance)
        judged["all"].append(one)
        judged[f"category {question.category}"].append(one)
    results = {name: mean_metrics(judged[name]) for name in sorted(judged)}
    results["all"]["ms_per_query"] = 1000 * seconds / len(questions)
    return results


def print_conversations(
    judged_set: ConversationSet, results: dict[str, dict[str, Metrics]]
) -> None:
    turns, questions = len(judged_set.turns), len(judged_set.questions)
    print(f"{judged_set.name}: {turns} turns, {questions} questions within their conversations")
    print_by_category(results)
    for metric in ("recall@5", "recall@10"):
        print(f"hybrid is {lead_over_arms(results, metric):+.4f} {metric} from the better arm")
    print()


def print_by_category(results: dict[str, dict[str, Metrics]]) -> None:
    names = list(next(iter(results.values()))["all"])
    print(f"{'':22}", *(f"{name:>12}" for name in names))
    for ranking, by_category in results.items():
        for category, metrics in by_category.items():
            label = ranking if category == "all" else f"  {category}"
            print(f"{label:22}", *(f"{metrics[n]:12.4f}" for n in names if n in metrics))


def lead_over_arms(results: dict[str, dict[str, Metrics]], metric: str) -> float:
    """By how much the hybrid ranking exceeds the better of its two arms."""
    value = {ranking: by_category["all"][metric] for ranking, by_category in results.items()}
    return value["hybrid"] - max(value["keyword"], value["vector"])


def _sittings(turns: Sequence[dict[str, Any]]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    by_number: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for turn in turns:
        by_number[turn["session"]].append(turn)
    yield from by_number.items()


def _content(turn: dict[str, Any]) -> str:
    """The text of a turn, with the caption of a shared picture."""
    caption = turn.get("caption")
    return f"{turn['text']} [{caption}]" if caption else str(turn["text"])


def _moment(text: str) -> str:
    """`1:56 pm on 8 May, 2023` as ISO 8601."""
    moment = datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    return iso_utc(round(moment.timestamp() * 1000))
