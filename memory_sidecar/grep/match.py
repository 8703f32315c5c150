"""Matches a reading of a pattern against a syntax tree.

Code may have what the pattern does not mention: comments, keywords and punctuation (`async`, a last
comma), modifiers, decorators and attributes, types, type parameters, base classes. What the pattern
does mention must be there. All kinds of quotes are equal.

Own code, since ast-grep-py 0.51 has no such leniency: it gives 148 of the 259 answers in
`tests/grep/cases` (191 with the best context and strictness for each), and 6,768 of Django's 26,933
methods for `def $F(self, $$$): $$$`. It reads no GDScript, SQL or TOML, and cannot be stopped: it
holds the GIL for 7 s over 9 KB of `a<b` in C#, which `syntax.parse_with_text` gives up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from typing import TypeAlias

import tree_sitter

from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.grep.nodes import (
    Child,
    children_of,
    has_own_text,
    is_name,
    is_optional,
    without_optional,
)
from memory_sidecar.grep.reading import Reading, names_in
from memory_sidecar.grep.spelling import Branch, Hole, Leaf, Part
from memory_sidecar.grep.taken import Siblings, TakenNodes, letters_of

Bound: TypeAlias = Mapping[str, TakenNodes]
_End: TypeAlias = tuple[int, Bound]  # of a run: the first child after it, and the bindings

MAX_TRIES = 100_000  # of lengths of `$$$` in a text, and some for its size: they take seconds
MAX_KEY_BYTES = 100  # of what is compared by its text rather than by its place


@dataclass(frozen=True, slots=True)
class Found:
    """The byte spans of a match and of what each hole matched."""

    start: int
    stop: int
    head: int  # where the part that the pattern mentions begins, after e.g. attributes
    captures: Mapping[str, tuple[tuple[int, int], ...]]


class TooManyWays(Exception):
    """A text may fit the pattern in too many ways for all to be tried."""


def find(readings: Sequence[Reading], data: bytes, tree: tree_sitter.Tree) -> list[Found]:
    """Return all matches of `readings` in `tree`, which was parsed from `data`, in order.

    Raises TooManyWays.
    """
    matching = (_Matcher(each, data) for each in readings if each.may_match(data))
    return in_order(match for matcher in matching for match in matcher.matches(tree))


def in_order(found: Iterable[Found]) -> list[Found]:
    """Return `found` by place, outer ones first; of several over the same span the first."""
    by_span: dict[tuple[int, int], Found] = {}
    for each in found:
        by_span.setdefault((each.start, -each.stop), each)
    return [by_span[span] for span in sorted(by_span)]


class _Matcher:
    """Matches one reading in one text."""

    def __init__(self, reading: Reading, data: bytes) -> None:
        self._reading = reading
        self.data = data
        self._tries_left = MAX_TRIES + len(data) // 4

    def matches(self, tree: tree_sitter.Tree) -> Iterator[Found]:
        parts = self._reading.parts
        anchor = next(part for part in parts if not isinstance(part, Hole))
        nodes = [node for node in _nodes_like(anchor, tree) if self._may_hold(node)]
        if len(parts) > 1:
            for parent in dict.fromkeys(node.parent for node in nodes):
                if parent is not None:
                    yield from self._sibling_runs(list(children_of(parent)))
            return
        for node in nodes:
            bound = self.match_part(anchor, (node, anchor.field), {})
            if bound is not None:
                yield _found([node], self._head(anchor, node), bound)

    def _head(self, part: Part, node: tree_sitter.Node) -> int:
        """Return where the first child begins that the pattern mentions."""
        if isinstance(part, Branch) and part.parts:
            for child in children_of(node):
                if self.match_part(part.parts[0], child, {}) is not None:
                    return child[0].start_byte
        return node.start_byte

    def _sibling_runs(self, children: Sequence[Child]) -> Iterator[Found]:
        """Yield the runs of children that match all parts, without overlaps."""
        parts = self._reading.parts
        run = _Run(self, parts, children, to_the_end=False)
        start = 0
        while start < len(children):
            end = None
            if self.match_part(parts[0], children[start], {}) is not None:
                end = run.match(start, {})
            if end is None:
                start += 1
            else:
                stop, bound = end
                nodes = [node for node, _ in children[start:stop]]
                yield _found(nodes, nodes[0].start_byte, bound)
                start = stop

    def _may_hold(self, node: tree_sitter.Node) -> bool:
        return len(self._reading.parts) > 1 or self._reading.may_match(
            self.data[node.start_byte : node.end_byte]
        )

    def match_part(self, part: Part, child: Child, bound: Bound) -> Bound | None:
        """Match `child` as `part`; return `bound` with its holes, `None` if it does not match."""
        node, field = child
        if part.field != field:
            return None
        if isinstance(part, Hole):
            # In some grammars `this` and the like are unnamed nodes, but fill a field.
            is_node = node.is_named or field is not None
            return (
                self.bind(part, TakenNodes((node,)), bound)
                if is_node and not node.is_extra
                else None
            )
        if isinstance(part, Leaf):
            if self._is_leaf(part, node):
                return bound
        elif (children := _children_as(part.kind, node)) is not None:
            end = _Run(self, part.parts, children, to_the_end=True).match(0, bound)
            return end[1] if end and not has_own_text(node, self.data) else None
        inner = without_optional(node)
        return None if inner is None else self.match_part(part, (inner, field), bound)

    def bind(self, hole: Hole, taken: TakenNodes, bound: Bound) -> Bound | None:
        """Return `bound` with `taken` for `hole`, or `None` if its name is bound to other text."""
        if not hole.name:
            return bound
        before = bound.get(hole.name)
        if before is None:
            return {**bound, hole.name: taken}
        return bound if before.text(self.data) == taken.text(self.data) else None

    def repeated_bindings(self, bound: Bound) -> tuple[object, ...]:
        """Return the bindings that can still make a part fail: those of repeated names."""
        return tuple(name in bound and self._key_of(bound[name]) for name in self._reading.repeated)

    def _key_of(self, taken: TakenNodes) -> object:
        """Return a key: equal for nodes at the same place, and for short ones of the same text."""
        first, stop = taken.span
        return self.data[first:stop] if stop - first <= MAX_KEY_BYTES else taken.span

    def repeated_in(self, parts: Sequence[Part], bound: Bound) -> bytes:
        """Return the letters that every match of `parts` must hold for some repeated name.

        Those of the longest such name, b"" if none is bound yet.
        """
        names = {*names_in(parts)}.intersection(self._reading.repeated, bound)
        return max(
            (letters_of(bound[name].text(self.data)) for name in names), key=len, default=b""
        )

    def count_try(self) -> None:
        """Count one try of a length of `$$$`. Raises TooManyWays after too many."""
        self._tries_left -= 1
        if self._tries_left < 0:
            raise TooManyWays

    def is_repeated(self, hole: Hole) -> bool:
        return hole.name in self._reading.repeated

    def _is_leaf(self, part: Leaf, node: tree_sitter.Node) -> bool:
        if node.is_named != part.is_named:
            return False
        text = self.data[node.start_byte : node.end_byte]
        if text == part.text:
            return node.type == part.kind or (is_name(node.type) and is_name(part.kind))
        is_quoted = text[-1:] in (b"'", b'"')
        return is_quoted and text.replace(b"'", b'"') == part.text.replace(b"'", b'"')


class _Run:
    """Matches parts with children in order. A `$$$` takes as few siblings as possible."""

    def __init__(
        self,
        matcher: _Matcher,
        parts: Sequence[Part],
        children: Sequence[Child],
        *,
        to_the_end: bool,
    ) -> None:
        self._matcher = matcher
        self._parts = parts
        self._children = children
        self._to_the_end = to_the_end
        self._failed: set[object] = set()  # memo: without it several `$$$` take exponential time

    def match(self, at: int, bound: Bound, number: int = 0) -> _End | None:
        """Match the parts from `number` on with the children from `at` on."""
        state = (at, number, self._matcher.repeated_bindings(bound))
        if state in self._failed:
            return None
        end = self._match(at, bound, number)
        if end is None:
            self._failed.add(state)
        return end

    def _match(self, at: int, bound: Bound, first: int) -> _End | None:
        for number in range(first, len(self._parts)):
            part = self._parts[number]
            if isinstance(part, Hole) and part.many:
                return self._match_many(part, at, bound, number)
            while True:
                if at == len(self._children):
                    return None
                child, at = self._children[at], at + 1
                more = self._matcher.match_part(part, child, bound)
                # If only optional children lie between two equal tokens, the first is as good.
                if not is_optional(child) or (more is not None and isinstance(part, Leaf)):
                    break
                if more is not None and (end := self.match(at, more, number + 1)):
                    return end
            if more is None:
                return None
            bound = more
        if self._to_the_end and not all(map(is_optional, self._children[at:])):
            return None
        return at, bound

    def _match_many(self, hole: Hole, at: int, bound: Bound, number: int) -> _End | None:
        siblings = self._siblings_for(hole.field)
        bindings = self._matcher.repeated_bindings(bound)
        is_repeated = self._matcher.is_repeated(hole)
        if (before := bound.get(hole.name)) is not None:
            stops = siblings.stops_like(before, at)
        else:
            known = self._matcher.repeated_in(self._parts[number + 1 : number + 2], bound)
            stops = self._stops_before(known, siblings.stops(at)) if known else siblings.stops(at)
        for stop in stops:
            self._matcher.count_try()
            if not is_repeated:  # else it depends on what was taken
                state = (stop, hole, number, bindings)
                if state in self._failed:
                    return None
                self._failed.add(state)  # it is asked for again only if this fails
            more = self._matcher.bind(hole, siblings.taken(at, stop), bound)
            if more is not None and (end := self.match(stop, more, number + 1)):
                return end
        return None

    def _stops_before(self, letters: bytes, stops: range) -> Iterator[int]:
        """Yield those of `stops` that a child with `letters` follows, maybe after optional ones.

        Trying all would take quadratic time if each of many statements may begin a match.
        """
        starts, data = self._letters
        stop = stops.start
        while (found := data.find(letters, starts[stop])) >= 0:
            child = bisect_right(starts, found) - 1
            first = child
            while first > stop and is_optional(self._children[first - 1]):
                first -= 1
            for stop in range(first, child + 1):
                if stop not in stops:
                    return
                yield stop
            stop = child + 1

    @cached_property
    def _letters(self) -> tuple[list[int], bytes]:
        """The letters of all children, preceded by where those of each begin and the last end."""
        texts = [letters_of(self._matcher.data[slice(*n.byte_range)]) for n, _ in self._children]
        starts = accumulate((len(text) + 1 for text in texts), initial=0)
        return list(starts), b"\0".join(texts)

    @cached_method
    def _siblings_for(self, field: str | None) -> Siblings:
        """Return what a `$$$` in this field can take: in a body it must not reach the `else`."""
        others = [None not in (of, field) and of != field for _, of in self._children]
        return Siblings(
            self._matcher.data,
            [
                None if is_other or node.is_extra else node
                for (node, _), is_other in zip(self._children, others, strict=True)
            ],
            [
                number
                for number, is_other in enumerate(others)
                if is_other and not is_optional(self._children[number])
            ],
        )


def _nodes_like(part: Leaf | Branch, tree: tree_sitter.Tree) -> list[tree_sitter.Node]:
    """Return the nodes whose kind can be this part, in any order."""
    is_named = isinstance(part, Branch) or part.is_named
    query = _query_for(tree.language, part.kind, is_named)
    return tree_sitter.QueryCursor(query).captures(tree.root_node).get("node", [])


@cache
def _query_for(language: tree_sitter.Language, kind: str, is_named: bool) -> tree_sitter.Query:
    if not is_named:
        escaped = kind.replace("\\", "\\\\").replace('"', '\\"')
        return tree_sitter.Query(language, f'"{escaped}" @node')
    kinds = {kind}
    if is_name(kind):
        kinds |= {
            language.node_kind_for_id(number) or ""
            for number in range(language.node_kind_count)
            if language.node_kind_is_named(number) and language.node_kind_is_visible(number)
        }
        kinds = set(filter(is_name, kinds))
    return tree_sitter.Query(language, f"[{' '.join(f'({kind})' for kind in sorted(kinds))}] @node")


def _children_as(kind: str, node: tree_sitter.Node) -> list[Child] | None:
    """Return the children of `node` if it is of this kind, else `None`.

    In Python, `any(x for x in y)` has a generator in the place of its list of arguments.
    """
    if node.type == kind:
        return list(children_of(node))
    if (kind, node.type) == ("argument_list", "generator_expression"):
        opening, *_, closing = children_of(node)
        return [opening, (node, None), closing]
    return None


def _found(nodes: Sequence[tree_sitter.Node], head: int, bound: Bound) -> Found:
    captures = {name: taken.byte_ranges for name, taken in bound.items()}
    return Found(nodes[0].start_byte, nodes[-1].end_byte, head, captures)
