"""Measures whether the first score tells a question with an answer from one without.

    python benchmarks/answerable.py CODE_SET CONVERSATIONS

Asks each repository of CODE_SET (see `repositories.py`) its own questions, and as many questions
about repositories on other subjects. Asks each conversation its own questions and those of the
others, once over its messages and once over the same turns stored as memories. AUC is how often a
question with an answer scores higher than one without.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conversations import read_conversations, save_conversation
from figures import write_report
from judged_sets import read_lines
from metrics import Scores, summary
from model_cache import cached_models
from options import OF_REPOSITORIES, OF_TURNS, set_options
from repositories import checkout, indexed
from turns_as_memories import STAMPED_AT, write_turn

from memory_sidecar.agents.agent import Agent
from memory_sidecar.code import ranking
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.results import CodeHit
from memory_sidecar.core.paths import DataDir
from memory_sidecar.core.results import Silent
from memory_sidecar.embedding.models import Models
from memory_sidecar.memories import hit
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.model import MemoryQuery
from memory_sidecar.memories.results import MemoryHit
from memory_sidecar.sessions import ranking as sessions_ranking
from memory_sidecar.sessions.handlers import Sessions
from memory_sidecar.sessions.model import TIERS, SessionQuery
from memory_sidecar.sessions.results import SessionHit

# Repositories on the same subject; each is asked questions about repositories on other subjects.
WEB = {"express", "sinatra", "flask", "plug", "phoenix", "axum", "alamofire"}
COMMANDS = {"click", "cobra"}
GIBBERISH = ("asdf qwer zxcv", "florp the wibble snark", "xyzzy plugh foobarbaz")


def main() -> None:
    parser = set_options(__doc__)
    parser.add_argument("code", type=OF_REPOSITORIES, metavar="CODE_SET")
    parser.add_argument("turns", type=OF_TURNS, metavar="CONVERSATIONS")
    options = parser.parse_args()
    with cached_models(options.cache) as models:
        turns = turn_scores(options.turns, models)
        code = code_scores(options.code, options.checkouts, models)
    report = {
        "code": summary(code, ranking.WEAK_BELOW),
        "sessions": summary(turns["sessions"], sessions_ranking.WEAK_BELOW),
        "memories": summary(turns["memories"], hit.WEAK_BELOW),
    }
    print(json.dumps(report, indent=1))
    write_report("retrieval-answerable", {"set": "answerable"} | report, options)


def code_scores(folder: Path, checkouts: Path, models: Models) -> Scores:
    repositories = json.loads((folder / "repositories.json").read_text(encoding="utf-8"))
    questions = list(read_lines(folder / "queries.jsonl"))
    own_scores: list[float] = []
    foreign_scores: list[float] = []
    for repository in repositories:
        name = repository["name"]
        own = [each["text"] for each in questions if each["repository"] == name]
        foreign = [each["text"] for each in questions if is_foreign(each, name)]
        random.Random(name).shuffle(foreign)
        tree = checkout(repository, checkouts)
        with indexed(tree / repository["root"], models) as codebase:

            def first(text: str, codebase: Codebase = codebase) -> float:
                return first_of(codebase.search(CodeQuery(text, top_k=1), reporter=Silent()))

            own_scores += map(first, own)
            foreign_scores += map(first, [*foreign[: len(own)], *GIBBERISH])
    return own_scores, foreign_scores


def is_foreign(question: dict[str, Any], name: str) -> bool:
    """Whether a question of another repository has no answer in the one called `name`."""
    other = question["repository"]
    is_like = any({name, other} <= kind for kind in (WEB, COMMANDS))
    return other != name and not is_like and question["category"] != "symbol"


def first_of(hits: Sequence[CodeHit | SessionHit | MemoryHit]) -> float:
    if not hits:
        return 0.0
    return hits[0].relevance if isinstance(hits[0], MemoryHit) else hits[0].score


def turn_scores(folder: Path, models: Models) -> dict[str, Scores]:
    """The first scores over the messages, and over the same turns as memories."""
    judged_set = read_conversations(folder)
    scores: dict[str, Scores] = {"sessions": ([], []), "memories": ([], [])}
    with tempfile.TemporaryDirectory(prefix="memory-sidecar-answerable-") as scratch:
        for name in dict.fromkeys(turn["conversation"] for turn in judged_set.turns):
            paths = DataDir(Path(scratch, "data")).agent(name)
            agent = Agent(paths, models=models, clock=lambda: STAMPED_AT, shared=None)
            turns = [turn for turn in judged_set.turns if turn["conversation"] == name]
            sessions = Sessions(agent, Silent())
            save_conversation(sessions, turns)
            for number, turn in enumerate(turns):
                write_turn(paths.memories / f"{number}.md", turn)
            agent.rebuild(reporter=Silent())
            memories = Memories(agent, Silent())
            firsts: dict[str, Callable[[str], float]] = {
                "sessions": lambda text, sessions=sessions: (  # type: ignore[misc]
                    first_of(sessions.search(SessionQuery(text=text, kinds=TIERS[2], top_k=1)))
                ),
                "memories": lambda text, memories=memories: (  # type: ignore[misc]
                    first_of(memories.query(MemoryQuery(text=text, top_k=1, rerank=False)))
                ),
            }
            for kind, first in firsts.items():
                for question in judged_set.questions:
                    scores[kind][question.conversation != name].append(first(question.text))
            agent.close()
    return scores


if __name__ == "__main__":
    main()
