"""A place in a source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file of a source, from 1."""

    source: str
    path: str
    line: int
