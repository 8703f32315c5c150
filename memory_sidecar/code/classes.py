"""Tells what a class has beyond its own lines: calls of it are those of its constructors."""

from __future__ import annotations

from memory_sidecar.code.graph import Defined, Graph

# How a constructor is called where it has not the name of its class.
_CONSTRUCTORS = {
    "java": frozenset({"constructor"}),  # a second one of Kotlin
    "javascript": frozenset({"constructor"}),
    "php": frozenset({"__construct"}),
    "python": frozenset({"__init__", "__new__"}),
    "swift": frozenset({"init"}),
}


def made_by(graph: Graph, defined: Defined) -> list[Defined]:
    """Return the class whose objects the constructor `defined` makes, in all its parts."""
    owner = defined.owner
    if not owner or defined.row.name not in (owner, *_CONSTRUCTORS.get(defined.at.family, ())):
        return []
    return [
        each
        for each in graph.defined(owner)
        if each.is_type
        and each.row.path == defined.row.scope
        and (each.at.file.source, each.at.family) == (defined.at.file.source, defined.at.family)
    ]
