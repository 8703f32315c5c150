"""Which memories are not worth keeping, by a rule. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memory_sidecar.memories.model import StoredMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Which memories are not worth keeping: those in `category` to which any criterion applies.

    Pinned ones are always kept.
    """

    category: str | None = None  # and everything below it
    expired: bool = False
    superseded: bool = False
    unused_since: int | None = None  # epoch milliseconds: neither changed nor read since then
    weaker_than: float | None = None  # strength, 0…1
    keep: int | None = None  # only so many of the strongest


def doomed(memories: Iterable[StoredMemory], rule: PruneRule) -> list[tuple[StoredMemory, str]]:
    """Those of `memories` that `rule` applies to, the weakest first, each with the reason."""
    within = [
        each
        for each in memories
        if rule.category is None
        or f"{each.memory.category}/".startswith(f"{rule.category}/" if rule.category else "")
    ]
    strongest = sorted(within, key=_by_strength)
    loose = [each for each in strongest if not each.memory.pinned]
    pinned = len(strongest) - len(loose)
    kept = loose if rule.keep is None else loose[: max(rule.keep - pinned, 0)]
    beyond = {each.memory.path for each in loose[len(kept) :]}
    found = [
        (each, reason)
        for each in loose
        if (reason := _reason(each, rule, is_beyond=each.memory.path in beyond))
    ]
    return found[::-1]


def _reason(stored: StoredMemory, rule: PruneRule, *, is_beyond: bool) -> str:
    if rule.expired and stored.memory.expired:
        return "expired"
    if rule.superseded and stored.memory.superseded:
        return "superseded"
    if rule.unused_since is not None and stored.touched_at < rule.unused_since:
        return "neither changed nor read for long"
    if rule.weaker_than is not None and stored.strength < rule.weaker_than:
        return f"strength {stored.strength:.3f}"
    return f"beyond the {rule.keep} strongest" if is_beyond else ""


def _by_strength(stored: StoredMemory) -> tuple[float, int, str]:
    """The strongest first; of equal ones the latest."""
    return (-stored.strength, -stored.touched_at, stored.memory.path)
