"""A ranked memory, its reranking by a cross-encoder, and the cut of hits to a budget of tokens.

The cross-encoder reads the best few hits together with the question:

    key = score + 0.035 · score of the cross-encoder for question and passage (about -11 to 6)

On turns of LoCoMo, recall at 1 / 5 / 10 grew from .426/.652/.740 to .456/.694/.740;
judging 20 instead of 10 was no better. The length of the passages decides how many are judged,
since it decides the cost: a budget of time would give different answers on different days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from msgspec import UNSET

from memory_sidecar.core.model import estimate_tokens
from memory_sidecar.core.results import build_from, rounded
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.scored import NAMED_FROM, Scored, reorder
from memory_sidecar.memories.results import Memory, MemoryHit
from memory_sidecar.memories.store import MemoryChunk

WEAK_BELOW = 0.45
"""A score, if the memory has not faded: few best hits of questions with an answer are below it, and
most best hits of questions without one."""

MAX_JUDGED = 10
JUDGED_CHARACTERS = 400  # of one passage, from its beginning
MAX_CHARACTERS = 3_000  # of all judged passages: about 100 ms on two idle cores
JUDGE_WEIGHT = 0.035


class Shown(StrEnum):
    """The part of a memory that a hit shows."""

    CONTENT = "content"
    PASSAGE = "passage"  # the part that matches best
    SUMMARY = "summary"  # the title: the summary, or else the first line


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMemory(Scored):
    """A memory with its score."""

    memory: Memory
    passage: MemoryChunk  # the part that matches best
    shown: Shown = Shown.CONTENT
    weak_below: float = 0.0  # WEAK_BELOW less what faded; 0 where only one arm made the score

    @property
    def is_weak(self) -> bool:
        """Whether the score is as low as the best one of a question that no memory answers.

        An outdated memory is not weak: its score is low for another reason.
        """
        return self.score < self.weak_below and not self.memory.is_outdated

    @property
    def text(self) -> str:
        """The part that is `shown`."""
        if self.shown is Shown.CONTENT:
            return self.memory.content
        return self.passage.text if self.shown is Shown.PASSAGE else self.memory.title

    def to_hit(self, *, explain: bool) -> MemoryHit:
        """Convert to the result of a search; with the explanation only if `explain`."""
        return build_from(
            MemoryHit,
            self.memory,
            content=self.text,
            relevance=rounded(self.score),
            is_weak=self.is_weak,
            shown=self.shown.value,
            start_line=self.passage.start_line,
            end_line=self.passage.end_line,
            heading=self.passage.heading,
            explain=self.explanation if explain else UNSET,
        )


def fit_budget(hits: Sequence[RankedMemory], max_tokens: int | None) -> list[RankedMemory]:
    """Keep as many hits as fit with their titles, then show as much of the best ones as fits.

    The estimated tokens of all texts stay within `max_tokens`; None sets no limit.
    """
    if max_tokens is None:
        return list(hits)
    left, kept = max_tokens, []
    for hit in hits:
        least = replace(hit, shown=Shown.SUMMARY)
        if estimate_tokens(least.text) > left:
            break
        left -= estimate_tokens(least.text)
        kept.append(least)
    for at, hit in enumerate(kept):
        kept[at] = _expand(hit, left)
        left -= estimate_tokens(kept[at].text) - estimate_tokens(hit.text)
    return kept


def _expand(hit: RankedMemory, left: int) -> RankedMemory:
    """Show all content of `hit`, or else its best passage, if that takes at most `left` more."""
    for shown in (Shown.CONTENT, Shown.PASSAGE):
        more = replace(hit, shown=shown)
        if estimate_tokens(more.text) - estimate_tokens(hit.text) <= left:
            return more
    return hit


def rerank(question: str, hits: Sequence[RankedMemory], judge: Judge) -> list[RankedMemory]:
    """Reorder the first of `hits`, which are sorted best first, by what `judge` says."""
    chosen = _choose_judged(hits)
    if len(chosen) < 2:
        return list(hits)
    judged = [hits[at] for at in chosen]
    told = zip(judged, judge(question, [*chosen.values()]), strict=True)
    keys = [
        # A time counts twice: `judge` sees no dates, and would tell siblings apart by chance.
        hit.score + hit.explanation.terms.get("time", 0.0) + JUDGE_WEIGHT * value
        for hit, value in told
    ]
    better = list(hits)
    for place, hit in zip(chosen, reorder(judged, keys), strict=True):
        better[place] = hit
    return better


def _choose_judged(hits: Sequence[RankedMemory]) -> dict[int, str]:
    """Choose the best hits that are neither named nor outdated; return their passages by place."""
    passages: dict[int, str] = {}
    left = MAX_CHARACTERS
    for place, hit in enumerate(hits):
        if hit.memory.is_outdated or hit.score >= NAMED_FROM:
            continue
        text = hit.passage.embedded_text[:JUDGED_CHARACTERS]
        left -= len(text)
        if len(passages) == MAX_JUDGED or left < 0:
            break
        passages[place] = text
    return passages
