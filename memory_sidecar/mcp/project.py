"""The tool for a project that no source contains, and what is said until it has been called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from memory_sidecar.core.errors import NoIndex, PathRefused
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.projects import home
from memory_sidecar.core.results import Reporter, name_first, pluralize
from memory_sidecar.mcp.arguments import Arguments
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.tool import Answer

SHOWN_SOURCES = 8


def indexable_folder(caller: Caller) -> Path | None:
    """Return the first of the client's folders that no source contains and that it may index."""
    if caller.is_read_only or Toolset.CODE not in caller.toolsets:
        return None
    containing = caller.codebase.registry.containing
    return next(
        (
            folder
            for folder in caller.folders
            if containing(folder) is None and index_problem(folder, caller.environ) is None
        ),
        None,
    )


def not_indexed_error(caller: Caller) -> NoIndex:
    """Make the error for a client none of whose folders lies in a source."""
    sources = [source.name for source in caller.codebase.registry.all()]
    ways = ["index_project indexes it"]
    if (folder := indexable_folder(caller)) is None:
        ways = [
            "tell the user to index a project; until then work with your own file tools, since "
            "calling again changes nothing"
        ]
    if sources:
        named = name_first(sources, SHOWN_SOURCES)
        ways.append(f'source "*" searches what is indexed: {named}')
    return NoIndex(f"{folder or caller.folders[0]} is not indexed", hint="; ".join(ways))


def index_problem(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Return why no agent may index `folder`, such as a home or system folder; None if it may."""
    real = real_path(folder)
    home_folder = real_path(home(environ))
    if Path(home_folder).is_relative_to(real) or not Path(real).is_dir():
        return f"{folder} is no project"
    return None


class IndexProject(Arguments):
    path: str = Field(default="", description="By default the first not indexed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(Answer):
    source: str
    root: str
    files: int
    chunks: int

    def text(self) -> str:
        held = f"{pluralize(self.files, 'file')}, {pluralize(self.chunks, 'chunk')}"
        found = "search_code finds it now, and ranks best once all vectors are there."
        return f"{self.source} is indexed: {held}. {found} {self.root}"


def index_project(caller: Caller, asked: IndexProject, report: Reporter) -> Indexed:
    """Index the open project; later saves are followed."""
    first = caller.folders[0]
    chosen = (
        first / caller.expanded(asked.path) if asked.path else indexable_folder(caller) or first
    )
    wanted = Path(os.path.normpath(chosen))
    if all(real_path(wanted) != real_path(each) for each in caller.folders):
        named = ", ".join(map(str, caller.folders))
        raise PathRefused(
            f"{os.fspath(wanted)!r} is not what the client has open",
            hint=f"only these may be indexed: {named}",
        )
    if problem := index_problem(wanted, caller.environ):
        raise PathRefused(problem, hint="tell the user to open the folder of one")
    codebase = caller.codebase
    codebase.index([wanted], reporter=report)
    source = codebase.registry.containing(wanted)
    states = {each.name: each for each in codebase.status().sources}
    if source is None or source.name not in states:
        raise NoIndex(f"{wanted} was taken out of the index meanwhile")
    state = states[source.name]
    return Indexed(
        source=source.name, root=state.root, files=state.files_indexed, chunks=state.chunks
    )
