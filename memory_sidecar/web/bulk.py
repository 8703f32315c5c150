"""`/memories/bulk`: one change of many memories, shown before it is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.results import about
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.results import Listed, told_as
from memory_sidecar.web.guard import Told
from memory_sidecar.web.memory import came_from, memories_of
from memory_sidecar.web.visit import Done, View, Visit

ACTIONS: dict[str, str] = {
    "archive": "go into the archive",
    "pin": "are pinned: they do not fade",
    "unpin": "fade again",
    "tag": "get the tag",
    "move": "move to the category",
}
_NEEDING = frozenset({"tag", "move"})  # a value


@dataclass(frozen=True, slots=True)
class BulkPlan:
    """What a change of many memories would do."""

    action: Annotated[str, about("one of ACTIONS")]
    value: Annotated[str, about("the tag or the category, else empty")]
    memories: tuple[Listed, ...]


def plan(visit: Visit) -> View:
    """What would be changed; nothing is yet."""
    action, value = _wanted(visit)
    found = [told_as(Listed, memories.look(path)) for memories, _, path, _ in _chosen(visit)]
    return View(
        template="bulk.html",
        title=f"{len(found)} memories {ACTIONS[action]} {value}".rstrip(),
        data=BulkPlan(action, value, tuple(found)),
        more={"chosen": visit.texts("chosen"), "back": came_from(visit), "what": ACTIONS[action]},
    )


def change(visit: Visit) -> Done:
    """Change each as it was shown. One that was changed since is left as it is, and named."""
    action, value = _wanted(visit)
    if action == "archive":
        return _archive(visit)
    changed = 0
    for memories, _, path, file_hash in _chosen(visit):
        try:
            if action == "move":
                memories.move(path, f"{value.rstrip('/')}/")
            else:
                memories.update(path, _changes(action, value), if_hash=file_hash)
            changed += 1
        except SidecarError as error:
            visit.notice(f"{path}: {error.message}")
    return Done(
        came_from(visit), Told(_told(visit, changed, f"{ACTIONS[action]} {value}".rstrip()))
    )


def _archive(visit: Visit) -> Done:
    seen: dict[str, dict[str, str]] = {}
    for _, agent, path, file_hash in _chosen(visit):
        seen.setdefault(agent, {})[path] = file_hash
    batches, count = [], 0
    for agent, paths in seen.items():
        gone = memories_of(visit, agent).archive(paths)
        batches += [f"{agent} {batch}" for batch in sorted({each.batch for each in gone})]
        count += len(gone)
    if left := sum(map(len, seen.values())) - count:
        visit.notice(f"{left} changed meanwhile and stay")
    undo = {"batch": ",".join(batches), "as": visit.text("as"), "to": came_from(visit)}
    text = _told(visit, count, "lie in the archive")
    return Done(came_from(visit), Told(text, "/memories/restore" if batches else "", undo))


def _wanted(visit: Visit) -> tuple[str, str]:
    """What is to be done, and with what value. Raises UsageError."""
    action = visit.text("action")
    value = visit.text(action).strip()
    if action not in ACTIONS:
        raise UsageError(f"nothing is called {action[:40]!r}", hint=f"one of {', '.join(ACTIONS)}")
    if action in _NEEDING and not value:
        raise UsageError(
            f"nothing to {action} them with", hint=f"fill in the field beside {action}"
        )
    if not visit.texts("chosen"):
        raise UsageError("no memory is chosen", hint="tick some, or press x on a row")
    return action, value


def _changes(action: str, value: str) -> Changes:
    return Changes(tags=(value,)) if action == "tag" else Changes(pinned=action == "pin")


def _chosen(visit: Visit) -> Iterator[tuple[Memories, str, str, str]]:
    """The memories of an agent, its name, a path and the hash that was seen."""
    for each in visit.texts("chosen"):
        agent, _, rest = each.partition(" ")
        file_hash, _, path = rest.partition(" ")
        yield memories_of(visit, agent), agent, path, file_hash


def _told(visit: Visit, count: int, what: str) -> str:
    memories = "1 memory" if count == 1 else f"{count:,} memories"
    return "; ".join([f"{memories}: {what}", *visit.notices])
