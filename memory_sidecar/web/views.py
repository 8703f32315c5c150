"""Every address of the page: what is shown there, and what a form is sent to."""

from __future__ import annotations

from collections.abc import Callable

from memory_sidecar.web import index, memories, memory
from memory_sidecar.web.visit import Done, Section, View, Visit

# In the order of the navigation; the first is where one comes in.
VIEWS: dict[str, Section] = {
    "/memories": Section(memories.show, "Memories", memories.version),
    "/index": Section(index.show, "Index", index.version),
    "/memories/one": Section(memory.show, version=memories.version),
}

# A change that answers with a view has a question: a conflict, or what would be changed.
CHANGES: dict[str, Callable[[Visit], Done | View]] = {
    "/memories/pin": memory.pin,
    "/memories/archive": memory.archive,
    "/memories/restore": memory.restore,
}
