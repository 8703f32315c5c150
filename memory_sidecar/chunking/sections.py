"""Cuts what consists of `[sections]`: Godot scenes and resources, TOML, INI.

A header counts at the beginning of a line. Small sections share a chunk, whose scope is the
header of the first.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from memory_sidecar.chunking.lines import Lines, pack, split
from memory_sidecar.core.model import Chunk

_HEADER = re.compile(r"\[{1,2}([^\[\]].*?)\]{1,2}[ \t]*(?:[#;].*)?")
_COMMENT = ("#", ";")


def chunk_sections(lines: Lines, language: str) -> Iterator[Chunk]:
    """The chunks of a file that is cut at its headers; what precedes the first has no scope."""
    starts, scopes = [0], [""]
    for row, text in enumerate(lines.rows):
        if header := _header(text):
            start = _with_comments_above(lines, row, starts[-1])
            if start == starts[-1]:
                scopes[-1] = header
            else:
                starts.append(start)
                scopes.append(header)
    sections = pairwise([*starts, len(lines.rows)])
    for span in pack(lines, (split(lines, section, language) for section in sections)):
        yield from lines.chunks([span], scopes[bisect_right(starts, lines.trim(*span)[0]) - 1])


def _header(text: str) -> str:
    """What stands in the brackets of a header; "" in any other line."""
    found = _HEADER.fullmatch(text) if text.startswith("[") else None
    return found[1].strip() if found else ""


def _with_comments_above(lines: Lines, row: int, floor: int) -> int:
    while row > floor and lines.rows[row - 1].startswith(_COMMENT):
        row -= 1
    return row
