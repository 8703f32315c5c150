"""Follows the keys of data from row to row: the path of each, such as `services.web.ports`.

In YAML and JSON keys nest by their indent, in TOML and INI they stand below the header of their
section. So a row tells the path of its key only after the rows before it, or after the scope of its
chunk, from which the indents of the outer keys are estimated. Of several keys in a row only the
first is read, and none in a text that spans rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

NESTING = frozenset({"json", "yaml"})
SECTIONED = frozenset({"godot", "ini", "toml"})

_HEADER = re.compile(r"\[{1,2}([^\[\]].*?)\]{1,2}[ \t]*(?:[#;].*)?")
_MAX_HEADER = 200  # characters, since each chunk of its section has them
_KEY = re.compile(  # in YAML also behind the dashes of lists, in JSON behind brackets
    r"((?:[ \t]|-[ \t]|[{\[])*)(?:\"([^\"]+)\"|'([^']+)'|([\w$@/.][^\s:=\"'{}\[\],]*))[ \t]*"
    r"(?::(?=[ \t\"{\[\d]|$)|=)[ \t]*([|>][-+\d]*[ \t]*(?:#.*)?$)?"
)


class KeyPath:
    """The keys around a row of `language`; `scope`: that of the chunk, if one begins here."""

    def __init__(self, language: str, scope: str = "", first_row: str = "") -> None:
        self._is_sectioned = language in SECTIONED
        self._text_below: int | None = None  # the indent of the key whose value is text below it
        around = scope.split(".") if scope else []
        if self._is_sectioned:
            self._keys = [(-1.0, scope)] if scope else []
            return
        outermost = language == "json"  # inside of brackets, hence indented
        step = _indent(first_row) / (len(around) + outermost or 1)
        self._keys = [(step * at, key) for at, key in enumerate(around, outermost)]

    def around(self, row: str) -> str:
        """Return the path of the keys around `row`, which is not entered yet."""
        indent = _indent(row)
        return ".".join(key for at, key in self._keys if at < indent)[:_MAX_HEADER]

    def enter(self, row: str) -> str:
        """Go on to `row`, the next one; return the path of the key that it begins with, or ""."""
        if not row or row.isspace():
            return ""
        if self._is_sectioned and (header := header_of(row)):
            self._keys = [(-1, header)]
            return header
        if self._text_below is not None and _indent(row) > self._text_below:
            return ""
        self._text_below = None
        found = _KEY.match(row)
        if not found:
            return ""
        indent = len(found[1])
        while self._keys and self._keys[-1][0] >= indent:
            self._keys.pop()
        self._keys.append((indent, found[2] or found[3] or found[4]))
        if found[5]:
            self._text_below = indent
        return ".".join(key for _, key in self._keys)


def scopes_at(rows: Sequence[str], starts: Iterable[int], language: str) -> Iterator[str]:
    """Yield the path of the keys around each of `rows` at `starts`, which ascend."""
    path, next_row = KeyPath(language), 0
    for start in starts:
        for row in rows[next_row:start]:
            path.enter(row)
        next_row = start
        yield path.around(rows[start])


def header_of(text: str) -> str:
    """Return the text in the brackets of a header line; "" for any other line."""
    found = _HEADER.fullmatch(text) if text.startswith("[") else None
    return found[1][:_MAX_HEADER].strip() if found else ""


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))
