"""Which sources and files the arguments of a tool mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from memory_sidecar.code.files import NamedPath
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.globs import literal_glob
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.project import indexable_folder, not_indexed_error
from memory_sidecar.mcp.uris import SOURCE, parts_of

EVERY_SOURCE = "*"


class OfPlaces(Protocol):
    """Arguments that say where in the code to look."""

    source: str
    languages: list[str]
    paths: list[str]


def code_filter(caller: Caller, asked: OfPlaces, report: Reporter) -> CodeFilter:
    """Return the filter that `asked` means, with a notice if it leads away from the client's work.

    Paths may be absolute, URIs, or have `./` or `\\`; absolute ones name the sources to search if
    `asked` names none.
    """
    chosen = chosen_sources(caller, asked.source, report) if asked.source else ()
    typed = [_typed_glob(caller, path) for path in asked.paths]
    wanted = CodeFilter.of(chosen, asked.languages, typed, require_sources(caller))
    if asked.source:
        return wanted
    if not wanted.sources:
        return replace(wanted, sources=chosen_sources(caller, "", report))
    if away := sorted({*wanted.sources}.difference(each.name for each in caller.sources)):
        report.notice(f"searched {', '.join(away)}, not what you work in")
    return wanted


def _typed_glob(caller: Caller, path: str) -> str:
    """Return the glob in `path`, which may be the URI of a file. Raises NotFound."""
    if not path.startswith(f"{SOURCE}://"):
        return caller.expanded(path).replace("\\", "/")
    _, name, inside = parts_of(path)
    return f"{caller.codebase.registry.get(name).root.as_posix()}{literal_glob(inside)}"


def require_sources(caller: Caller) -> list[Source]:
    """Return every registered source. Raises NoIndex if there is none."""
    if not (sources := caller.codebase.registry.all()):
        raise not_indexed_error(caller)
    return sources


def chosen_sources(caller: Caller, name: str, report: Reporter) -> tuple[str, ...]:
    """Return the sources to search by the argument `name`; an empty tuple means all.

    By default those of the client's folders, with a notice about a folder that is not indexed.
    Raises NoIndex if there are none.
    """
    require_sources(caller)
    if name == EVERY_SOURCE:
        return ()
    if name:
        return (name_of_source(caller, name),)
    if not (sources := caller.sources):
        raise not_indexed_error(caller)
    if (folder := indexable_folder(caller)) is not None:
        report.notice(f"{folder} is not indexed — index_project indexes it")
    return tuple(source.name for source in sources)


def name_of_source(caller: Caller, given: str) -> str:
    """Return the name of the source that the argument `given` names, or whose root it is."""
    return caller.codebase.registry.name_of(caller.expanded(given), Path("/"))


def path_and_sources(caller: Caller, path: str, source: str) -> tuple[str, list[Source]]:
    """Return the path in the argument `path`, which may be a URI, and the sources to look in.

    The client's sources come first. Raises NotFound, NoIndex.
    """
    scheme, _, rest = path.partition("://")
    if scheme == SOURCE:
        source, _, path = unquote(rest).partition("/")
    registry = caller.codebase.registry
    if source and source != EVERY_SOURCE:
        return caller.expanded(path), [registry.get(name_of_source(caller, source))]
    sources, yours = require_sources(caller), caller.sources
    return caller.expanded(path), sorted(sources, key=lambda source: source not in yours)


def notice_foreign(caller: Caller, file: NamedPath, asked: str, report: Reporter) -> None:
    """Give notice of the source of `file` if it is not the client's and was not `asked` for."""
    if not asked and file.source not in caller.sources:
        report.notice(f"{file.path} is a file of {file.source.name}, not of what you work in")
