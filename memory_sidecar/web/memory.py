"""`/memories/one` and `/memories/edit`: a memory whole, what lies around it, and changes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from memory_sidecar.core.errors import Conflict, UsageError
from memory_sidecar.core.results import build_from
from memory_sidecar.memories.around import Around
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.results import Memory
from memory_sidecar.web.guard import Told
from memory_sidecar.web.rendering import MAX_MARKDOWN_CHARACTERS
from memory_sidecar.web.visit import Done, View, Visit


@dataclass(frozen=True, slots=True)
class MemoryShown:
    """A memory, and what lies around it."""

    memory: Memory
    around: Around


@dataclass(frozen=True, slots=True)
class Overtaken:
    """A change that came too late: what is there by now, and what was to be there."""

    current: Memory
    content: str
    summary: str


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A change that was not made, as it was written, and why."""

    problem: str
    agent: str
    path: str
    hash: str
    content: str
    summary: str
    tags: str
    status: str
    supersedes: str  # the memory that becomes one with this, "" for none


def show(visit: Visit) -> View:
    memories, memory = _found(visit)
    return View(
        template="memory.html",
        title=memory.called,
        data=MemoryShown(memory, memories.around(memory)),
        more={"most": MAX_MARKDOWN_CHARACTERS},
    )


def edit(visit: Visit) -> View:
    """The memory as a form; with another one's text below its own, where two become one."""
    memories, memory = _found(visit)
    content = memory.content
    if other := visit.text("with"):
        content = f"{content.rstrip()}\n\n{memories.peek(other).content}"
    if len(content) > MAX_MARKDOWN_CHARACTERS:
        raise UsageError(
            f"{memory.path} is too long to be edited in a browser: {len(content):,} characters",
            hint="change its file in an editor: it is followed",
        )
    form = build_from(
        Unsaved, memory, problem="", content=content, tags=", ".join(memory.tag_list),
        supersedes=other,
    )  # fmt: skip
    return View(
        template="edit.html",
        title=f"Edit {memory.called}",
        data=memory,
        more={"form": form},
    )


def edit_again(visit: Visit, problem: str, status: int) -> View:
    """The form of a change that was refused, with all that was written, even of no memory."""
    words = {each.name: visit.text(each.name) for each in fields(Unsaved)}
    form = Unsaved(**words | {"problem": problem})
    return View(
        template="edit.html", title="Not saved", data=form, more={"form": form}, status=status
    )


# Changes. A form has the hash of what was shown, so that none undoes another that it did not see.


def save(visit: Visit) -> Done | View:
    memories, memory = _found(visit)
    tags = _tags(visit.text("tags"), memory.tag_list)
    changes = Changes(
        content=visit.text("content"),
        summary=visit.text("summary").strip(),
        tags=tags,
        remove_tags=tuple(tag for tag in memory.tag_list if tag not in tags),
        status=visit.text("status").strip().lower(),
        supersedes=visit.texts("supersedes"),
    )
    try:
        changed = memories.update(memory.path, changes, if_hash=visit.text("hash"))
    except Conflict:
        overtaken = Overtaken(memory, visit.text("content"), visit.text("summary"))
        return View(
            template="overtaken.html",
            title="Changed meanwhile",
            data=overtaken,
            more={"most": MAX_MARKDOWN_CHARACTERS},
            status=409,
        )
    return Done(_one(visit), Told("Saved" if changed.changed else "Nothing was to be changed"))


def _tags(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """What `text` names between commas, of which a known tag may have some in it."""
    whole = [tag for tag in known if "," in tag and tag in text]
    for tag in whole:
        text = text.replace(tag, "", 1)
    return (*whole, *(tag.strip() for tag in text.split(",") if tag.strip()))


def pin(visit: Visit) -> Done:
    pinned = visit.text("pinned") == "1"
    _memories(visit).update(visit.text("path"), Changes(pinned=pinned), if_hash=visit.text("hash"))
    return Done(_one(visit), Told("Pinned: it does not fade" if pinned else "It fades again"))


def move(visit: Visit) -> Done:
    moved = _memories(visit).move(visit.text("path"), visit.text("to"))
    return Done(_one(visit, path=moved.path), Told(f"{moved.moved_from} is {moved.path} now"))


def share(visit: Visit) -> Done:
    shared = _memories(visit).share(visit.text("path"))
    return Done(_one(visit), Told(f"All agents read it as {shared.path} now"))


def supersede(visit: Visit) -> Done:
    path, other = visit.text("path"), visit.text("other")
    _memories(visit).update(path, Changes(supersedes=(other,)), if_hash=visit.text("hash"))
    return Done(came_from(visit), Told(f"{path} replaces {other}"))


def archive(visit: Visit) -> Done:
    agent = visit.text("agent")
    gone = _memories(visit).remove(visit.text("path"), if_hash=visit.text("hash"))
    told = Told(
        f"{gone.path} lies in the archive",
        "/memories/restore",
        {"batch": f"{agent} {gone.batch}", "as": visit.text("as"), "to": came_from(visit)},
    )
    return Done(came_from(visit), told)


def restore(visit: Visit) -> Done:
    """Take back what lies in batches of the archive, each after the name of its agent."""
    back: list[str] = []
    for each in visit.text("batch").split(","):
        agent, _, batch = each.partition(" ")
        back += memories_of(visit, agent).restore((), batch=batch).restored
    return Done(came_from(visit), Told(f"Back again: {', '.join(back)}"))


def came_from(visit: Visit) -> str:
    """The list that a form was sent from."""
    to = visit.text("to")
    return to if to.startswith("/memories") else visit.to("/memories")


def memories_of(visit: Visit, agent: str) -> Memories:
    """The memories of that agent. Raises NotFound for one that may not be seen."""
    return Memories(visit.services.agent(visit.seen(agent)), visit)


def _memories(visit: Visit) -> Memories:
    return memories_of(visit, visit.text("agent"))


def _found(visit: Visit) -> tuple[Memories, Memory]:
    memories = _memories(visit)
    return memories, memories.peek(visit.text("path"))


def _one(visit: Visit, *, path: str = "") -> str:
    """The address of the memory that is meant, or of that at `path`."""
    return visit.to("/memories/one", agent=visit.text("agent"), path=path or visit.text("path"))
