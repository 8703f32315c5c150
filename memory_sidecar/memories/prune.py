"""Takes memories away: into the archive, or for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory_sidecar.core.atomic import sweep
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.memories.archive import Archive, Archived
from memory_sidecar.memories.directory import Directory
from memory_sidecar.memories.model import StoredMemory
from memory_sidecar.memories.names import check_path

HOUR_MS = 3_600_000


def remove(
    directory: Directory, archive: Archive, path: str, *, now_ms: int, if_hash: str = ""
) -> Archived:
    """Move the memory at `path` to the archive. Raises NotFound and Conflict."""
    with directory.changing():
        file = directory.read(check_path(path), if_hash=if_hash)
        return archive.take(directory, file.path, now_ms=now_ms)


def purge(directory: Directory, path: str, *, if_hash: str = "") -> str:
    """Delete the memory at `path` so that nothing brings it back; returns its path."""
    with directory.changing():
        file = directory.read(check_path(path), if_hash=if_hash)
        directory.delete(file.path)
        return file.path


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Which memories are not worth keeping: those that any of these says, within `category`.

    Pinned ones are spared by all of them.
    """

    category: str | None = None  # and everything below it
    expired: bool = False
    superseded: bool = False
    unused_since: int | None = None  # epoch milliseconds: neither changed nor read since then
    weaker_than: float | None = None  # strength, 0…1
    keep: int | None = None  # only so many of the strongest


@dataclass(frozen=True, slots=True)
class Doomed:
    """A memory that a rule applies to."""

    memory: StoredMemory
    reason: str


def doomed(memories: Iterable[StoredMemory], rule: PruneRule) -> list[Doomed]:
    """What `rule` says of `memories`, the weakest first. Changes nothing."""
    within = [
        each
        for each in memories
        if rule.category is None
        or f"{each.memory.category}/".startswith(f"{rule.category}/" if rule.category else "")
    ]
    strongest = sorted(within, key=_by_strength)
    loose = [each for each in strongest if not each.memory.is_pinned]
    pinned = len(strongest) - len(loose)
    kept = loose if rule.keep is None else loose[: max(rule.keep - pinned, 0)]
    beyond = {each.memory.path for each in loose[len(kept) :]}
    found = [
        Doomed(each, reason)
        for each in loose
        if (reason := _reason(each, rule, is_beyond=each.memory.path in beyond))
    ]
    return found[::-1]


def prune(
    directory: Directory, archive: Archive, memories: Sequence[Doomed], *, now_ms: int
) -> list[Archived]:
    """Move `memories` of `directory` to the archive, in one batch.

    One that is gone, or was changed since it was chosen, is left out. What crashed writers left
    behind is deleted.
    """
    taken = []
    with directory.changing():
        sweep(directory.tree, directory.root, before_ms=now_ms - HOUR_MS)
        for each in memories:
            try:
                file = directory.read(each.memory.file)
            except (NotFound, PathRefused):
                continue
            if file.hash == each.memory.memory.file_hash:
                taken.append(archive.take(directory, file.path, now_ms=now_ms))
    return taken


def _reason(stored: StoredMemory, rule: PruneRule, *, is_beyond: bool) -> str:
    memory = stored.memory
    if rule.expired and stored.is_expired:
        return "expired"
    if rule.superseded and stored.is_superseded:
        return "superseded"
    last_change = max(memory.updated_at, stored.used_at)
    if rule.unused_since is not None and last_change < rule.unused_since:
        return "neither changed nor read for long"
    if rule.weaker_than is not None and stored.strength < rule.weaker_than:
        return f"strength {stored.strength:.3f}"
    return f"beyond the {rule.keep} strongest" if is_beyond else ""


def _by_strength(stored: StoredMemory) -> tuple[float, int, str]:
    """The strongest first; of equal ones the latest."""
    memory = stored.memory
    return (-stored.strength, -max(memory.updated_at, stored.used_at), memory.path)
