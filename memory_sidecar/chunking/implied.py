"""Finds the names that code means without their letters: `[Audited]`, and `: base(…)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import tree_sitter

_CLASSES = frozenset(
    f"{kind}_declaration" for kind in ("class", "struct", "record", "record_struct", "enum")
)
_BASES = frozenset({"base_list", "superclass", "delegation_specifiers"})
_KEYWORD = re.compile(rb"\b(this|base|super)\s*\(")
_TYPE = re.compile(rb"[:\s]*(?:extends\s+)?(?:\w+\s*(?:\.|::)\s*)*(\w+)")


def implied_names(
    captures: Mapping[str, Sequence[tree_sitter.Node]], data: bytes
) -> Iterator[tuple[str, int, Literal["type", "call"]]]:
    """Yield the names, with their rows: of each `@suffixed`, and that of a class for `@chained`."""
    for node in captures.get("suffixed", ()):
        yield f"{_text(data[slice(*node.byte_range)])}Attribute", node.start_point.row, "type"
    for node in captures.get("chained", ()):
        keyword = _KEYWORD.search(data, *node.byte_range)
        if keyword and (name := _class_called(node, keyword[1], data)):
            row = node.start_point.row + data.count(b"\n", node.start_byte, keyword.start())
            yield name, row, "call"


def _class_called(node: tree_sitter.Node, keyword: bytes, data: bytes) -> str:
    """Return the own class for `this`, else the first base; empty if another part names it."""
    owner = node.parent
    while owner and owner.type not in _CLASSES:
        owner = owner.parent
    if owner is None:
        return ""
    named = owner.child_by_field_name("name")
    if keyword != b"this":
        named = next((each for each in owner.children if each.type in _BASES), None)
    name = named and _TYPE.match(data, *named.byte_range)
    return _text(name[1]) if name else ""


def _text(name: bytes) -> str:
    return name.decode(errors="replace")
