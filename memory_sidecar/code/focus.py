"""What a map is for: a file, the files of a folder, or those that answer a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.graph import Graph
from memory_sidecar.code.navigation import known_file
from memory_sidecar.code.results import CodeHit

AROUND_HITS = 20  # hits of a question that a map starts from


@dataclass(frozen=True, slots=True)
class Focus:
    """The files that a map is for, by source and path, with weights; without any, all alike."""

    files: Mapping[tuple[str, str], float] = field(default_factory=dict)
    kind: Literal["file", "folder", "question"] = "file"


def is_path(text: str) -> bool:
    """Whether the focus of a map is a path and not a question."""
    return "/" in text and not any(map(str.isspace, text))


def focus_at(graph: Graph, source: str, path: str) -> Focus:
    """Return the file at `path`, or the files below that folder. Raises NotFound.

    Of a folder, tests and other asides are left out, unless it has nothing else.
    """
    if not (inside := graph.files_below(source, path)):
        known_file(graph, source, path)
        return Focus({(source, path): 1.0})
    files = [each for each in inside if not is_aside(each)] or inside
    return Focus({(source, each): 1.0 for each in files}, "folder")


def focus_of(hits: Iterable[CodeHit]) -> Focus:
    """Return the files of a question's `hits`, weighted by score and rank."""
    weights: dict[tuple[str, str], float] = {}
    for rank, hit in enumerate(hits, 1):
        weights.setdefault((hit.source, hit.filename), hit.score / rank)
    return Focus(weights, "question")
