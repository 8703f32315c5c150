"""The routes of the page: the views, and the changes that forms are sent to."""

from __future__ import annotations

from collections.abc import Callable

from memory_sidecar.web import (
    bulk,
    context,
    growth,
    index,
    memories,
    memory,
    search,
    sessions,
)
from memory_sidecar.web.visit import Done, Section, View, Visit

# In the order of the navigation; the first is the start page.
VIEWS: dict[str, Section] = {
    "/memories": Section(memories.show, "Memories", memories.version),
    "/search": Section(search.show, "Search"),
    "/index": Section(index.show, "Index", index.version),
    "/sessions": Section(sessions.show, "Sessions", memories.version),
    "/growth": Section(growth.show, "Growth", growth.version),
    "/context": Section(context.show, "Context", context.version),
    "/sessions/one": Section(sessions.show_one),
    "/index/source": Section(index.source),
    "/index/checks": Section(index.checks),
    "/index/log": Section(index.log, version=index.log_version),
    "/memories/one": Section(memory.show, version=memories.version),
    "/memories/edit": Section(memory.edit),
    "/memories/duplicates": Section(memories.duplicates),
}

# By the path of a change: shows its form again, with all that was written, if it is refused.
FORMS: dict[str, Callable[[Visit, str, int], View]] = {"/memories/save": memory.edit_again}

# A change that returns a view needs a decision: about a conflict, or a plan to confirm.
CHANGES: dict[str, Callable[[Visit], Done | View]] = {
    "/search/right": search.mark_right,
    "/search/wrong": search.unmark_right,
    "/context/mend": context.fix,
    "/sessions/promote": sessions.promote,
    "/index/mend": index.fix,
    "/index/look": index.rescan,
    "/memories/save": memory.save,
    "/memories/pin": memory.pin,
    "/memories/move": memory.move,
    "/memories/share": memory.share,
    "/memories/supersede": memory.supersede,
    "/memories/archive": memory.archive,
    "/memories/restore": memory.restore,
    "/memories/bulk": bulk.plan,
    "/memories/bulk/change": bulk.change,
    "/memories/bulk/undo": bulk.undo,
}
