"""Ranked memories: merged, reranked by a cross-encoder, and cut to a budget of tokens.

The cross-encoder reads the best few hits together with the question:

    key = score + 0.035 · score of the cross-encoder for question and passage (about -11 to 6)

A memory near to the first, and about as good by this key, comes before it if it is newer: it may
contradict that without saying so.

On turns of LoCoMo, recall at 1 / 5 / 10 grew from .426/.652/.740 to .456/.694/.740;
judging 20 instead of 10 was no better. The length of the passages decides how many are judged,
since it decides the cost: a budget of time would give different answers on different days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec import UNSET

from memory_sidecar.core.model import estimate_tokens
from memory_sidecar.core.results import build_from, rounded
from memory_sidecar.embedding.models import Judge
from memory_sidecar.index.scored import NAMED_FROM, Scored, reorder
from memory_sidecar.index.vectors import Vector
from memory_sidecar.memories.model import MemoryQuery, Relation
from memory_sidecar.memories.names import MEMORY_SUFFIX
from memory_sidecar.memories.results import Memory, MemoryHit, without_copies
from memory_sidecar.memories.store import MemoryChunk

WEAK_BELOW = 0.45
"""A score, if the memory has not faded: few best hits of questions with an answer are below it, and
most best hits of questions without one."""

MAX_JUDGED = 10
JUDGED_CHARACTERS = 400  # of one passage, from its beginning
MAX_CHARACTERS = 3_000  # of all judged passages: about 100 ms on two idle cores
JUDGE_WEIGHT = 0.035

NEAR = 0.66  # the cosine from which two memories may be about the same thing
NEWER_GAP = 0.08  # the most that the key of a newer memory may be lower by, to come first


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
    vector: Vector | None = field(default=None, compare=False)  # that of the passage
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


@dataclass(frozen=True, slots=True)
class Searched:
    """The hits of one search, best first, with a few to spare, since reranking may lift some."""

    hits: list[RankedMemory]
    question: str = ""  # what a cross-encoder reads with them; "" if none is to judge them


def best_hits(
    query: MemoryQuery, searched: Sequence[Searched], judge: Judge | None
) -> list[RankedMemory]:
    """Merge the hits of all `searched` for `query`, best first: a score means the same in each.

    Of a memory that an agent has shared, its own copy stays. `judge`, a cross-encoder, reorders the
    best hits by the question of the search that found the first. Hits below `min_score` or beyond
    `top_k` and `max_tokens` are left out.
    """
    found = sorted((each for each in searched if each.hits), key=lambda f: place_of(f.hits[0]))
    merged = sorted((hit for each in found for hit in each.hits), key=place_of)
    hits = without_copies(merged, lambda hit: hit.memory)
    if judge is not None and found and found[0].question:
        hits = rerank(found[0].question, hits, judge)
    hits = _successors_first(hits)
    hits = [hit for hit in hits[: query.top_k] if rounded(hit.score) >= query.min_score]
    return fit_budget(hits, query.max_tokens)


def place_of(hit: RankedMemory) -> tuple[float, bool, str, str]:
    """Return the sort key of hits, best first."""
    return -hit.score, hit.memory.is_outdated, hit.memory.agent, stem_of(hit.memory.path)


def stem_of(path: str) -> str:
    """Return `path` without its suffix: so ordered, a file precedes its copies, such as `x 2`."""
    return path.removesuffix(MEMORY_SUFFIX)


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
    """Reorder the first of `hits`, which are sorted best first, by what `judge` says.

    What is near to the best and newer comes first, unless the question names a time.
    """
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
    if not any("time" in hit.explanation.terms for hit in judged):
        keys = _newer_first(judged, keys)
    better = list(hits)
    for place, hit in zip(chosen, _in_order(judged, keys, "reranked"), strict=True):
        better[place] = hit
    return better


def _in_order(
    hits: Sequence[RankedMemory], keys: Sequence[float], reason: str
) -> list[RankedMemory]:
    """Put `hits` in the order of their `keys`; which places are weak stays, as the scores do."""
    ordered = zip(reorder(hits, keys, reason), hits, strict=True)
    return [replace(hit, weak_below=there.weak_below) for hit, there in ordered]


def _newer_first(hits: Sequence[RankedMemory], keys: Sequence[float]) -> list[float]:
    """Return `keys`, that of a hit near to the first, about as good but newer, above all."""
    best_first = sorted(range(len(keys)), key=lambda at: -keys[at])
    first = best_first[0]
    for at in best_first:
        if keys[first] - keys[at] <= NEWER_GAP and _may_replace(hits[at], hits[first]):
            first = at
    return [math.inf if at == first else key for at, key in enumerate(keys)]


def _may_replace(hit: RankedMemory, other: RankedMemory) -> bool:
    """Whether `hit` is of a later day than `other`, of the same project and near to it.

    What is pinned holds, until something pinned says otherwise.
    """
    memory, older = hit.memory, other.memory
    if memory.project != older.project or memory.updated_at[:10] <= older.updated_at[:10]:
        return False
    if older.pinned > memory.pinned or hit.vector is None or other.vector is None:
        return False
    return float(hit.vector @ other.vector) >= NEAR


def _successors_first(hits: Sequence[RankedMemory]) -> list[RankedMemory]:
    """Put each of `hits` that others of them supersede after these, unless the question names it.

    It often says more of the subject than its successor, which would come second otherwise.
    """
    at = {(hit.memory.agent, hit.memory.path): place for place, hit in enumerate(hits)}
    keys = [-float(place) for place in range(len(hits))]
    for _ in hits:  # a successor may be superseded, too
        before = [*keys]
        for place, hit in enumerate(hits):
            named = hit.memory.relations.get(Relation.SUPERSEDED_BY, ())
            newer = [at[key] for path in named if (key := (hit.memory.agent, path)) in at]
            if hit.memory.superseded and not hit.explanation.boosts.get("named"):
                keys[place] = min([keys[place], *(keys[each] - 0.5 for each in newer)])
        if keys == before:
            break
    return (
        list(hits)
        if keys == sorted(keys, reverse=True)
        else _in_order(hits, keys, "successor_first")
    )


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
