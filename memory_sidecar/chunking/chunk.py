"""Cuts a document's text into chunks, at the boundaries of its kind of document.

Whatever the text is, the chunks are whole lines in order that together hold every line that is
not blank, and none begins or ends with a blank line.

Source code is cut between definitions. A class that fits into a chunk is one; a larger one is cut
between its methods, which share chunks with each other but not with code outside of the class. Only
a definition that is too large and contains no others goes through the splitter. Files that consist
of `[sections]` (Godot scenes and resources, TOML, INI) are cut at headers that begin a line; small
sections share a chunk, whose scope is the header of the first one. The scope of a chunk of YAML or
JSON is the path of the keys around its first row.
Markdown: see `prose`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from memory_sidecar.chunking.keys import NESTING, SECTIONED, header_of, scopes_at
from memory_sidecar.chunking.lines import MAX_BYTES, Lines, Span, pack, split
from memory_sidecar.chunking.outline import Definition, Outline, has_outline, outline
from memory_sidecar.chunking.prose import chunk_markdown
from memory_sidecar.chunking.syntax import dialect_of
from memory_sidecar.core.model import Chunk

_Part: TypeAlias = tuple[Span, Sequence[Definition]]  # with the definitions inside it

_CLOSING = frozenset("{}()[];,")
_PLAIN = ""  # a language without a grammar
_COMMENT = ("#", ";")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The chunks of a text; for code also its outline and its UTF-8 bytes."""

    chunks: tuple[Chunk, ...]
    outline: Outline = field(default_factory=Outline)
    data: bytes = b""


def chunk_text(text: str, language: str) -> tuple[Chunk, ...]:
    """Return the chunks of `text`, as `parse_text` makes them."""
    return parse_text(text, language).chunks


def parse_text(text: str, language: str) -> Parsed:
    """Cut `text`, in a language of `core.language`, into chunks; an unknown one is plain text.

    Chunks are about 1,000 bytes, seldom below 250 or above 1,500. Takes any text. Half a
    surrogate pair becomes U+FFFD, since nothing can store it. Safe to call from many threads.
    """
    lines = Lines(text)
    if has_outline(language):
        language = dialect_of(lines.data, language)
        found = outline(lines.data, language)
        return Parsed(tuple(_chunk_code(lines, language, found)), found, lines.data)
    if language == "markdown":
        return Parsed(tuple(chunk_markdown(lines)))
    if language in SECTIONED:
        return Parsed(tuple(_chunk_sections(lines, language)))
    spans = split(lines, (0, len(lines.rows)), language)
    if language in NESTING:
        return Parsed(tuple(_chunk_keys(lines, spans, language)))
    return Parsed(tuple(lines.chunks(spans)))


def _chunk_code(lines: Lines, language: str, found: Outline) -> Iterator[Chunk]:
    """Yield the chunks of a file with the outline `found`."""
    # Text that our parser gave up on, or mostly misread, could hang the splitter's parser for good.
    language = language if found.is_sound else _PLAIN
    definitions = [each for each in found.definitions if not each.is_part]
    spans = _cut(lines, language, (0, len(lines.rows)), definitions)
    return _describe(lines, spans, definitions)


def _cut(lines: Lines, language: str, span: Span, inner: Sequence[Definition]) -> list[Span]:
    """Cut `span`, which holds the definitions `inner`, into spans that fit a chunk."""
    if lines.size(*span) <= MAX_BYTES:
        return [span]
    if not inner:
        return split(lines, span, language)
    parts = _parts(lines, span, inner)
    return pack(lines, (_cut(lines, language, part, nested) for part, nested in parts))


def _parts(lines: Lines, span: Span, inner: Sequence[Definition]) -> list[_Part]:
    """Return the outermost of `inner`, each with those inside it, and the spans between them.

    Blank rows and closing brackets go with the part that they follow.
    """
    parts: list[_Part] = []
    row, end = span
    for outer, nested in _outermost(inner):
        start, stop = max(outer.start, row), min(outer.stop, end)
        if start < stop:  # else its only row is in the part before
            _add_gap(lines, parts, row, start)
            parts.append(((start, stop), nested if stop - start > 1 else ()))
            row = stop
    _add_gap(lines, parts, row, end)
    return parts


def _add_gap(lines: Lines, parts: list[_Part], start: int, stop: int) -> None:
    if parts and _is_closing(lines.rows[start:stop]):
        (begin, _), nested = parts[-1]
        parts[-1] = (begin, stop), nested
    elif start < stop:
        parts.append(((start, stop), ()))


def _is_closing(rows: Sequence[str]) -> bool:
    """Whether `rows` hold only closing brackets, `end` and blanks."""
    texts = map(str.strip, rows)
    return all(not text or text == "end" or _CLOSING.issuperset(text) for text in texts)


def _outermost(inner: Sequence[Definition]) -> Iterator[tuple[Definition, Sequence[Definition]]]:
    """Yield each of `inner` that lies in no other one, with those that lie in it."""
    index = 0
    while index < len(inner):
        outer, first = inner[index], index + 1
        index = first
        while index < len(inner) and inner[index].start < outer.stop:
            index += 1
        # Definitions that share its rows, as of `attr_reader :a, :b`, do not lie in it.
        rows = outer.start, outer.stop
        yield outer, [each for each in inner[first:index] if (each.start, each.stop) != rows]


def _describe(
    lines: Lines, spans: Sequence[Span], definitions: Sequence[Definition]
) -> Iterator[Chunk]:
    """Yield the spans as chunks, each with the symbols it defines, its scope and signature."""
    named = sorted((d for d in definitions if d.symbol), key=lambda d: d.name_row)
    next_name = next_start = 0
    around: list[Definition] = []
    for span in spans:
        start, stop = lines.trim(*span)
        if start == stop:
            continue
        while next_start < len(definitions) and definitions[next_start].start <= start:
            each = definitions[next_start]
            next_start += 1
            # If several share their rows, as of `int a, b;`, the first one stands for all.
            if not around or (each.start, each.stop) != (around[-1].start, around[-1].stop):
                around.append(each)
        around = [d for d in around if d.stop > start]
        outer = [d for d in around if d.start < start]
        begun = next((d for d in around if d.start == start), None)
        at = begun or (outer[-1] if outer and outer[-1].kind != "module" else None)
        symbols: dict[str, None] = {}
        while next_name < len(named) and named[next_name].name_row < stop:
            symbols[named[next_name].symbol] = None
            next_name += 1
        yield Chunk(
            start + 1,
            stop,
            lines.text(start, stop),
            symbols=tuple(symbols),
            scope=outer[-1].path if outer else "",
            signature=at.signature(lines.data) if at else "",
        )


def _chunk_keys(lines: Lines, spans: Sequence[Span], language: str) -> Iterator[Chunk]:
    """Yield the spans of data as chunks, each with the path of the keys around its first row."""
    filled = [span for span in (lines.trim(*span) for span in spans) if span[0] < span[1]]
    starts = [start for start, _ in filled]
    for span, scope in zip(filled, scopes_at(lines.rows, starts, language), strict=True):
        yield from lines.chunks([span], scope)


def _chunk_sections(lines: Lines, language: str) -> Iterator[Chunk]:
    """Yield the chunks of a file of sections; rows above the first header have no scope."""
    start = 0
    scopes = {start: ""}  # by the first row of each section
    for row, text in enumerate(lines.rows):
        if header := header_of(text):
            start = _with_comments_above(lines, row, start)
            scopes[start] = header
    starts = list(scopes)
    sections = pairwise([*starts, len(lines.rows)])
    for span in pack(lines, (split(lines, section, language) for section in sections)):
        start = starts[bisect_right(starts, lines.trim(*span)[0]) - 1]
        yield from lines.chunks([span], scopes[start])


def _with_comments_above(lines: Lines, row: int, floor: int) -> int:
    while row > floor and lines.rows[row - 1].startswith(_COMMENT):
        row -= 1
    return row
