"""Reads the files of sources for callers that may see what is indexed, and no other file.

What git ignores, what a link leads to and what lies outside of a source is refused, so a caller
sees no more through this than through a search.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.code.handlers import Codebase
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import SourceFile
from memory_sidecar.disk.read import FileGone, TextRead, read_text
from memory_sidecar.disk.registry import Source


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file holds now, which may be newer than the index."""

    source: Source
    path: str  # relative to the source, with `/`
    text: str


def read_file(
    codebase: Codebase, sources: Sequence[Source], path: str, *, max_file_bytes: int
) -> FileText:
    """The file at `path` in the first of `sources` of `codebase` that has it.

    The path is relative to a source or absolute. Raises NotFound where no source has the file, and
    PathRefused where it leads out of them or is no text.
    """
    refused: PathRefused | None = None
    for source in sources:
        try:
            relative = _within(source.root, path)
            is_indexed = codebase.is_indexed(source, relative)
            found = _read(codebase, source, relative, max_file_bytes, is_indexed=is_indexed)
        except PathRefused as error:
            refused = refused or error
            continue
        if found is not None:
            return FileText(source, relative, found)
    if refused is not None:
        raise refused
    raise NotFound(
        f"no source has a file {path!r} that is not ignored",
        hint="search_code gives paths that it takes",
    )


def _within(root: Path, path: str) -> str:
    """`path` relative to `root`, with `/`. Raises PathRefused unless it lies below, on the disk."""
    if "\0" in path or not path.strip():
        raise PathRefused(f"{path!r} is no path", hint="name a file below the source")
    named = os.path.normpath(root / path)  # an absolute one stays as it is
    real = Path(named).parent.resolve() / Path(named).name
    if root not in real.parents:
        raise PathRefused(f"{path!r} leads out of {root}", hint="name a file below the source")
    return real.relative_to(root).as_posix()


def _read(
    codebase: Codebase, source: Source, relative: str, max_file_bytes: int, *, is_indexed: bool
) -> str | None:
    """The text of a file of `source`; `None` where it is not there or ignored.

    Only of a file that is indexed it is known that no rule ignores it. To ask the rules can take as
    long as a scan of the source; they are asked too where the source asks for files with secrets.
    """
    file: SourceFile | None = SourceFile(relative, 0, 0, 0)
    if not is_indexed or any(glob.startswith("!") for glob in source.excludes):
        scan = codebase.builder(source).scan([relative])
        file = next((file for file in scan.files if file.path == relative), None)
    if file is None:
        return None
    if file.skip_reason:
        raise _skipped(relative, file.skip_reason)
    read = read_text(source.root, file, max_file_bytes=max_file_bytes)
    if isinstance(read, FileGone):
        return None
    if not isinstance(read, TextRead):
        raise _skipped(relative, read.reason)
    return read.text


def _skipped(relative: str, reason: str) -> PathRefused:
    return PathRefused(f"{relative} is not indexed: {reason}", hint="open it with your own tools")
