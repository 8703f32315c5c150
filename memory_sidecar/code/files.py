"""Reads files of sources for callers that may see indexed files and no others.

Files that git ignores, links, and files outside of a source are refused, so that a caller sees no
more through this than through a search.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.code.absent import normalized, reason_in, suggest_alike
from memory_sidecar.code.directory import parse_place
from memory_sidecar.code.handlers import Codebase
from memory_sidecar.code.why import how_to_include
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import FileStatus, Source, SourceFile
from memory_sidecar.core.opening import MAX_PATH_BYTES, escape_bytes
from memory_sidecar.core.paths import real_place
from memory_sidecar.core.reasons import SECRETS
from memory_sidecar.core.results import ListedFile
from memory_sidecar.disk.ignores import IgnoreRules
from memory_sidecar.disk.read import read_text
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.ruling import BUILT_IN, Rule

_OPEN_IT = "open it with your own tools"
_SEARCH_SHOWS_IT = "`memory-sidecar search` shows parts of what was indexed of it"


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A file that a caller may mean, and the lines asked for; 0 for none."""

    source: Source
    path: str  # relative to the source, with `/`
    first: int = 0
    last: int = 0


def resolve_paths(sources: Sequence[Source], text: str) -> list[NamedPath]:
    """Return the files of `sources` that `text` may mean, likeliest first; they may not exist.

    `text` is a path, absolute or relative to a source or to the folder above it, with `/` or `\\`;
    lines may follow, see `parse_place`. Raises PathRefused if it leads out of all sources.
    """
    readings = [(text, 0, 0)]
    if place := parse_place(text):
        readings.append(place)
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
                    found.append(NamedPath(source, _relative_to(source.root, each), first, last))
                except PathRefused as error:
                    refused = refused or error
    if refused is not None and not found:
        raise refused
    return found


def find_place(registry: Registry, path: Path) -> tuple[str, str] | None:
    """Return the source that contains `path`, and its path there; `None` if none does.

    The file need not exist.
    """
    real = real_place(path)
    source = registry.containing(real.parent)
    if source is not None:
        return source.name, escape_bytes(real.relative_to(source.root).as_posix())
    source = registry.containing(real)
    return (source.name, "") if source and source.root == real else None


def read_file(
    codebase: Codebase, sources: Sequence[Source], path: str, *, by_ending: bool = False
) -> tuple[NamedPath, str]:
    """Find the file that `path` means in the first of `sources` that has it; return its text, too.

    The text may be newer than the index. It has LF line breaks, so that its lines are those of its
    chunks. If no source has the file, `by_ending` reads the only indexed file whose path ends with
    `path`. Raises NotFound if there is none, and PathRefused if the path leads out of the sources
    or the file is no text.
    """
    refused: PathRefused | None = None
    meant = resolve_paths(sources, path)
    for each in meant:
        if not each.path:
            refused = refused or PathRefused(f"{path!r} is a folder", hint="name a file in it")
            continue
        try:
            is_indexed = codebase.is_indexed(each.source, each.path)
            text = _read(codebase, each.source, each.path, is_indexed=is_indexed)
        except PathRefused as error:
            refused = refused or error
            continue
        if text is not None:
            return each, text
        if is_indexed and not each.source.root.is_dir():
            raise NotFound(f"{each.source.root} is not there", hint=_SEARCH_SHOWS_IT)
    if refused is not None:
        raise refused
    if by_ending and (only := only_ending(codebase.files(FileStatus.INDEXED), meant)):
        text = _read(codebase, only.source, only.path, is_indexed=True)
        if text is not None:
            return only, text
    raise _unread_error(codebase, meant, path)


def _unread_error(codebase: Codebase, meant: Sequence[NamedPath], path: str) -> NotFound:
    """Return the error for a `path` of which none of `meant` is to be read: it says why."""
    for each in meant:
        at = codebase.why(each.source.root / each.path)
        if at.fate == "folder":
            inside = f"name a file in it, or search with paths {each.path}/**"
            return NotFound(f"{each.path} is a folder", hint=inside)
        if reason := reason_in(at, each.source.root):
            hint = at.hint if at.rule and at.rule.file == BUILT_IN else _OPEN_IT
            return NotFound(f"{each.path} is not indexed: {reason}", hint=hint)
    files = codebase.files(FileStatus.INDEXED)
    hint = (
        _left_out(meant)
        or suggest_alike(files, {(each.source.name, each.path) for each in meant})
        or "pass a path as search_code prints it"
    )
    return NotFound(f"there is no file {path!r}", hint=hint)


def _left_out(meant: Iterable[NamedPath]) -> str:
    """Return a hint about a built-in rule that would ignore one of `meant`; else ""."""
    for each in meant:
        rules = IgnoreRules(os.fspath(each.source.root), ())
        for name in each.path.split("/")[:-1]:
            if pattern := rules.built_in_rule(name, is_folder=True):
                rule = Rule(BUILT_IN, 0, pattern, each.path)
                return f"{pattern} is ignored by default: {how_to_include(rule, each.source.root)}"
    return ""


def only_ending(files: Iterable[ListedFile], meant: Sequence[NamedPath]) -> NamedPath | None:
    """Return the only one of `files` whose path ends with that of one of `meant`.

    If the likeliest source, that of `meant[0]`, has any such file, only that source counts. `None`
    if there are none or several.
    """
    by_ending = {(each.source.name, f"/{normalized(each.path)}"): each for each in meant}
    found: list[NamedPath] = []
    for file in files:
        path = f"/{normalized(file.path)}"
        for (source, ending), each in by_ending.items():
            if file.source == source and path.endswith(ending):
                found.append(replace(each, path=file.path))
                break
    likeliest = [each for each in found if each.source == meant[0].source]
    best = likeliest or found
    return best[0] if len(best) == 1 else None


def _relative_to(root: Path, path: str) -> str:
    """Return `path` relative to `root`, with `/`; "" for `root`. Raises PathRefused if outside."""
    if "\0" in path or not path.strip() or len(path) > MAX_PATH_BYTES:
        raise PathRefused(f"{path[:80]!r} is not a path", hint="name a file below the source")
    real = real_place(Path(os.path.normpath(root / path)))  # an absolute one stays as it is
    if real != root and root not in real.parents:
        raise PathRefused(f"{path!r} leads out of {root}", hint="name a file below the source")
    return "" if real == root else real.relative_to(root).as_posix()


def _read(codebase: Codebase, source: Source, relative: str, *, is_indexed: bool) -> str | None:
    """Return the text of a file of `source`; `None` if it is missing or ignored.

    An indexed file is not ignored. For other files the ignore rules are evaluated, which can take
    as long as a scan; for indexed ones, too, if the source includes files that may hold secrets.
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
        limit_bytes = codebase.settings.max_file_bytes
        read = read_text(source.root, file, max_file_bytes=limit_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _skipped(relative, error.strerror or str(error)) from error
    if read.skip_reason:
        raise _skipped(relative, read.skip_reason)
    return "\n".join(Lines(read.text).rows)


def _skipped(relative: str, reason: str) -> PathRefused:
    hint = "leave it to the user" if reason == SECRETS else _OPEN_IT
    return PathRefused(f"{relative} is not indexed: {reason}", hint=hint)
