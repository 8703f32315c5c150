"""How large a chunk is: spans are merged up to a target and split above a maximum.

All sizes are UTF-8 bytes. A span is only ever cut between two lines, so one line that is longer
than the maximum stays one chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import memory_sidecar.core.cocoindex_env  # noqa: F401
from memory_sidecar.chunking.lines import Lines, Span

if TYPE_CHECKING:
    from cocoindex.ops.text import RecursiveSplitter

MIN_BYTES = 250
TARGET_BYTES = 1_000
MAX_BYTES = 1_500

# Our names for languages whose grammar CocoIndex has; the rest it splits as plain text.
_SPLITTABLE = frozenset(
    "bash c cpp csharp css go html java javascript json kotlin lua markdown php python ruby rust"
    " sql swift tsx typescript xml yaml".split()
)

# Some grammars take time that grows with the square of what they cannot make sense of.
_MAX_SYNTAX_BYTES = 32 * 1024


def pack(lines: Lines, parts: Iterable[list[Span]]) -> list[Span]:
    """Adjacent parts, each cut into spans that fit: those left whole share one up to the target."""
    packed: list[Span] = []
    before_is_whole = False
    for spans in parts:
        is_whole = len(spans) == 1
        if is_whole and before_is_whole and lines.size(packed[-1][0], spans[0][1]) <= TARGET_BYTES:
            packed[-1] = (packed[-1][0], spans[0][1])
        else:
            packed += spans
        before_is_whole = is_whole
    return _merge_tiny(lines, packed)


def split(lines: Lines, span: Span, language: str) -> list[Span]:
    """A span that is larger than the maximum, cut where CocoIndex would, between lines."""
    start, stop = span
    if stop - start == 1 or lines.size(start, stop) <= MAX_BYTES:
        return [span]
    if language not in _SPLITTABLE or lines.size(start, stop) > _MAX_SYNTAX_BYTES:
        language = ""
    parts = _splitter().split(
        lines.text(start, stop),
        TARGET_BYTES,
        min_chunk_size=MIN_BYTES,
        chunk_overlap=0,
        language=language or None,
    )
    rows = sorted({start, *(start + part.start.line - 1 for part in parts[1:])})
    pieces: list[Span] = []
    for piece in zip(rows, [*rows[1:], stop], strict=True):
        pieces.extend(_by_lines(lines, piece))
    return _merge_tiny(lines, pieces)


def _merge_tiny(lines: Lines, spans: Iterable[Span]) -> list[Span]:
    """Adjacent spans, tiny ones merged with a neighbour where the two fit the maximum."""
    merged: list[Span] = []
    for start, stop in spans:
        if merged:
            before, at = merged[-1]
            tiny = min(lines.size(before, at), lines.size(start, stop)) < MIN_BYTES
            if tiny and lines.size(before, stop) <= MAX_BYTES:
                merged[-1] = (before, stop)
                continue
        merged.append((start, stop))
    return merged


def _by_lines(lines: Lines, span: Span) -> Iterator[Span]:
    """The span in pieces that fit the target, or whole where it fits the maximum."""
    start, stop = span
    if lines.size(start, stop) > MAX_BYTES:
        for row in range(start + 1, stop):
            if lines.size(start, row + 1) > TARGET_BYTES:
                yield start, row
                start = row
    yield start, stop


@cache
def _splitter() -> RecursiveSplitter:
    from cocoindex.ops.text import RecursiveSplitter

    return RecursiveSplitter()
