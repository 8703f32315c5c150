"""`/memories/one`: a memory whole, with what leads to it, and what can be done to it."""

from __future__ import annotations

from memory_sidecar.core.errors import NotFound
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.handlers import Memories
from memory_sidecar.web.guard import Told
from memory_sidecar.web.visit import Done, View, Visit


def show(visit: Visit) -> View:
    memory = memories_of(visit).look(visit.text("path"))
    return View(template="memory.html", title=memory.title, data=memory)


def pin(visit: Visit) -> Done:
    pinned = visit.text("pinned") == "1"
    changed = memories_of(visit).update(
        visit.text("path"), Changes(pinned=pinned), if_hash=visit.text("hash")
    )
    text = f"{changed.path} is pinned: it does not fade" if pinned else f"{changed.path} fades"
    return Done(one(visit), Told(text))


def archive(visit: Visit) -> Done:
    agent = visit.text("agent")
    gone = memories_of(visit).remove(visit.text("path"), if_hash=visit.text("hash"))
    fields = {"agent": agent, "batch": gone.batch or "", "to": visit.text("to")}
    return Done(
        visit.text("to") or "/memories",
        Told(f"{gone.path} lies in the archive", "/memories/restore", fields),
    )


def restore(visit: Visit) -> Done:
    back = memories_of(visit).restore((), batch=visit.text("batch"))
    return Done("/memories", Told(f"{', '.join(back.restored)} is back"))


def one(visit: Visit) -> str:
    """The address of the memory that is asked for."""
    return visit.to("/memories/one", agent=visit.text("agent"), path=visit.text("path"))


def memories_of(visit: Visit) -> Memories:
    """The memories of the agent that is named. Raises NotFound for one that may not be seen."""
    agent = visit.text("agent")
    if agent not in visit.readable:
        raise NotFound(f"there are no memories of {agent[:64]!r} to see", hint="see as everyone")
    return Memories(visit.services.agent(agent), visit)
