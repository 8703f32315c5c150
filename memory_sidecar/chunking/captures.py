"""Reads two captures of the queries for definitions: `@word` and `@lead`.

A `@word` is a keyword that makes a call a definition in Elixir, or a block in HCL; the queries
cannot compare it, since their predicates have no text. A `@lead` is a comment, an attribute or a
decorator above a definition.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import tree_sitter

# The kind of definition by keyword.
_ELIXIR = MappingProxyType(
    {
        **dict.fromkeys(("def", "defp", "defguard", "defguardp", "defdelegate"), "function"),
        **dict.fromkeys(("defmacro", "defmacrop"), "macro"),
        **dict.fromkeys(("@callback", "@macrocallback"), "function"),
        "defmodule": "module",
        "defprotocol": "protocol",
        "defimpl": "impl",
    }
)
_HCL = MappingProxyType(
    {
        **dict.fromkeys(("resource", "data"), "resource"),
        **dict.fromkeys(("variable", "output", "locals"), "variable"),
        "module": "module",
    }
)
DEFINING: Mapping[str, Mapping[str, str]] = MappingProxyType({"elixir": _ELIXIR, "hcl": _HCL})
OWNERS: Mapping[str, str] = MappingProxyType(  # the prefix in a use of the definition: `var.name`
    {"variable": "var", "locals": "local", "module": "module"}
)
LEADS = frozenset({"@deprecated", "@dialyzer", "@doc", "@impl", "@since", "@spec"})
KEYWORDS = frozenset(  # of Elixir, where they parse as calls
    b"alias case cond def defdelegate defexception defguard defguardp defimpl defmacro defmacrop"
    b" defmodule defoverridable defp defprotocol defstruct for if import quote receive require try"
    b" unless unquote unquote_splicing use with".split()
)


def word_of(data: bytes, captures: Mapping[str, Sequence[tree_sitter.Node]]) -> str | None:
    """Return the captured keyword, with the `@` of an attribute; `None` if none was captured."""
    if "word" not in captures:
        return None
    start, stop = captures["word"][0].byte_range
    return data[start - (data[start - 1 : start] == b"@") : stop].decode(errors="replace")


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
