"""Keeps the leads of definitions: comments, attributes and decorators above them."""

from __future__ import annotations

from bisect import bisect_left, insort

import tree_sitter


class Leads:
    """The leads of one file, looked up by their last row and their bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._by_last_row: dict[int, tree_sitter.Node] = {}
        self._ends: dict[int, int] = {}  # first byte → byte after
        self._comments: list[tuple[int, int]] = []  # first byte, byte after; sorted

    def add(self, node: tree_sitter.Node) -> None:
        row, column = node.end_point
        self._by_last_row.setdefault(row if column else row - 1, node)
        start, end = node.byte_range
        self._ends[start] = end
        if "comment" in node.type:
            insort(self._comments, (start, end))

    def first_row(self, row: int) -> int:
        """Return the first row of the unbroken run of leads directly above `row`; `row` if none."""
        while node := self._by_last_row.get(row - 1):
            above, column = node.start_point
            start = node.start_byte
            if self._data[start - column : start].strip() not in (b"", b"template"):
                break  # after code in its row: belongs to that
            row = above
        return row

    def skip(self, byte: int) -> int:
        """Return the first byte at or after `byte` that is neither lead nor the space after one."""
        while end := self._ends.get(byte):
            byte = end
            while self._data[byte : byte + 1].isspace():
                byte += 1
        return byte

    def between_comments(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """Return the byte ranges between `start` and `stop` that are not comments."""
        parts = []
        for first, end in self._comments[bisect_left(self._comments, (start, start)) :]:
            if first >= stop:
                break
            parts.append((start, first))
            start = end
        return (*parts, (start, stop))
