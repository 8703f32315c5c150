"""A memory that was found, and how much of it is shown within a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from memory_sidecar.core.model import Explanation
from memory_sidecar.core.paths import SHARED
from memory_sidecar.memories.model import StoredMemory, estimate_tokens
from memory_sidecar.memories.store import MemoryChunk

NAMED_FROM = 0.9  # the scores that only memories have which the question names
TITLE_CHARACTERS = 160


class Shown(StrEnum):
    """What the text of a hit is."""

    CONTENT = "content"
    PASSAGE = "passage"  # the part that matches best
    SUMMARY = "summary"  # or, where there is none, how the memory begins


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A ranked memory. `score` lies in 0…1 and falls with rank."""

    agent: str  # whose memory it is
    found: StoredMemory
    passage: MemoryChunk  # the part that matches best
    score: float
    explanation: Explanation
    text: str
    shown: Shown = Shown.CONTENT

    @property
    def is_shared(self) -> bool:
        return self.agent == SHARED

    @property
    def is_outdated(self) -> bool:
        """Whether something else holds by now."""
        return self.found.is_superseded or self.found.is_expired


def title_of(stored: StoredMemory) -> str:
    """Its summary, or how it begins, in one line."""
    memory = stored.memory
    if memory.summary:
        return memory.summary
    first = next(filter(None, (line.strip("#*_> \t") for line in memory.content.split("\n"))), "")
    return first if len(first) <= TITLE_CHARACTERS else f"{first[:TITLE_CHARACTERS]}…"


def within_budget(hits: Sequence[MemoryHit], max_tokens: int | None) -> list[MemoryHit]:
    """As many hits as fit by their summaries, and as much of the best ones as fits then."""
    if max_tokens is None:
        return list(hits)
    left, kept = max_tokens, []
    for hit in hits:
        title = title_of(hit.found)
        if estimate_tokens(title) > left:
            break
        left -= estimate_tokens(title)
        kept.append(replace(hit, text=title, shown=Shown.SUMMARY))
    for at, hit in enumerate(kept):
        kept[at] = _longer(hit, left)
        left -= estimate_tokens(kept[at].text) - estimate_tokens(hit.text)
    return kept


def _longer(hit: MemoryHit, left: int) -> MemoryHit:
    """`hit` with all its content, or else its best passage, if `left` tokens more allow that."""
    texts = ((hit.found.memory.content, Shown.CONTENT), (hit.passage.text, Shown.PASSAGE))
    for text, shown in texts:
        if estimate_tokens(text) - estimate_tokens(hit.text) <= left:
            return replace(hit, text=text, shown=shown)
    return hit
