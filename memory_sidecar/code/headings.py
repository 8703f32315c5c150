"""The outline of a file: its definitions or, if it is prose, its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, takewhile
from typing import Any

from memory_sidecar.chunking.prose import LEVELS, MarkdownSection, rst_sections_of, sections_of
from memory_sidecar.code.graph import FUNCTIONS, TYPES, Graph
from memory_sidecar.code.navigation import known_file
from memory_sidecar.code.results import DefinitionHit, DefinitionPlace, MapEntry
from memory_sidecar.core.language import detect_language

MAX_CUT = 100  # characters of a signature in a long outline
_ROW = len("12345-12345  \n")  # characters of a row beside its signature and indentation


def outline_file(graph: Graph, source: str, path: str) -> list[DefinitionHit]:
    """Return the definitions or headings of a file, in order. Raises NotFound if it has none."""
    headings = list(_headings(graph, source, path))
    if headings and not graph.is_deleted(source, path):
        return headings
    return [
        each.as_place(DefinitionHit, confidence="exact", others=0)
        for each in graph.definitions_in(known_file(graph, source, path))
    ]


def outline_depths(outline: Iterable[DefinitionHit]) -> list[int]:
    """Return how deep each definition lies, from 0; a namespace around all does not count."""
    depths = [each.enclosing.count(".") + 1 if each.enclosing else 0 for each in outline]
    least = min(depths, default=0)
    return [depth - least for depth in depths]


def names_around(hits: Sequence[DefinitionPlace]) -> Iterator[str]:
    """Yield what encloses each of `hits`, all of one file; "" where the hits above it show that.

    Rust writes methods in an `impl` and Swift in an `extension`, which define nothing: below
    another type they look like its own. A receiver shows it, too: `func (c *Cart) Add()`.
    """
    levels = zip(*(each.enclosing.split(".") for each in hits), strict=False)
    of_all = takewhile(lambda level: len(set(level)) == 1, levels)
    shown = ".".join(level[0] for level in of_all)
    for each in hits:
        around, before_name = each.enclosing, each.signature.partition(each.name)[0]
        receiver = rf"\b{re.escape(around.rpartition('.')[2])}\b"
        is_shown = not around or f"{shown}.".startswith(f"{around}.")
        yield "" if is_shown or re.search(receiver, before_name) else around
        shown = f"{around}.{each.name}" if around else each.name


def longest_within(outline: Sequence[DefinitionHit], characters: int) -> list[DefinitionHit]:
    """Return those of a long `outline` with the most lines, in order, as many as fit; at least one.

    So the fields of a large file go first, and its functions are told to its end. Of as many lines,
    types and functions stay first. Signatures are cut to MAX_CUT.
    """
    around = [_ROW + 2 * depth for depth in outline_depths(outline)]
    short = [replace(each, signature=_cut(each.signature)) for each in outline]

    def order(row: int) -> tuple[int, bool]:
        each = short[row]
        return each.start_line - each.end_line, each.kind not in TYPES | FUNCTIONS

    longest = sorted(range(len(short)), key=order)
    ends = accumulate(around[row] + len(short[row].signature) for row in longest)
    fitting = sum(end <= characters for end in ends)
    return [short[row] for row in sorted(longest[: max(fitting, 1)])]


def _cut(signature: str) -> str:
    return signature if len(signature) <= MAX_CUT else f"{signature[: MAX_CUT - 1]}…"


def map_lines(entries: Sequence[MapEntry]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a map that show `entries`, all of one file: a line number, and a text.

    The number is "" where the text says what encloses the next entry.
    """
    for entry, around in zip(entries, names_around(entries), strict=True):
        if around:
            yield "", f"in {around}"
        yield str(entry.start_line), "  " * bool(entry.enclosing) + entry.signature


def _headings(graph: Graph, source: str, path: str) -> Iterator[DefinitionHit]:
    """Yield the headings of a file of prose, each with the lines up to the next of its level."""
    language, is_rst = detect_language(path), path.lower().endswith(".rst")
    if not is_rst and language != "markdown":
        return
    rows = _indexed_rows(graph, source, path)
    found = rst_sections_of(rows) if is_rst else sections_of(rows)
    sections = [each for each in found if each.level]
    for section, stop in zip(sections, stops_of(sections, len(rows)), strict=True):
        last = stop
        while not rows[last - 1].strip():
            last -= 1
        yield DefinitionHit(
            filename=path,
            start_line=section.start + 1,
            end_line=last,
            name=section.title,
            kind="heading",
            enclosing="",
            signature=f"{'#' * section.level} {section.title}",
            source=source,
            language=language,
            confidence="exact",
            others=0,
        )


def stops_of(sections: Sequence[MarkdownSection], end: int) -> list[int]:
    """Return the row after each section and its subsections, in linear time; `end`: of the file."""
    stops: list[int] = []
    next_start = [end] * LEVELS  # of the sections of each level, from 1
    for section in reversed(sections):
        stops.append(min(next_start[: section.level]))
        next_start[section.level - 1] = section.start
    return stops[::-1]


def _indexed_rows(graph: Graph, source: str, path: str) -> list[str]:
    """Return the lines of a file as indexed; empty ones between chunks."""
    chunks: Any = graph.connection.execute(
        "SELECT start_line, code FROM code_chunks WHERE source = ? AND filename = ?"
        " ORDER BY start_line",
        (source, path),
    )
    rows: list[str] = []
    for start, code in chunks:
        rows[start - 1 :] = [*[""] * (start - 1 - len(rows)), *code.split("\n")]
    return rows
