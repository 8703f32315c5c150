"""Which few lines of a hit show why it is one, and which of their words were asked for. Pure.

A word counts as asked for where one of it and the question's begins with the other's stem, so that
`retries` shows `retry`. Ranking knows better; a reader only wants to see where to look.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memory_sidecar.index.words import STOPWORDS, plain_words

LINES = 5
_WORD = re.compile(r"[A-Z]?[^\W_A-Z]+|[A-Z]+(?![^\W_A-Z])")  # of an identifier: get, URL, Parts
_ENDING = re.compile(r"(?:ies|ing|ed|es|s|y|e)$")
_MIN_STEM = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a text, `first` being the index of the first of them."""

    first: int
    lines: tuple[str, ...]


def stems_of(question: str) -> frozenset[str]:
    """What to look for: the stems of the words of `question` that say something."""
    return frozenset(map(_stem, set(plain_words(question)) - STOPWORDS))


def excerpt(lines: Sequence[str], stems: Collection[str], *, at_most: int = LINES) -> Excerpt:
    """The `at_most` lines that hold the most of `stems`, rare ones first; the beginning for none.

    Blank lines at its edges are left out, so that fewer may come back.
    """
    found = [{_stem(word) for word in plain_words(line)} & set(stems) for line in lines]
    rows = Counter(stem for each in found for stem in each)
    filled = [row for row, line in enumerate(lines) if line.strip()] or [0]

    def worth(start: int) -> tuple[float, int, int]:
        window = found[start : start + at_most]
        inside: set[str] = set().union(*window)
        hits = [row for row, each in enumerate(window) if each]
        # Of equals the one with what is found in its middle, or else the first.
        off = abs(hits[0] + hits[-1] - (at_most - 1)) if hits else 0
        return sum(1 / rows[stem] for stem in inside), len(hits), -off

    best = max(range(max(len(lines) - at_most, 0) + 1), key=worth)
    if not any(found):
        best = filled[0]
    window = range(best, min(best + at_most, len(lines)))
    kept = [row for row in window if lines[row].strip()] or [best]
    return Excerpt(kept[0], tuple(lines[kept[0] : kept[-1] + 1]))


def excerpt_within(lines: Sequence[str], stems: Collection[str], *, characters: int) -> Excerpt:
    """As `excerpt`, of as many lines as come to at most `characters`; none where not one does."""
    at_most = len(lines)
    while at_most > 0:
        found = excerpt(lines, stems, at_most=at_most)
        size = sum(len(line) + 1 for line in found.lines)
        if size <= characters:
            return found
        at_most = min(at_most - 1, at_most * characters // size)
    return Excerpt(0, ())


def spans(line: str, stems: Collection[str]) -> list[tuple[int, int]]:
    """Where in `line` the words with one of `stems` stand."""
    return [found.span() for found in _WORD.finditer(line) if _stem(found[0].lower()) in stems]


def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= _MIN_STEM else word
