"""Finds what imports of Python mean by the whole path of a module, as `shop.money.rates`.

A relative path names one file. Any other may begin in any folder of the source, or above its root.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from posixpath import basename, join, normpath
from typing import TypeAlias

from memory_sidecar.code.candidates import Meaning, one_or_all
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.groups import by_key
from memory_sidecar.index.report import known_sources

_END = re.compile(r"(?:/__init__)?\.pyi?\Z")

ModulePath: TypeAlias = tuple[str, bool]
"""The path of a module with slashes, and whether that is from the root of the source."""


class DottedFinder:
    """Finds the files of modules, and caches them for one answer."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def meaning(
        self, name: str, at: NamedFile, place: Place, found: Sequence[Defined]
    ) -> Meaning | None:
        """Return which of `found` a file imports as `name`; `None` if no module is known.

        What is of a package that the source does not have means each by its name alone.
        """
        modules = self._modules(at, name, place)
        if not modules:
            return None
        paths = _paths(at, name, modules)
        known = {self._is_of_source(at.file.source, each) for each in paths}
        if there := self._reached(name, at.file.source, paths, found):
            return one_or_all(there, "exact" if all(known) else "likely")
        if not any(known):
            return Meaning(tuple(found))
        inside = [d for d in found if any(self._is_at(each, d.at, paths) for each in _above(d.at))]
        return one_or_all(inside or found, "likely")

    def of_module(self, module: str, at: NamedFile, found: Sequence[Defined]) -> list[Defined]:
        """Return those of `found`, of files called `module`, that the file may import so."""
        elsewhere = [each for each in found if each.at.id != at.id]
        modules = self._modules(at, module) if elsewhere else ()
        paths = _paths(at, module, modules)
        return self._defined_at(paths, elsewhere) if modules else elsewhere

    def _modules(self, at: NamedFile, name: str, place: Place | None = None) -> Collection[str]:
        """Return the modules that a file imports `name` from, or as whose last part."""
        if at.scoping.imports != "module":
            return ()
        is_import = place and place.how == "import"
        places = [place] if place and is_import else self._graph.imports_in(at, name)
        return {each.module for each in places if each.module}

    def _reached(
        self, name: str, source: str, paths: set[ModulePath], found: Sequence[Defined]
    ) -> list[Defined]:
        """Return those of `found` in modules at `paths`, or that these modules import."""
        seen = set[int]()
        while paths:
            if there := self._defined_at(paths, found):
                return there
            files = [file for path in paths for file in self._files_at(source, path)]
            new = [file for file in files if file.id not in seen]
            seen |= {file.id for file in new}
            onward = (_paths(file, name, self._modules(file, name)) for file in new)
            paths = set().union(*onward)
        return []

    def _defined_at(self, paths: set[ModulePath], found: Sequence[Defined]) -> list[Defined]:
        return [d for d in found if self._is_at(_stem(d.at), d.at, paths)]

    def _files_at(self, source: str, path: ModulePath) -> list[NamedFile]:
        named = self._files_of(source).get(basename(self._whole(source, path[0])), ())
        return [each for each in named if self._is_at(_stem(each), each, {path})]

    @cached_method
    def _files_of(self, source: str) -> Mapping[str, list[NamedFile]]:
        """Return all files by the last part of their paths: to look for each takes as long."""
        files = self._graph.files_where("source = ? AND language = 'python'", source)
        return by_key((basename(self._whole(source, _stem(each))), each) for each in files)

    def _is_of_source(self, source: str, path: ModulePath) -> bool:
        first = path[0].partition("/")[0]
        return first != ".." if path[1] else self._graph.has_module(source, first)

    def _is_at(self, path: str, at: NamedFile, paths: set[ModulePath]) -> bool:
        source = at.file.source
        whole = self._whole(source, path)
        return any(
            whole == self._whole(source, one) if is_own else whole.endswith(f"/{one}")
            for one, is_own in paths
        )

    def _whole(self, source: str, path: str) -> str:
        """Return a path with that of the root, which may be a package itself: `__init__` or `.`."""
        return f"{self._roots.get(source, '')}/{path}".removesuffix("/__init__").removesuffix("/.")

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return {
            name: str(each.root) for name, each in known_sources(self._graph.connection).items()
        }


def _paths(at: NamedFile, name: str, modules: Collection[str]) -> set[ModulePath]:
    """Return the paths of `modules`, and those that `name` has in them if it is a module, too."""
    inner = {f"{each}{name}" if each.endswith(".") else f"{each}.{name}" for each in modules}
    return {_path_of(at, each) for each in inner.union(modules)}


def _path_of(at: NamedFile, module: str) -> ModulePath:
    bare = module.lstrip(".")
    rest, dots = bare.replace(".", "/"), len(module) - len(bare)
    if not dots:
        return rest, False
    return normpath(join(at.folder, "../" * (dots - 1), rest)), True  # `..` above the source


def _stem(at: NamedFile) -> str:
    """Return the path of a file as a module."""
    return _END.sub("", at.file.path)


def _above(at: NamedFile) -> list[str]:
    """Return the folders around a file, the nearest first."""
    parts = at.folder.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]
