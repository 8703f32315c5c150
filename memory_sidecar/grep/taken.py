"""The siblings in a syntax tree that holes of a pattern take, without a copy for each try."""

from __future__ import annotations

import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import tree_sitter

_BLANKS = string.whitespace.encode()


@dataclass(frozen=True, slots=True)
class TakenNodes:
    """The siblings that a hole took: those of `nodes` from `start` to `stop`."""

    nodes: Sequence[tree_sitter.Node]
    start: int = 0
    stop: int = 1

    @property
    def span(self) -> tuple[int, int]:
        """Their first byte, and the byte after the last; equal if there are none."""
        if self.start == self.stop:
            return 0, 0
        return self.nodes[self.start].start_byte, self.nodes[self.stop - 1].end_byte

    @property
    def byte_ranges(self) -> tuple[tuple[int, int], ...]:
        return tuple(node.byte_range for node in self.nodes[self.start : self.stop])

    def text(self, data: bytes) -> bytes:
        """Return their text, with each run of blanks as one."""
        first, stop = self.span
        return b" ".join(data[first:stop].split())


class Siblings:
    """The children of a node that a `$$$` can take, from any one of them on."""

    def __init__(
        self, data: bytes, children: Sequence[tree_sitter.Node | None], barriers: Sequence[int]
    ) -> None:
        """`children`: `None` for one that is passed over. `barriers`: where a `$$$` must end."""
        self._data = data
        self._nodes = [node for node in children if node is not None]
        self._before = list(accumulate((node is not None for node in children), initial=0))
        self._barriers = [*barriers, len(children)]

    def taken(self, start: int, stop: int) -> TakenNodes:
        """Return what is taken of the children from `start` to `stop`."""
        return TakenNodes(self._nodes, self._before[start], self._before[stop])

    def stops(self, start: int) -> range:
        """Return the children before which a `$$$` that begins with `start` can end."""
        return range(start, self._barriers[bisect_left(self._barriers, start)] + 1)

    def stops_like(self, other: TakenNodes, start: int) -> Iterable[int]:
        """Return those of `stops` up to which as many letters are taken as `other` has."""
        stops = self.stops(start)
        count = len(letters_of(self._data[slice(*other.span)]))

        def letters(stop: int) -> int:
            first, end = self._before[start], self._before[stop]
            return self._letters[end - 1][1] - self._letters[first][0] if first < end else 0

        return stops[
            bisect_left(stops, count, key=letters) : bisect_right(stops, count, key=letters)
        ]

    @cached_property
    def _letters(self) -> list[tuple[int, int]]:
        """How many letters are before and up to the end of each node, blanks not counted."""
        counts, count, last = [], 0, 0
        for node in self._nodes:
            count += len(letters_of(self._data[last or node.start_byte : node.start_byte]))
            before, last = count, node.end_byte
            count += len(letters_of(self._data[node.start_byte : last]))
            counts.append((before, count))
        return counts


def letters_of(text: bytes) -> bytes:
    """Return `text` without its blanks."""
    return text.translate(None, _BLANKS)
