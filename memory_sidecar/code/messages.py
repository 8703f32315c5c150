"""Finds where a message stands that somebody pasted, or is made, with its values filled in.

`No such option: --verbos` stands in no source, but `"No such option: {name}"` does: a string whose
fixed parts all stand in the message, in their order. So may those of several strings in a row,
which are put together there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_sidecar.code.meant import MAX_CHUNKS_SAYING, ReadChunks
from memory_sidecar.index.words import plain_words

MIN_SAID, MAX_SAID = 3, 40  # words in a row, or in fixed parts together, that tell where they stand
LEAST_SHARE = 0.4  # of the words of a message
MAX_LINES = 20  # of what was pasted, a log or a traceback

_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`([^`]*)`")
_ESCAPED_QUOTE = re.compile(r"\\([\"'`])")
_HOLE = re.compile(r"%(?:\(\w+\))?[-+#0-9.]*[a-zA-Z]|[$#]?\{[^{}]*\}|\\\([^()]*\)|\$\w+|\\[nrt]")


def words_said(text: str) -> str:
    """The words that stand in a row where `text` stands; "" for too few or too many of them."""
    words = [word for word in plain_words(text) if word.isascii()]
    return " ".join(words) if MIN_SAID <= len(words) <= MAX_SAID else ""


def chunks_making(text: str, ids: Sequence[int], read: ReadChunks) -> list[int]:
    """Those of `ids` whose chunks hold strings that make most of a message in `text`, or none."""
    lines = [
        (line, max(MIN_SAID, LEAST_SHARE * words))
        for line in text.lower().splitlines()[:MAX_LINES]
        if (words := len(plain_words(line))) >= MIN_SAID
    ]
    if not lines:
        return []
    made = {chunk.chunk_id: _most_made(lines, chunk.chunk.code) for chunk in read(ids)}
    most = max(made.values(), default=0)
    found = [chunk_id for chunk_id, words in made.items() if words == most]
    return found if most and len(found) <= MAX_CHUNKS_SAYING else []


def _most_made(lines: Sequence[tuple[str, float]], code: str) -> int:
    """How many words of one of `lines`, each with the least that counts, strings in `code` make."""
    found = (str(match[match.lastindex or 0]) for match in _STRING.finditer(code))
    strings = [_fixed_parts(string) for string in found if " " in string]
    made = [(_made(line, strings), least) for line, least in lines]
    return max(words if words >= least else 0 for words, least in made)


def _fixed_parts(string: str) -> list[str]:
    parts = _HOLE.split(_ESCAPED_QUOTE.sub(r"\1", string.lower()))
    return [part for part in map(str.strip, parts) if part]


def _made(line: str, strings: Iterable[Sequence[str]]) -> int:
    """The most words of `line` that strings, of two words or more, make one behind the other."""
    most = words = at = 0
    for parts in strings:
        end = _end_in(line, parts, at)
        if end < 0:
            words, end = 0, _end_in(line, parts, 0)
        if end < 0:
            at = 0
        elif (more := sum(len(plain_words(part)) for part in parts)) > 1:
            words, at = words + more, end
            most = max(most, words)
    return most


def _end_in(line: str, parts: Iterable[str], at: int) -> int:
    """Where `parts` end in `line`, one behind the other from `at`; -1: they do not stand there."""
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return -1
        at += len(part)
    return at
