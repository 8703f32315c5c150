"""`/memories/bulk`: one change of many memories, shown for confirmation before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from memory_sidecar.core.errors import Conflict, SidecarError, UsageError
from memory_sidecar.core.paths import SHARED
from memory_sidecar.core.results import build_from, pluralize
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.files import plain_tag
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.names import check_category
from memory_sidecar.memories.results import Listed, Memory, Remembered
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.memory import memories_of
from memory_sidecar.web.visit import Done, View, Visit

ACTIONS: dict[str, str] = {
    "archive": "archived",
    "pin": "pinned",
    "unpin": "unpinned",
    "tag": "tagged",
    "move": "moved to",
    "share": "shared with all agents",
}
_NEEDS_VALUE = frozenset({"tag", "move"})


@dataclass(frozen=True, slots=True)
class _ChosenMemory:
    """A chosen memory, with the `hash` of its file when it was shown."""

    memories: Memories
    agent: str
    path: str
    hash: str

    def read(self) -> Memory:
        """Return the memory as it is now. Raises NotFound."""
        return self.memories.peek(self.path)


def plan(visit: Visit) -> View:
    """Show which memories the form would change, without changing them."""
    action, value = _complete_action(visit)
    seen = [each.read() for each in _chosen_memories(visit)]
    found = [build_from(Listed, each) for each in seen]
    stay = {(each.agent, each.path) for each in seen if _is_noop(each, action, value)}
    return View(
        template="bulk.html",
        title=f"{action.capitalize()} {pluralize(len(found), 'memory', 'memories')}",
        data={"action": action, "value": value, "memories": found},
        more={"chosen": visit.texts("chosen"), "back": visit.came_from, "stay": stay},
    )


def change(visit: Visit) -> Done:
    """Change the chosen memories; those that changed since they were shown stay, with a notice."""
    action, value = _complete_action(visit)
    if action == "archive":
        return _archive(visit)
    done = []
    for chosen in _unchanged(visit, _chosen_memories(visit)):
        try:
            after = _apply(chosen, action, value)
        except SidecarError as error:
            visit.notice(f"{chosen.path}: {error.message}")
        else:
            if after is not None:
                done.append((replace(chosen, path=after.path, hash=after.hash), chosen.path))
    if action == "move":  # a move also changes the hashes of those that link to what it moves
        done = [(replace(each, hash=each.read().hash), before) for each, before in done]
    text = _report(visit, len(done), f"{ACTIONS[action]} {value}".rstrip())
    lines = ("\t".join((each.agent, each.hash, each.path, before)) for each, before in done)
    fields = {"action": action, action: value, "done": "\n".join(lines)}
    undo = "/memories/bulk/undo" if done else ""
    return Done(visit.came_from, visit.undoable(text, undo, **fields))


def undo(visit: Visit) -> Done:
    """Revert a change; a notice names each memory that changed since, which stays as it is."""
    action, value = _action(visit)
    before: dict[_ChosenMemory, str] = {}
    for line in visit.text("done").splitlines():
        agent, file_hash, path, was = (*line.split("\t"), "", "", "")[:4]
        there = memories_of(visit, SHARED if action == "share" else agent)
        before[_ChosenMemory(there, agent, path, file_hash)] = was
    count = 0
    for each in _unchanged(visit, before):
        try:
            if action == "move":
                each.memories.move(each.path, before[each])
            elif action == "share":
                each.memories.remove(each.path, if_hash=each.hash)
            else:
                changes = _changes_of(action, value, back=True)
                each.memories.update(each.path, changes, if_hash=each.hash)
            count += 1
        except SidecarError as error:
            visit.notice(f"{each.path}: {error.message}")
    return Done(visit.came_from, Flash(_report(visit, count, "restored")))


def _apply(chosen: _ChosenMemory, action: str, value: str) -> Remembered | None:
    """Change one memory; returns the result, or None if there was nothing to change."""
    memories, path = chosen.memories, chosen.path
    if _is_noop(chosen.read(), action, value):
        return None
    if action == "share":
        shared = memories.share(path)
        return shared if shared.created else None
    if action == "move":
        return memories.move(path, f"{value.rstrip('/')}/")
    return memories.update(path, _changes_of(action, value), if_hash=chosen.hash)


def _unchanged(visit: Visit, chosen: Iterable[_ChosenMemory]) -> list[_ChosenMemory]:
    """Return the memories that have not changed since they were shown; notices name the others.

    Reads them all before the first is changed.
    """
    found = []
    for each in chosen:
        try:
            if each.read().hash != each.hash:
                raise Conflict("it has changed in the meantime, and stays as it is")
            found.append(each)
        except SidecarError as error:
            visit.notice(f"{each.path}: {error.message}")
    return found


def _is_noop(memory: Memory, action: str, value: str) -> bool:
    """Whether `action` would leave `memory` as it is."""
    return {
        "pin": memory.pinned,
        "unpin": not memory.pinned,
        "tag": plain_tag(value) in memory.tag_list,
        "move": memory.category == value.strip("/"),
        "share": memory.shared,
    }.get(action, False)


def _archive(visit: Visit) -> Done:
    seen: dict[str, dict[str, str]] = {}
    for each in _chosen_memories(visit):
        seen.setdefault(each.agent, {})[each.path] = each.hash
    batches, count = [], 0
    for agent, paths in seen.items():
        gone = memories_of(visit, agent).archive(paths)
        batches += [f"{agent} {batch}" for batch in sorted({each.batch for each in gone})]
        count += len(gone)
    if left := sum(map(len, seen.values())) - count:
        visit.notice(f"{left} changed in the meantime and stay")
    text, undo = _report(visit, count, "archived"), "/memories/restore" if batches else ""
    return Done(visit.came_from, visit.undoable(text, undo, batch=",".join(batches)))


def _action(visit: Visit) -> tuple[str, str]:
    """Return the action in the form and its value, "" for none. Raises UsageError."""
    action = visit.text("action")
    value = visit.text(action).strip()
    if action not in ACTIONS:
        raise UsageError(f"nothing is called {action[:40]!r}", hint=f"one of {', '.join(ACTIONS)}")
    return action, value


def _complete_action(visit: Visit) -> tuple[str, str]:
    """Return the action and its value. Raises UsageError if the value or the choice is missing."""
    action, value = _action(visit)
    if action in _NEEDS_VALUE and not value:
        raise UsageError(
            f"nothing to {action} them with", hint=f"fill in the field beside {action}"
        )
    if action == "move":
        check_category(value)
    if action == "tag" and value.endswith(":"):
        raise UsageError(f"{value!r} names no tag", hint="say something after its colon")
    if not visit.texts("chosen"):
        raise UsageError("no memory is chosen", hint="tick some, or press x on a row")
    return action, value


def _changes_of(action: str, value: str, *, back: bool = False) -> Changes:
    if action == "tag":
        return Changes(remove_tags=(value,)) if back else Changes(tags=(value,))
    return Changes(pinned=(action == "pin") is not back)


def _chosen_memories(visit: Visit) -> Iterator[_ChosenMemory]:
    for each in visit.texts("chosen"):
        agent, _, rest = each.partition(" ")
        file_hash, _, path = rest.partition(" ")
        yield _ChosenMemory(memories_of(visit, agent), agent, path, file_hash)


def _report(visit: Visit, count: int, what: str) -> str:
    return "; ".join([f"{pluralize(count, 'memory', 'memories')} {what}", *visit.notices])
