"""Every address of the page: what is shown there, and what a form is sent to."""

from __future__ import annotations

from collections.abc import Callable

from memory_sidecar.web import index, memories, memory, search
from memory_sidecar.web.visit import Done, Section, View, Visit

# In the order of the navigation; the first is where one comes in.
VIEWS: dict[str, Section] = {
    "/memories": Section(memories.show, "Memories", memories.version),
    "/search": Section(search.show, "Search"),
    "/index": Section(index.show, "Index", index.version),
    "/memories/one": Section(memory.show, version=memories.version),
}

# A change that answers with a view has a question: a conflict, or what would be changed.
CHANGES: dict[str, Callable[[Visit], Done | View]] = {
    "/search/right": search.right,
    "/search/wrong": search.wrong,
    "/memories/pin": memory.pin,
    "/memories/archive": memory.archive,
    "/memories/restore": memory.restore,
}
