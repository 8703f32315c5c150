"""What a unified diff changed: which lines of which files, and what they were before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_NONE = "/dev/null"
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
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


@dataclass(frozen=True, slots=True)
class Side:
    """What a hunk has of a file, before the change or after it. Lines count from 1."""

    first: int
    lines: tuple[str, ...]
    changed: tuple[range, ...]  # removed, or added


@dataclass(frozen=True, slots=True)
class Hunk:
    """A place that changed, with some lines around."""

    before: Side
    after: Side


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a diff changed."""

    path: str  # as it is written; of one that is gone, the path that it had
    is_gone: bool
    hunks: tuple[Hunk, ...]

    def undone(self, lines: Sequence[str]) -> list[str]:
        """The lines that the file had, which are `lines` now."""
        found = list(lines)
        for hunk in reversed(self.hunks):
            at = hunk.after.first - 1
            found[at : at + len(hunk.after.lines)] = hunk.before.lines
        return found


def changed_files(diff: str) -> Iterator[ChangedFile]:
    """Each file of a unified diff. What else stands in the text is passed over."""
    names: tuple[str, str] | None = None
    hunks: list[Hunk] = []
    last = ""
    lines = iter(diff.split("\n"))
    for line in lines:
        if line.startswith("+++ ") and last.startswith("--- "):
            yield from _file(names, hunks)
            names, hunks = (_path(last), _path(line)), []
        elif names and (found := _HUNK.match(line)):
            hunks.append(_hunk(lines, *(int(number or 1) for number in found.groups())))
        last = line
    yield from _file(names, hunks)


def _file(names: tuple[str, str] | None, hunks: Sequence[Hunk]) -> Iterator[ChangedFile]:
    if names and hunks:
        is_gone = names[1] == _NONE
        yield ChangedFile(names[not is_gone], is_gone, tuple(hunks))


def _hunk(lines: Iterator[str], first: int, before: int, new_first: int, after: int) -> Hunk:
    """It takes no more of `lines` than are the hunk's: so many `before` the change and `after` it.

    Where it has none, what it counts as its first line is the one above.
    """
    first, new_first = first + (before == 0), new_first + (after == 0)
    old: list[tuple[bool, str]] = []
    new: list[tuple[bool, str]] = []
    while (before > len(old) or after > len(new)) and (line := next(lines, None)) is not None:
        mark, text = line[:1], line[1:]
        if mark == "\\":  # no newline at the end of the file
            continue
        if mark != "+":
            old.append((mark == "-", text))
        if mark != "-":
            new.append((mark == "+", text))
    return Hunk(_side(first, old), _side(new_first, new))


def _side(first: int, lines: Sequence[tuple[bool, str]]) -> Side:
    changed: list[range] = []
    start, last = 0, ""
    for at, (is_changed, text) in enumerate([*lines, (False, "")], first):
        if start and not is_changed and not _OF_THE_NEXT.match(last):
            changed.append(range(start, at))
            start = 0
        elif is_changed and not start:
            start = at
        last = text
    return Side(first, tuple(text for _, text in lines), tuple(changed))


def _path(line: str) -> str:
    return _unquoted(line[4:].split("\t", maxsplit=1)[0].rstrip("\r"))


def _unquoted(path: str) -> str:
    """A path of git's, which it puts in quotes, and escapes bytes of, unless it is plain ASCII."""
    if len(path) < 2 or not (path[0] == path[-1] == '"'):
        return path
    data = _ESCAPED.sub(
        lambda each: bytes([int(each[1], 8)]) if each[1] else _CONTROLS.get(each[2], each[2]),
        path[1:-1].encode(),
    )
    return data.decode("utf-8", "replace")
