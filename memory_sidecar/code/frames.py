"""Finds the methods that the frames of a stack trace name, where they have no lines.

.NET without debug symbols, Java's `Unknown Source` and bundled JavaScript print only names. What a
compiler makes of a method stands for it: `Cart.<Add>d__12.MoveNext` is the body of an async `Add`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memory_sidecar.code.directory import Line
from memory_sidecar.code.rows import CodeRows

MAX_FRAMES = 20  # that are looked up

_FRAME = re.compile(r"^[ \t]*at (?:async |new )?([^\s(\[]+(?:\[[^\s(]*\])?) ?\(", re.MULTILINE)
_GENERIC = re.compile(r"`\d+|\[[^\]]*\]")  # Cart`1.Add[T]
_MADE_OF = re.compile(r"(?:\.<>c\w*)?\.<(\w+)>[\w|]*(?:\.MoveNext)?\Z")
_CONSTRUCTOR = re.compile(r"(\w+)\.(?:\.c?ctor|<c?l?init>)\Z")
_ACCESSOR = re.compile(r"\.(?:get|set|add|remove)_(?=\w+\Z)")


def chunks_of_frames(text: str, rows: CodeRows) -> list[int]:
    """Return the ids of the chunks that define what the frames in `text` name, in their order."""
    ids = (rows.chunk_at(place) for name in methods_in(text) for place in _places_of(name, rows))
    return [each for each in dict.fromkeys(ids) if each is not None]


def _places_of(method: Sequence[str], rows: CodeRows) -> list[Line]:
    """Return where `method` is defined, though its namespace may be in no path."""
    names = rows.defined_names
    return [*names.places_of(method)] or [*names.places_of(method[-2:])]


def methods_in(text: str) -> Iterator[Sequence[str]]:
    """Yield the qualified name of the method of each frame in `text`."""
    for frame in _FRAME.findall(text)[:MAX_FRAMES]:
        name = _CONSTRUCTOR.sub(r"\1.\1", _GENERIC.sub("", frame))
        parts = _ACCESSOR.sub(".", _MADE_OF.sub(r".\1", name)).split(".")
        if len(parts) > 1 and all(map(str.isidentifier, parts)):
            yield parts
