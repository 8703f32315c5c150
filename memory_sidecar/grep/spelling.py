"""Parses a pattern in one context of a language, with words in the place of its holes.

    $X       one node; the same name again must be the same text
    $_       one node, whatever it is; so does every name that begins with _
    $$$      any number of siblings, also none; $$$ARGS gives them a name

Names are upper case. A literal dollar is written `\\$`.

Each hole is replaced by a word in one of several spellings (a name, a statement, a typed parameter)
until the parser reports no errors; the node that covers exactly such a word is the hole. This is
tried in each context of the language: see `dialects`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import tree_sitter

from memory_sidecar.chunking.syntax import grammar
from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.dialects import DIALECTS, FRAGMENT
from memory_sidecar.grep.nodes import SEPARATORS, Child, children_of, has_own_text, is_list, is_name

MAX_DEPTH = 80  # of a pattern's tree: matching recurses, a few Python frames a level

_HOLE = re.compile(
    r"\\\$"
    r"|(?<![\w$])\$(?:(?P<many>\$\$)(?P<all>[A-Z_][A-Z0-9_]*)?(?![\w$])(?:[ \t]*;)?"
    r"|(?P<one>[A-Z_][A-Z0-9_]*)(?!\w))"
)


class WrittenHole(NamedTuple):
    """A metavariable as it stands in a pattern."""

    name: str  # "" for an anonymous one
    many: bool
    text: str


@dataclass(frozen=True, slots=True)
class Hole:
    """A metavariable. `many`: it matches any number of siblings."""

    name: str  # "" for an anonymous one
    many: bool
    field: str | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A token that must be present."""

    kind: str
    is_named: bool
    text: bytes
    field: str | None


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a kind whose children match these parts in order."""

    kind: str
    parts: tuple[Part, ...]
    field: str | None


Part: TypeAlias = Hole | Leaf | Branch


class NestedTooDeep(UsageError):
    """A pattern is code in a language, but its nodes are nested too deep to be matched."""


class PatternText:
    """A pattern split at its holes: `pieces` has one more than `holes`."""

    def __init__(self, pattern: str) -> None:
        self.pieces: list[str] = [""]
        self.holes: list[WrittenHole] = []
        last = 0
        for match in _HOLE.finditer(pattern):
            self.pieces[-1] += pattern[last : match.start()]
            last = match.end()
            if match[0] == r"\$":
                self.pieces[-1] += "$"
                continue
            name = match["all"] or match["one"] or ""
            name = "" if name.startswith("_") else name
            self.holes.append(WrittenHole(name, bool(match["many"]), match[0]))
            self.pieces.append("")
        self.pieces[-1] += pattern[last:]

    @property
    def is_open(self) -> bool:
        """Whether the pattern ends with `$$$`, which stands for a body as well."""
        return not self.pieces[-1] and bool(self.holes) and self.holes[-1].many


def best_spelling(text: PatternText, context: str, body: str, language: str) -> Spelled | None:
    """Parse the pattern in a context, with spellings that give no error; else return `None`.

    `body`: what is added to the pattern, which is the head of a definition or a block; "" for none.
    """
    parser = tree_sitter.Parser(grammar(language))
    spellings = DIALECTS[language].spellings
    for ending in (body,) if body else ("", ";"):
        around = context.replace(FRAGMENT, FRAGMENT + ending)
        chosen = [spellings[0]] * len(text.holes)
        best = _parse_spelled(text, around, chosen, parser, is_head=bool(body))
        # From the last hole on: bodies, which accept the fewest spellings, come last.
        for number in reversed(range(len(chosen))):
            for spelling in spellings[1:]:
                if best.faults == 0:
                    break
                tried = [*chosen[:number], spelling, *chosen[number + 1 :]]
                other = _parse_spelled(text, around, tried, parser, is_head=bool(body))
                if other.faults < best.faults:
                    best, chosen = other, tried
        if best.faults == 0 and best.fits():
            return best
    return None


def _parse_spelled(
    text: PatternText,
    context: str,
    spellings: Sequence[str],
    parser: tree_sitter.Parser,
    *,
    is_head: bool,
) -> Spelled:
    before, after = context.split(FRAGMENT)
    data = before.encode()
    start = len(data)
    holes: dict[tuple[int, int], WrittenHole] = {}
    for number, (piece, hole) in enumerate(zip(text.pieces, text.holes, strict=False)):
        data += piece.encode()
        begin = len(data)
        data += spellings[number].format(f"zq{number}qz").encode()
        holes[begin, len(data)] = hole
    data += text.pieces[-1].encode()
    span = (start, len(data))
    data += after.encode()
    return Spelled(data, span, holes, parser.parse(data), is_head)


@dataclass(frozen=True)
class Spelled:
    """A pattern parsed in one context with one spelling of each hole."""

    data: bytes
    span: tuple[int, int]  # of the pattern, in bytes
    holes: dict[tuple[int, int], WrittenHole]  # in order, by span in bytes
    tree: tree_sitter.Tree
    is_head: bool  # whether what stands behind the pattern may be anything

    @cached_property
    def faults(self) -> int:
        """The number of syntax errors, and of holes that are neither a node nor within a token."""
        root = self.tree.root_node
        lost = sum(not self._is_placed(root.descendant_for_byte_range(*at)) for at in self.holes)
        if b"enum" not in self.data:  # Kotlin reads `class A { x }` as one
            lost += sum(node.type == "enum_class_body" for node in _nodes(root))
        if not root.has_error:
            return lost
        return lost + sum(node.is_error or node.is_missing for node in _nodes(root))

    def _is_placed(self, node: tree_sitter.Node | None) -> bool:
        return node is not None and (node.byte_range in self.holes or has_own_text(node, self.data))

    def fits(self) -> bool:
        """Whether the nodes of the pattern stay within it, unlike in `f(` and `a) + (b`.

        Those of a head may go on behind it. Raises NestedTooDeep.
        """
        start, stop = self.span
        if _depth(self._around()) > MAX_DEPTH:
            raise NestedTooDeep(
                f"the pattern is nested deeper than {MAX_DEPTH} levels",
                hint="look for a part of it",
            )
        last = len(self.data) if self.is_head else stop
        return all(start <= child.start_byte and child.end_byte <= last for child, _ in self._top())

    @property
    def kind(self) -> str:
        """The kind of the smallest node that holds the whole pattern."""
        return self._around().type

    def keywords_as_names(self) -> int:
        """Count keywords that are read as names, such as a method `catch`: a less likely reading.

        The `class` of Kotlin's `Cart::class` does not count.
        """
        words = (node.byte_range for node in _nodes(self.tree.root_node) if is_name(node.type))
        return sum(
            self.tree.language.id_for_node_kind(self.data[a:b].decode(), False) is not None
            for a, b in words
            if not self.data.endswith(b"::", 0, a)
        )

    def parts(self) -> tuple[Part, ...]:
        """Return the parts of the pattern: mostly a single node."""
        start, stop = self.span
        node = self._around()
        others = [
            c
            for c in node.children
            if c.end_byte <= start or (c.start_byte >= stop and not self.is_head)
        ]
        is_whole = all(child.type in SEPARATORS for child in others)
        if is_whole and node.parent is not None and not is_list(node):
            return (self._part(node, None),)
        found = [self._part(*child) for child in self._top() if _counts(child)]
        while found and isinstance(found[0], Hole) and found[0].many:
            del found[0]  # at the edges `$$$` makes no difference
        while found and isinstance(found[-1], Hole) and found[-1].many:
            del found[-1]
        return tuple(found)

    def _around(self) -> tree_sitter.Node:
        """Return the smallest node that holds the whole pattern."""
        node = self.tree.root_node.named_descendant_for_byte_range(*self.span)
        assert node is not None
        return node

    def _top(self) -> list[Child]:
        """Return the children of `_around` within the pattern; itself if it has no children."""
        start, stop = self.span
        children = list(children_of(self._around())) or [(self._around(), None)]
        return [(c, f) for c, f in children if c.end_byte > start and c.start_byte < stop]

    def _part(self, node: tree_sitter.Node, field: str | None) -> Part:
        hole = self.holes.get(node.byte_range)
        if hole is not None and (hole.many or not is_list(node)):
            return Hole(hole.name, hole.many, field)
        if has_own_text(node, self.data):
            return Leaf(node.type, node.is_named, self._literal(node), field)
        stop = self.span[1] if self.is_head else len(self.data)
        children = (child for child in children_of(node) if _counts(child))
        parts = [self._part(*child) for child in children if child[0].start_byte < stop]
        if self.is_head and node.end_byte >= stop:
            parts.append(Hole("", many=True, field=None))
        return Branch(node.type, tuple(parts), field)

    def _literal(self, node: tree_sitter.Node) -> bytes:
        """Return the text of a token as written: a hole inside a string is plain text."""
        start, stop = node.byte_range
        text, last = b"", start
        for (hole_start, hole_stop), hole in self.holes.items():
            if start <= hole_start and hole_stop <= stop:
                text += self.data[last:hole_start] + hole.text.encode()
                last = hole_stop
        return text + self.data[last:stop]


def _counts(child: Child) -> bool:
    """Whether a child takes part in matching: no comment, and not empty."""
    node, _ = child
    return not node.is_extra and node.start_byte < node.end_byte


def _nodes(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _depth(node: tree_sitter.Node) -> int:
    deepest, row = 0, [node]
    while row := [child for each in row for child in each.children]:
        deepest += 1
    return deepest
