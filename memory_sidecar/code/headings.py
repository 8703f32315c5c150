"""The outline of a file: its definitions or, if it is Markdown, its headings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memory_sidecar.chunking.prose import MarkdownSection, sections_of
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.navigation import known_file
from memory_sidecar.code.results import DefinitionHit

LEVELS = 6  # of headings


def outline_file(graph: Graph, source: str, path: str) -> list[DefinitionHit]:
    """Return the definitions or headings of a file, in order. Raises NotFound if it has none."""
    if headings := list(_headings(graph, source, path)):
        return headings
    return [
        each.as_place(DefinitionHit, confidence="exact", others=0)
        for each in graph.definitions_in(known_file(graph, source, path))
    ]


def _headings(graph: Graph, source: str, path: str) -> Iterator[DefinitionHit]:
    """Yield the headings of a Markdown file, each with the lines up to the next of its level."""
    rows = _indexed_rows(graph, source, path)
    sections = [each for each in sections_of(rows) if each.level]
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
            language="markdown",
            confidence="exact",
            others=0,
        )


def stops_of(sections: Sequence[MarkdownSection], end: int) -> list[int]:
    """Return the row after each section and those below it, in linear time; `end` is the last."""
    stops: list[int] = []
    next_start = [end] * LEVELS  # of the sections of each level, from 1
    for section in reversed(sections):
        stops.append(min(next_start[: section.level]))
        next_start[section.level - 1] = section.start
    return stops[::-1]


def _indexed_rows(graph: Graph, source: str, path: str) -> list[str]:
    """Return the lines of a Markdown file as indexed; empty ones between chunks."""
    chunks: Any = graph.connection.execute(
        "SELECT start_line, code FROM code_chunks WHERE source = ? AND filename = ?"
        " AND language = 'markdown' ORDER BY start_line",
        (source, path),
    )
    rows: list[str] = []
    for start, code in chunks:
        rows[start - 1 :] = [*[""] * (start - 1 - len(rows)), *code.split("\n")]
    return rows
