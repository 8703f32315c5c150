"""What a change may break: what uses the definitions that it touched, or took away.

What a file was is made of what it is and the diff, and outlined as a file is that is indexed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.code.diffs import ChangedFile
from memory_sidecar.code.document import DefinitionRow, FileNames
from memory_sidecar.code.graph import Defined, Graph
from memory_sidecar.code.navigation import best_of, distinct, uses_of
from memory_sidecar.code.resolve import Resolver
from memory_sidecar.code.results import Cut, ReferenceHit
from memory_sidecar.core.language import detect_language
from memory_sidecar.core.model import CodeFilter


@dataclass(frozen=True, slots=True)
class Alteration:
    """A file of a source, and what changed in it; all of it where that is not told."""

    source: str
    path: str
    by: ChangedFile | None = None


def impact(
    graph: Graph, changed: Iterable[Alteration], wanted: CodeFilter, *, top_k: int
) -> Cut[ReferenceHit]:
    """What surely or likely uses what `changed` defines, or did."""
    targets = [each for file in changed for each in _touched(graph, file)]
    uses = uses_of(graph, Resolver(graph), distinct(targets))
    return best_of(graph, (use for use in uses if use.confidence != "by name"), wanted, top_k)


def _touched(graph: Graph, file: Alteration) -> Iterator[Defined]:
    at = graph.file(file.source, file.path)
    now = graph.in_file(at) if at else []
    if file.by is None:
        yield from now
        return
    touched = set(_added_to(file.by, [each.row for each in now]))
    yield from (each for each in now if each.row in touched)
    text = "\n".join(file.by.undone(graph.lines_on_disk(file.source, file.path)))
    language = at.file.language if at else detect_language(file.path, text)
    was = FileNames.of(parse_text(text, language)).definitions
    gone = []
    for row in _taken_from(file.by, was):
        same = [each for each in now if each.row.path == row.path]
        if not same:
            gone.append(row)
        yield from [each for each in same if each.row.signature == row.signature] or same
    yield from graph.remember(file.source, file.path, language, gone)


def _added_to(change: ChangedFile, rows: Sequence[DefinitionRow]) -> Iterator[DefinitionRow]:
    for hunk in change.hunks:
        for lines in hunk.after.changed:
            yield from _around(lines, rows)


def _taken_from(change: ChangedFile, rows: Sequence[DefinitionRow]) -> Iterator[DefinitionRow]:
    """What lies around no definition belongs to the one that ends before it, as a last comment."""
    for hunk in change.hunks:
        for lines in hunk.before.changed:
            taken = hunk.before.lines[lines.start - hunk.before.first :][: len(lines)]
            if any(line.strip() for line in taken):
                above = range(lines.start - 1, lines.start)
                yield from _around(lines, rows) or _around(above, rows)


def _around(lines: range, rows: Sequence[DefinitionRow]) -> list[DefinitionRow]:
    """Those that `lines` touch; a class only where its head or none of its parts is."""
    touched = [row for row in rows if row.start_line < lines.stop and lines.start <= row.end_line]
    inside = {row.scope for row in touched}
    return [row for row in touched if row.start_line in lines or row.path not in inside]
