"""Finds names that no node holds: the classes of `[Audited]` and `: base(…)`, misread macros.

Also the methods of PHP in `[$this, "pay"]` and `[Cart::class, "pay"]`, whose names are strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import tree_sitter

from memory_sidecar.chunking.syntax import text_of

_CLASSES = frozenset(
    f"{kind}_declaration" for kind in ("class", "struct", "record", "record_struct", "enum")
)
_BASES = frozenset({"base_list", "superclass", "delegation_specifiers"})
_KEYWORD = re.compile(rb"\b(this|base|super)\s*\(")
_TYPE = re.compile(rb"[:\s]*(?:extends\s+)?(?:\w+\s*(?:\.|::)\s*)*(\w+)")
_MACRO = re.compile(rb"\b([A-Z_][A-Z\d_]{3,})\b(\s*\()?")
_TOKEN = re.compile(  # of a macro of C: no name of a member, none in a string or a comment
    # A quote without its end takes all that follows, which else would be searched from each quote.
    rb"(?:(?<![\w.>])|(?<=[^-]>))([A-Za-z_]\w*)(\s*\()?|'(?:[^'\\\n]|\\.)'"
    rb"|\"(?:[^\"\\]|\\.)*\"?|//.*|/\*(?s:.*?)\*/"
)
_CALLABLE = re.compile(  # `[$this, "pay"]`
    rb"\[\s*(?:\$(?=this\b)|[\w\\]*\\)?(\w+)(?:(?<=this)|::class)\s*,\s*[\"'](\w+)[\"']\s*,?\s*\]"
)
_BLANK = ord(" ")
_KEYWORDS = frozenset(
    b"bool case char const do double else float for if int long return short signed sizeof static"
    b" struct switch typeof unsigned void while".split()
)


def implied_names(
    captures: Mapping[str, Sequence[tree_sitter.Node]], data: bytes, spelled: bytes
) -> Iterator[tuple[str, int, Literal["type", "call", "other"], str]]:
    """Yield the names with their rows, uses and receivers: of `@suffixed`, of `@chained` classes.

    Also those in `@tokens`, the methods in `@pair`, and the macros of `data` that are blank in
    `spelled`, which was parsed.
    """
    for node in captures.get("pair", ()):
        if found := _CALLABLE.fullmatch(data, *node.byte_range):
            row = node.start_point.row + data.count(b"\n", node.start_byte, found.start(2))
            yield found[2].decode(), row, "other", found[1].decode()
    for node in captures.get("suffixed", ()):
        yield f"{text_of(data, node)}Attribute", node.start_point.row, "type", ""
    for node in captures.get("chained", ()):
        keyword = _KEYWORD.search(data, *node.byte_range)
        if keyword and (name := _class_called(node, keyword[1], data)):
            row = node.start_point.row + data.count(b"\n", node.start_byte, keyword.start())
            yield name, row, "call", ""
    if "tokens" in captures:
        bound = captures.get("bound", ())
        yield from ((*each, "") for each in _tokens(captures["tokens"], bound, data))
    row = counted = 0  # `row` is that of the byte `counted`
    for macro in _MACRO.finditer(data) if spelled != data else ():
        start = macro.start()
        if spelled[start] == _BLANK:
            row += data.count(b"\n", counted, start)
            counted = start
            yield macro[1].decode(), row, "call" if macro[2] else "other", ""


def _tokens(
    macros: Iterable[tree_sitter.Node], bound: Iterable[tree_sitter.Node], data: bytes
) -> Iterator[tuple[str, int, Literal["call", "other"]]]:
    """Yield the names in the values of `macros` that are not `bound` as variables."""
    skipped = _KEYWORDS.union([data[slice(*each.byte_range)] for each in bound])
    for node in macros:
        row, (counted, stop) = node.start_point.row, node.byte_range
        for token in _TOKEN.finditer(data, counted, stop):
            if token[1] and token[1] not in skipped:
                row += data.count(b"\n", counted, token.start())
                counted = token.start()
                yield token[1].decode(), row, "call" if token[2] else "other"


def _class_called(node: tree_sitter.Node, keyword: bytes, data: bytes) -> str:
    """Return the own class for `this`, else the first base, "" if this part of it names none."""
    owner = node.parent
    while owner and owner.type not in _CLASSES:
        owner = owner.parent
    if owner is None:
        return ""
    named = owner.child_by_field_name("name")
    if keyword != b"this":
        named = next((each for each in owner.children if each.type in _BASES), None)
    name = named and _TYPE.match(data, *named.byte_range)
    return name[1].decode() if name else ""
