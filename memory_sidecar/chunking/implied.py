"""Finds names that no node holds: the classes of `[Audited]` and `: base(…)`, misread macros.

Also the methods of PHP in `[$this, "pay"]` and `[Cart::class, "pay"]`, whose names are strings, and
those that Ruby names by symbols: `before_action :sign_in`, `cart.try(:total)`, `map(&:total)`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
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
_SENDING = re.compile(  # what is before `:total` in `cart.try(:total)`
    rb"(?:(\w+)[?!]?\s*&?\.\s*|([)\]}])\s*&?\.\s*|(?<![\w.]))"
    rb"(?:method|public_send|respond_to\?|__send__|send|try!?)\s*\(?\s*\Z"
)
_LET = re.compile(rb"(?<![\w.])(?:given!?|let!?|let_it_be|subject!?)\s*\(?\s*\Z")
_SENDING_BYTES = 80  # of a line before a symbol that are looked at
_BLANK = ord(" ")
_KEYWORDS = frozenset(
    b"bool case char const do double else float for if int long return short signed sizeof static"
    b" struct switch typeof unsigned void while".split()
)


def implied_names(
    captures: Mapping[str, Sequence[tree_sitter.Node]],
    data: bytes,
    spelled: bytes,
    defined: Container[int],
) -> Iterator[tuple[str, int, Literal["type", "call", "other"], str]]:
    """Yield the names that `captures` and respelled macros imply: with row, use and receiver.

        capture                    stands for                 and implies
        ────────────────────────────────────────────────────────────────────────────────────────
        `@pair`                    `[$this, "pay"]` of PHP    the method, behind its class
        `@told` `@sent` `@passed`  symbols of Ruby            the methods that they name
        `@suffixed`                `[Audited]` of C#          the class `AuditedAttribute`
        `@chained`                 `: base(…)`, `: this(…)`   the class that is constructed
        `@tokens`                  the value of a macro of C  the names in it, but for `@bound` ones

    Macros of `data` are implied that are blank in `spelled`, which was parsed (`chunking.misread`).
    `defined` holds the first bytes of the names of definitions, which no symbol of Ruby implies.
    """
    for node in captures.get("pair", ()):
        if found := _CALLABLE.fullmatch(data, *node.byte_range):
            row = node.start_point.row + data.count(b"\n", node.start_byte, found.start(2))
            yield found[2].decode(), row, "other", found[1].decode()
    yield from _symbols(captures, data, defined)
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


def _symbols(
    captures: Mapping[str, Sequence[tree_sitter.Node]], data: bytes, defined: Container[int]
) -> Iterator[tuple[str, int, Literal["call", "other"], str]]:
    """Yield the methods that symbols of Ruby name: `@told` a class, `@sent` or `@passed` on.

    Those of a class are its own; a receiver that is no name is `?`.
    """
    for arguments in captures.get("told", ()):
        left = [arguments]
        while left:
            node = left.pop()
            if node.type in ("simple_symbol", "bare_symbol"):
                if node.start_byte in defined:
                    continue
                yield _symbol(node, data), node.start_point.row, "other", "self"
            elif node.type == "pair":
                left += node.children_by_field_name("value")
            elif node.type in ("argument_list", "array", "symbol_array"):
                left += node.named_children
    for node in captures.get("sent", ()):
        start = node.start_byte
        if found := _SENDING.search(data, max(start - _SENDING_BYTES, 0), start):
            receiver = "?" if found[2] else (found[1] or b"self").decode(errors="replace")
            yield _symbol(node, data), node.start_point.row, "call", receiver
    for node in captures.get("passed", ()):
        yield _symbol(node, data), node.start_point.row, "call", "?"


def is_let(node: tree_sitter.Node, data: bytes) -> bool:
    """Whether a symbol of Ruby names what RSpec binds: `let(:cart) { … }`."""
    start = node.start_byte
    return _LET.search(data, max(start - _SENDING_BYTES, 0), start) is not None


def _symbol(node: tree_sitter.Node, data: bytes) -> str:
    return text_of(data, node).lstrip(":").strip("\"'")


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
