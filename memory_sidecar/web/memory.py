"""`/memories/one`, `/memories/edit`: a memory, those linked to it, its form, and its changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memory_sidecar.core.errors import Conflict, UsageError
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.memories.results import Memory
from memory_sidecar.sessions.documents import EVIDENCE_PREFIX
from memory_sidecar.sessions.files import SessionFiles
from memory_sidecar.web.guard import Flash
from memory_sidecar.web.rendering import MAX_MARKDOWN_CHARACTERS
from memory_sidecar.web.visit import Done, View, Visit

MAX_LINKS = 100  # of each kind that are shown; the others are counted

FORM_FIELDS = ("agent", "path", "hash", "content", "summary", "tags", "status", "supersedes")
"""The fields of the form of a memory; `supersedes`: the path of a memory to merge into this one."""


def show(visit: Visit) -> View:
    memories, memory = _find(visit)
    return View(
        template="memory.html",
        title=memory.called,
        data={"memory": memory, "around": memories.around(memory)},
        more={
            "most": MAX_MARKDOWN_CHARACTERS,
            "links": MAX_LINKS,
            "problem": "",
            "to": "",
            "sessions": _sessions_named(visit, memory),
        },
    )


def _sessions_named(visit: Visit, memory: Memory) -> dict[str, str]:
    """Return by `session:ID`, as `memory` names it, the agent that has the session.

    A shared memory names a session of the agent that stored it. Leaves out sessions that are gone.
    """
    named = [
        each
        for targets in memory.relations.values()
        for each in targets
        if each.startswith(EVIDENCE_PREFIX)
    ]
    found: dict[str, str] = {}
    for agent in (memory.agent, memory.source.removeprefix("agent:")):
        if agent in visit.readable:
            files = SessionFiles.of_agent(visit.services.agent(agent).paths)
            there = [each for each in named if files.find(each.removeprefix(EVIDENCE_PREFIX))]
            found |= dict.fromkeys(there, agent)
    return found


def show_again(visit: Visit, problem: str, status: int) -> View:
    """Show a memory whose change was refused, with the path that it was to be moved to."""
    view = show(visit)
    to = visit.text("to") if visit.path.endswith("/move") else ""
    return replace(view, status=status, more={**view.more, "problem": problem, "to": to})


def edit(visit: Visit) -> View:
    """Show the form of a memory; to merge another (`with`), its text is appended."""
    memories, memory = _find(visit)
    content = memory.content
    if other := visit.text("with"):
        content = f"{content.rstrip()}\n\n{memories.peek(other).content}"
    if len(content) > MAX_MARKDOWN_CHARACTERS:
        raise UsageError(
            f"{memory.path} is too long to be edited in a browser: {len(content):,} characters",
            hint="change its file in an editor: it is followed",
        )
    form = {name: getattr(memory, name, "") for name in FORM_FIELDS} | {
        "content": content,
        "summary": _line(memory.summary),
        "tags": ", ".join(memory.tag_list),
        "supersedes": other,
    }
    return View(
        template="edit.html",
        title=f"Edit {memory.called}",
        data=memory,
        more={"form": form, "problem": ""},
    )


def edit_again(visit: Visit, problem: str, status: int) -> View:
    """Show the form of a refused edit again with all that was written, even if no memory exists."""
    form = {name: visit.text(name) for name in FORM_FIELDS}
    return View(
        template="edit.html",
        title="Not saved",
        data={"problem": problem, **form},
        more={"form": form, "problem": problem},
        status=status,
    )


# Changes. A form has the hash of the file that was shown, so that it overwrites no later change.


def save(visit: Visit) -> Done | View:
    memories, memory = _find(visit)
    tags = _tags(visit.text("tags"), memory.tag_list)
    summary, status = visit.text("summary").strip(), visit.text("status").strip().lower()
    changes = Changes(
        content=visit.text("content"),
        summary=None if summary == _line(memory.summary) else summary,
        tags=tags,
        remove_tags=tuple(tag for tag in memory.tag_list if tag not in tags),
        status=None if status == memory.status else status,
        supersedes=visit.texts("supersedes"),
    )
    try:
        changed = memories.update(memory.path, changes, if_hash=visit.text("hash"))
    except Conflict:
        written = {name: visit.text(name) for name in ("content", "summary")}
        return View(
            template="overtaken.html",
            title="Changed meanwhile",
            data={"current": memory, **written},
            more={"most": MAX_MARKDOWN_CHARACTERS},
            status=409,
        )
    return Done(_address(visit), Flash("Saved" if changed.changed else "Nothing was to be changed"))


def _line(summary: str) -> str:
    """Fold `summary` into the one line that the form has for it."""
    return " ".join(summary.split())


def _tags(text: str, known: Iterable[str]) -> tuple[str, ...]:
    """Split `text` at its commas, except those within a known tag."""
    whole = [tag for tag in known if "," in tag and tag in text]
    for tag in whole:
        text = text.replace(tag, "", 1)
    return (*whole, *(tag.strip() for tag in text.split(",") if tag.strip()))


def pin(visit: Visit) -> Done:
    pinned = visit.text("pinned") == "1"
    _memories(visit).update(visit.text("path"), Changes(pinned=pinned))
    return Done(_address(visit), Flash("Pinned: it does not fade" if pinned else "It fades again"))


def move(visit: Visit) -> Done:
    moved = _memories(visit).move(visit.text("path"), visit.text("to"))
    return Done(_address(visit, path=moved.path), Flash(f"{moved.moved_from} is {moved.path} now"))


def share(visit: Visit) -> Done:
    shared = _memories(visit).share(visit.text("path"))
    return Done(_address(visit), Flash(f"All agents read it as {shared.path} now"))


def supersede(visit: Visit) -> Done:
    path, other = visit.text("path"), visit.text("other")
    _memories(visit).update(path, Changes(supersedes=(other,)), if_hash=visit.text("hash"))
    return Done(visit.came_from, Flash(f"{path} replaces {other}"))


def archive(visit: Visit) -> Done:
    try:
        gone = _memories(visit).remove(visit.text("path"), if_hash=visit.text("hash"))
    except Conflict as error:
        raise Conflict(
            f"{visit.text('path')} has changed in the meantime", hint="this is how it is now"
        ) from error
    text, batch = f"{gone.path} lies in the archive", f"{visit.text('agent')} {gone.batch}"
    return Done(visit.came_from, visit.undoable(text, "/memories/restore", batch=batch))


def restore(visit: Visit) -> Done:
    """Restore archived memories: `batch` has `AGENT BATCH`, several between commas."""
    back: list[str] = []
    for each in visit.text("batch").split(","):
        agent, _, batch = each.partition(" ")
        back += memories_of(visit, agent).restore((), batch=batch).restored
    return Done(visit.came_from, Flash(f"Back again: {', '.join(back)}"))


def memories_of(visit: Visit, agent: str) -> Memories:
    """Return the memories of `agent`. Raises NotFound for an agent that may not be seen."""
    return Memories(visit.services.agent(visit.require_readable(agent)), visit)


def _memories(visit: Visit) -> Memories:
    return memories_of(visit, visit.text("agent"))


def _find(visit: Visit) -> tuple[Memories, Memory]:
    memories = _memories(visit)
    return memories, memories.peek(visit.text("path"))


def _address(visit: Visit, *, path: str = "") -> str:
    """Return the address of the memory at `path`, by default that of the form."""
    return visit.to("/memories/one", agent=visit.text("agent"), path=path or visit.text("path"))
