"""The best few memories, read once more together with the question, by a cross-encoder.

    key = score + 0.035 · what the cross-encoder says of question and passage (about -11 to 6)

On turns of LoCoMo, recall at 1 / 5 / 10 grew from .426/.652/.740 to .456/.694/.740;
judging 20 instead of 10 was no better. How many are judged is decided by their length, since
that is what it costs: a budget of time would give other answers on another day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memory_sidecar.index import arms
from memory_sidecar.index.arms import Judge
from memory_sidecar.memories.hit import NAMED_FROM, RankedMemory

MAX_HITS = 10
PASSAGE_CHARACTERS = 400  # of one, from its beginning
MAX_CHARACTERS = 3_000  # of all that are judged: about 100 ms on two idle cores
WEIGHT = 0.035


def reranked(question: str, hits: Sequence[RankedMemory], judge: Judge) -> list[RankedMemory]:
    """`hits`, best first, the first of them in a better order.

    They share the scores that they had before, so that a score means the same with and without.
    """
    chosen, texts = _worth_judging(hits)
    if len(chosen) < 2:
        return list(hits)
    scores = [hits[at].score for at in chosen]
    order = arms.reranked(question, texts, scores, judge, weight=WEIGHT)
    better = list(hits)
    for place, n in zip(chosen, order, strict=True):
        hit, score = hits[chosen[n]], hits[place].score
        explanation = hit.explanation.reranked(score - hit.score)
        better[place] = replace(hit, score=score, explanation=explanation)
    return better


def _worth_judging(hits: Sequence[RankedMemory]) -> tuple[list[int], list[str]]:
    """Places and passages of the best hits that are neither named nor outdated."""
    places: list[int] = []
    texts: list[str] = []
    left = MAX_CHARACTERS
    for place, hit in enumerate(hits):
        if hit.memory.is_outdated or hit.score >= NAMED_FROM:
            continue
        text = hit.passage.embedded_text[:PASSAGE_CHARACTERS]
        left -= len(text)
        if len(places) == MAX_HITS or left < 0:
            break
        places.append(place)
        texts.append(text)
    return places, texts
