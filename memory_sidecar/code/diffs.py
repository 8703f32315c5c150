"""Which lines of which files a unified diff changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_OF_THE_NEXT = re.compile(r"\s*(?:@|#?\[)")  # a decorator, an attribute: part of what follows
_ESCAPED = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))")  # in a path that git quotes
_CONTROLS = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


def changed_lines(diff: str) -> Iterator[tuple[str, range]]:
    """The path as it is written and the lines that changed, for each place of a unified diff.

    Lines are those after the change, from 1. Where lines were only taken away, it is the one before
    them. What else stands in the text is passed over.
    """
    path = before = ""
    lines = iter(diff.split("\n"))
    for line in lines:
        if line.startswith("+++ ") and before.startswith("--- "):
            path = _unquoted(line[4:].split("\t")[0].rstrip("\r"))
        elif path and (hunk := _HUNK.match(line)):
            removed, start, added = (int(number or 1) for number in hunk.groups())
            places = _changed_in(lines, removed, start + (added == 0), added)
            yield from ((path, place) for place in places if place)
        before = line


def _changed_in(lines: Iterator[str], before: int, at: int, after: int) -> Iterator[range]:
    """Each run of changed lines of a hunk; it takes no more of `lines` than are the hunk's.

    It has so many lines `before` the change and `after` it, where it begins with line `at`. A run
    may be empty, where there is no line before it.
    """
    changed, start, last = False, at, ""
    while (before > 0 or after > 0) and (line := next(lines, None)) is not None:
        mark = line[:1]
        if mark == "\\":  # no newline at the end of the file
            continue
        if mark in ("+", "-"):
            changed = True
        elif changed and not _OF_THE_NEXT.match(last, 1):
            yield _run(start, at)
            changed = False
        before -= mark != "+"
        after -= mark != "-"
        at += mark != "-"
        if not changed:
            start = at
        last = line
    if changed:
        yield _run(start, at)


def _run(start: int, stop: int) -> range:
    return range(start, stop) if stop > start else range(max(start - 1, 1), start)


def _unquoted(path: str) -> str:
    """A path of git's, which it puts in quotes, and escapes bytes of, unless it is plain ASCII."""
    if len(path) < 2 or not (path[0] == path[-1] == '"'):
        return path
    data = _ESCAPED.sub(
        lambda each: bytes([int(each[1], 8)]) if each[1] else _CONTROLS.get(each[2], each[2]),
        path[1:-1].encode(),
    )
    return data.decode("utf-8", "replace")
