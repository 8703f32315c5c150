"""Reads the files of sources for callers that may see what is indexed, and no other file.

What git ignores, what a link leads to and what lies outside of a source is refused, so a caller
sees no more through this than through a search.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import FileStatus, Source, SourceFile
from memory_sidecar.core.paths import real_place
from memory_sidecar.core.results import ListedFile
from memory_sidecar.disk.read import ReadSkipped, read_text

_LINES = re.compile(r"(.+?)[:#]L?(\d{1,9})(?:-L?(\d{1,9})|:\d+)?")
MAX_ALIKE = 3
_INDEXED_ALONE = "`memory-sidecar search` shows parts of what was indexed of it"


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A file that a caller may mean, and which lines of it: 0 where that is not said."""

    source: Source
    path: str  # relative to the source, with `/`
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class FileText(NamedPath):
    """What a file holds now, which may be newer than the index."""

    text: str = ""


def named(sources: Sequence[Source], text: str) -> list[NamedPath]:
    """The files of `sources` that `text` may mean, the likeliest first. None need be there.

    It is a path, absolute or relative to a source or to the folder above, with `/` or `\\`; lines
    may follow as in `a.py:10-20`. Raises PathRefused where it leads out of all sources.
    """
    readings = [(text, 0, 0)]
    if lines := _LINES.fullmatch(text):
        readings.append((lines[1], int(lines[2]), int(lines[3] or 0)))
    readings += [
        (path.replace("\\", "/"), first, last) for path, first, last in readings if "\\" in path
    ]
    found: list[NamedPath] = []
    refused: PathRefused | None = None
    for path, first, last in readings:
        for source in sources:
            above, _, below = path.partition("/")
            is_above = below and above in (source.name, source.root.name)
            for each in (path, below) if is_above else (path,):
                try:
                    found.append(NamedPath(source, _within(source.root, each), first, last))
                except PathRefused as error:
                    refused = refused or error
    if refused is not None and not found:
        raise refused
    return found


def read_file(
    codebase: Codebase, sources: Sequence[Source], path: str, *, max_file_bytes: int
) -> FileText:
    """The file of `codebase` that `path` means in the first of `sources` that has it.

    Raises NotFound where no source has the file, and PathRefused where it leads out of them or is
    no text.
    """
    refused: PathRefused | None = None
    for each in named(sources, path):
        if not each.path:
            refused = refused or PathRefused(f"{path!r} is a folder", hint="name a file in it")
            continue
        try:
            is_indexed = codebase.is_indexed(each.source, each.path)
            text = _read(codebase, each.source, each.path, max_file_bytes, is_indexed=is_indexed)
        except PathRefused as error:
            refused = refused or error
            continue
        if text is not None:
            return FileText(each.source, each.path, each.first, each.last, text)
        if is_indexed and not each.source.root.is_dir():
            raise NotFound(f"{each.source.root} is not there", hint=_INDEXED_ALONE)
    if refused is not None:
        raise refused
    raise NotFound(
        f"no source has a file {path!r} that is not ignored",
        hint=alike(codebase, sources, path) or "pass a path as search_code prints it",
    )


def alike(codebase: Codebase, sources: Sequence[Source], path: str) -> str:
    """A hint that names indexed files called like the last part of `path`; "" for none."""
    meant = named(sources, path)
    for each in meant:
        if os.path.isdir(each.source.root / each.path):  # noqa: PTH112  it never raises
            inside = f"name a file in it, or search with paths {each.path}/**"
            return f"{each.path} is a folder: {inside}"
    files = codebase.files(FileStatus.INDEXED)
    return called_alike(files, {(each.source.name, each.path) for each in meant})


def called_alike(files: Iterable[ListedFile], meant: Collection[tuple[str, str]]) -> str:
    """Which of `files` have the name, not the path, of one of `meant`, as a hint; "" for none.

    `meant` are sources and paths in them.
    """
    names = {(source, _spelled(path)) for source, path in meant}
    found = (
        each.path
        for each in files
        if (each.source, _spelled(each.path)) in names and (each.source, each.path) not in meant
    )
    shown = ", ".join(islice(found, MAX_ALIKE))
    return f"there is {shown}" if shown else ""


def _spelled(path: str) -> str:
    """The name that `path` ends in, the same in upper and lower case and on every system."""
    return unicodedata.normalize("NFC", path.rpartition("/")[2]).casefold()


def _within(root: Path, path: str) -> str:
    """`path` relative to `root`, with `/`; "" for `root`. Raises PathRefused for one outside."""
    if "\0" in path or not path.strip():
        raise PathRefused(f"{path!r} is not a path", hint="name a file below the source")
    real = real_place(Path(os.path.normpath(root / path)))  # an absolute one stays as it is
    if real != root and root not in real.parents:
        raise PathRefused(f"{path!r} leads out of {root}", hint="name a file below the source")
    return "" if real == root else real.relative_to(root).as_posix()


def _read(
    codebase: Codebase, source: Source, relative: str, max_file_bytes: int, *, is_indexed: bool
) -> str | None:
    """The text of a file of `source`; `None` where it is not there or ignored.

    No rule ignores a file that is indexed. For any other the rules are asked, which can take as
    long as a scan of the source; also where the source asks for files that may hold secrets.
    """
    file: SourceFile | None = SourceFile(relative, 0, 0, 0)
    if not is_indexed or any(glob.startswith("!") for glob in source.excludes):
        if not os.path.lexists(source.root / relative):
            return None
        scan = codebase.builder(source).scan([relative])
        file = next((file for file in scan.files if file.path == relative), None)
    if file is None:
        return None
    if file.skip_reason:
        raise _skipped(relative, file.skip_reason)
    try:
        read = read_text(source.root, file, max_file_bytes=max_file_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _skipped(relative, error.strerror or str(error)) from error
    if isinstance(read, ReadSkipped):
        raise _skipped(relative, read.reason)
    return read.text


def _skipped(relative: str, reason: str) -> PathRefused:
    return PathRefused(f"{relative} is not indexed: {reason}", hint="open it with your own tools")
