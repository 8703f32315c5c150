"""Searches a file for a pattern, and converts matches to lines and columns as editors count."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.core.language import TEXT, detect_language
from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.results import about
from memory_sidecar.disk.read import ReadSkipped, read_text
from memory_sidecar.grep.finder import Finder
from memory_sidecar.grep.match import Found

NO_TREE = "its code is nested too deep, on too long lines, or takes too long to read as a tree"


@dataclass(frozen=True, slots=True)
class Capture:
    """The code that a hole of the pattern matched. Columns are characters, from 1."""

    text: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]


@dataclass(frozen=True, slots=True)
class FoundCode:
    """A place that a pattern matched. Columns are characters, from 1."""

    filename: Annotated[str, about("relative to the working directory, absolute outside of it")]
    location: Annotated[str, about("start-end in lines: filename:location opens in an editor")]
    language: str
    code: str
    start_line: int
    start_column: int
    end_line: int
    end_column: Annotated[int, about("behind its last character")]
    captures: Annotated[
        dict[str, tuple[Capture, ...]], about("by name: one for $X, any number for $$$X")
    ]


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A match, with the line to show a person."""

    found: FoundCode
    head: tuple[int, int]  # line and column of the definition itself, after its attributes
    line: str  # the whole line of `head`


def guess_language(file: SourceFile, wanted: frozenset[str]) -> str | None:
    """Return the language of `file` by its name if it may be one of `wanted`, else `None`."""
    language = detect_language(file.path)
    name = file.path.rpartition("/")[2]
    may_be = (
        language in wanted
        or (language == TEXT and "." not in name)  # its first line may name an interpreter
        or (language == "c" and "cpp" in wanted)
    )
    return language if may_be and not file.skip_reason else None


def search_file(
    root: Path,
    file: SourceFile,
    finder: Finder,
    *,
    languages: frozenset[str],
    cwd: Path,
    max_file_bytes: int,
    on_failure: Callable[[str], None],
) -> list[GrepHit]:
    """Return the hits in `file` below `root`, in order, with its path relative to `cwd`.

    `on_failure` is called with the reason if a file that may hold the pattern cannot be searched.
    """
    try:
        read = read_text(root, file, max_file_bytes=max_file_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        on_failure(f"{file.path}: {error.strerror or error}")
        return []
    if isinstance(read, ReadSkipped):
        return []
    language = detect_language(file.path, read.text)
    if language not in languages:
        return []
    if not finder.may_find(read.text.encode(errors="replace"), language):
        return []
    lines = Lines(read.text)
    found = finder.find(lines.data, language)
    if found is None:
        on_failure(f"{file.path}: not looked into, {NO_TREE}")
    path = root / file.path
    filename = (path.relative_to(cwd) if path.is_relative_to(cwd) else path).as_posix()
    return list(_hits(filename, language, lines, found or ()))


def _hits(filename: str, language: str, lines: Lines, found: Iterable[Found]) -> Iterator[GrepHit]:
    places = _Places(lines)
    for match in found:
        whole = places.capture(match.start, match.stop)
        hit = FoundCode(
            filename=filename,
            location=f"{whole.start_line}-{whole.end_line}",
            language=language,
            code=whole.text,
            start_line=whole.start_line,
            start_column=whole.start_column,
            end_line=whole.end_line,
            end_column=whole.end_column,
            captures={
                name: tuple(places.capture(*span) for span in spans)
                for name, spans in match.captures.items()
            },
        )
        head = places.place(match.head)
        yield GrepHit(hit, head, lines.rows[head[0] - 1])


class _Places:
    """Converts byte offsets in a text to lines and columns."""

    def __init__(self, lines: Lines) -> None:
        self._data = lines.data
        lengths = (len(row) + 1 for row in lines.data.split(b"\n"))
        self._starts = list(accumulate(lengths, initial=0))

    def capture(self, start: int, stop: int) -> Capture:
        text = self._data[start:stop].decode()
        return Capture(text, *self.place(start), *self.place(stop))

    def place(self, byte: int) -> tuple[int, int]:
        row = bisect_right(self._starts, byte) - 1
        return row + 1, len(self._data[self._starts[row] : byte].decode()) + 1
