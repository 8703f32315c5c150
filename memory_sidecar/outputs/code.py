"""What the commands about sources and their code print."""

from __future__ import annotations

from typing import Annotated, TypedDict

from memory_sidecar.core.results import about


class Capture(TypedDict):
    """What stood in a hole of a pattern. Counted from 1 in characters."""

    text: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]


class FoundCode(TypedDict):
    """A place that a pattern matched. Counted from 1 in characters."""

    filename: Annotated[str, about("relative to the working directory, absolute outside of it")]
    location: Annotated[str, about("start-end in lines: filename:location opens in an editor")]
    language: str
    code: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]
    captures: Annotated[dict[str, list[Capture]], about("by name: one for $X, any number for $$$X")]


class Source(TypedDict):
    """A registered folder."""

    name: str
    root: Annotated[str, about("absolute")]
    excludes: Annotated[list[str], about("globs as in a .gitignore")]
