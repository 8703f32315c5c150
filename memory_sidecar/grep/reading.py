"""Reads a pattern, code with holes, as the syntax trees that it may stand for in one language.

A pattern may be the head of a definition or of a block, with anything behind it: `class $C : Cart`,
`if err != nil`. It is read as one with a body added, unless it is something else by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.dialects import DIALECTS
from memory_sidecar.grep.spelling import (
    Branch,
    Hole,
    Leaf,
    NestedTooDeep,
    Part,
    PatternText,
    Spelled,
    best_spelling,
)

_WORD = re.compile(rb"\w[^\n\"']*")  # `f"` is none: all kinds of quotes are equal


@dataclass(frozen=True, slots=True)
class Reading:
    """One tree that a pattern may stand for; several parts are adjacent siblings."""

    parts: tuple[Part, ...]
    words: tuple[bytes, ...]  # each matching text contains all of them
    repeated: tuple[str, ...]  # names of several holes, which must match the same text

    @classmethod
    def of(cls, parts: tuple[Part, ...]) -> Reading:
        names = Counter(names_in(parts))
        repeated = (name for name, count in names.items() if count > 1)
        texts = {each.text for each in _ends(parts) if isinstance(each, Leaf)}
        words = sorted(filter(_WORD.fullmatch, texts), key=len, reverse=True)  # long ones are rare
        return cls(parts, tuple(words), tuple(repeated))

    @property
    def is_anything(self) -> bool:
        return all(isinstance(part, Hole) for part in self.parts)

    def may_match(self, data: bytes) -> bool:
        """Whether `data` holds all words: a quick check without false negatives."""
        return all(word in data for word in self.words)


def read_pattern(pattern: str, language: str) -> tuple[Reading, ...]:
    """Return all readings of `pattern` in that language; none if it is no code there.

    Raises UsageError if it would match everything, and NestedTooDeep.
    """
    text = PatternText(Lines(pattern.strip()).data.decode())
    wholes, too_deep = _spelled(text, "", language)
    body = "" if text.is_open else DIALECTS[language].body
    heads = _spelled(text, body, language)[0] if body else []
    found = [*wholes]
    first = min((number for number, _ in wholes), default=0)
    likely = [(each.kind, len(each.parts()) == 1) for number, each in wholes if number == first]
    is_head = {kind for kind, _ in likely} <= {each.kind for _, each in heads}
    for number, head in heads:
        is_meant = is_head or _begins_with_keyword(head.parts())
        if is_meant and (head.kind, False) not in likely:
            found.append((first if wholes else number, head))
    ranked: dict[tuple[int, int], dict[tuple[Part, ...], None]] = {}
    for number, each in found:
        parts = each.parts()
        rank = (each.keywords_as_names() + _declarators(parts), number)
        ranked.setdefault(rank, {})[parts] = None
    if not ranked:
        if too_deep is not None:
            raise too_deep
        return ()
    readings = [Reading.of(parts) for parts in ranked[min(ranked)]]
    specific = [reading for reading in readings if not reading.is_anything]
    if not specific:
        raise UsageError("the pattern would match everything", hint="name something beside `$X`")
    return tuple(specific)


def _spelled(
    text: PatternText, body: str, language: str
) -> tuple[list[tuple[int, Spelled]], NestedTooDeep | None]:
    """Parse the pattern, with `body` added, in all contexts: each with the number of its row.

    Also return the error of contexts in which it is nested too deep.
    """
    found: list[tuple[int, Spelled]] = []
    too_deep: NestedTooDeep | None = None
    for number, row in enumerate(DIALECTS[language].contexts):
        for context in row:
            try:
                spelled = best_spelling(text, context, body, language)
            except NestedTooDeep as error:
                too_deep = error
                continue
            if spelled is not None:
                found.append((number, spelled))
    return found, too_deep


def _begins_with_keyword(parts: Sequence[Part]) -> bool:
    """Whether the pattern is a node with a word of the language, such as `class`, as a child."""
    first = parts[0].parts if isinstance(parts[0], Branch) else ()
    return any(isinstance(p, Leaf) and not p.is_named and p.text.isalpha() for p in first)


def _declarators(parts: tuple[Part, ...]) -> int:
    """Count parts read as declarators, as C may read `f(x)`: a less likely reading."""
    return sum(
        isinstance(part, Branch)
        and (
            part.kind.endswith("declarator")
            or any(isinstance(p, Branch) and p.kind.startswith("abstract_") for p in part.parts)
        )
        for part in parts
    )


def _ends(parts: Sequence[Part]) -> Iterator[Hole | Leaf]:
    """Yield what has no parts of its own, in order."""
    for part in parts:
        if isinstance(part, Branch):
            yield from _ends(part.parts)
        else:
            yield part


def names_in(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the names of the holes in `parts`, in order."""
    return (each.name for each in _ends(parts) if isinstance(each, Hole) and each.name)
