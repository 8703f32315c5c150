"""Follows names of JavaScript and TypeScript that files export or import under another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from memory_sidecar.chunking.aliases import STAR, last_part
from memory_sidecar.chunking.renames import DEFAULT, Rename
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import IMPORTED, Defined, NamedFile
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.modules import MAX_FILES, ModuleFinder, is_at_whole_path
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.sqlite import column

Origin: TypeAlias = tuple[Defined, bool]
"""A definition at the top of a file, and whether it is renamed on the way from there."""


class RenameFinder:
    """Finds what renamed names mean, and under which names a definition is used, for one answer."""

    def __init__(self, modules: ModuleFinder) -> None:
        self._modules = modules
        self._graph = modules.graph
        self._exports: dict[tuple[int, str], list[Origin]] = {}

    def meant(self, name: str, at: NamedFile, place: Place) -> list[Defined]:
        """Return what a renamed `name` means at a place, or that member of a renamed receiver."""
        if not (at.scoping.imports == "path" and self._aliases & {name, place.receiver}):
            return []
        is_bare = not place.receiver or self._is_taken(name, at, place.receiver)
        subject = name if is_bare else place.receiver
        if not self._graph.imports(at, [subject]):
            return []
        origin = self._origin(subject, at)
        if origin is None or is_bare:
            return [origin] if origin else []
        named = self._graph.defined(name)
        return [d for d in named if (d.at.id, d.scope) == (origin.at.id, origin.path)]

    @cached_property
    def _aliases(self) -> frozenset[str]:
        """All aliases: few of the thousands of names that are asked for are any."""
        asked = "SELECT DISTINCT alias FROM code_renames"
        return frozenset(column(self._graph.connection, asked))

    def _is_taken(self, name: str, at: NamedFile, receiver: str) -> bool:
        """Whether `receiver` is the module of `name`: `const { name } = require("./receiver")`."""
        modules = self._modules.modules_of(name, at) if self._graph.imports(at, [name]) else ()
        return any(last_part(each, at.file.language) == receiver for each in modules)

    def aliases_of(self, defined: Defined) -> dict[str, set[int]]:
        """Return the other names under which files may use a definition, with these files."""
        found: dict[str, set[int]] = {}
        if defined.at.scoping.imports != "path" or defined.scope:
            return found
        left = [(defined.at, each) for each in self._exported(defined.at, defined.name)]
        seen = set[object]()
        for at, alias in left:  # grows while it is iterated
            key = (at.id, alias) if alias == DEFAULT else alias
            if key in seen:
                continue
            seen.add(key)
            if alias != DEFAULT:
                found.setdefault(alias, set()).update(self._graph.users_of(alias, IMPORTED))
            for user, new in self._users(at, alias):
                found.setdefault(new, set()).add(user.id)
                left += [(user, each) for each in (new, *self._exported(user, new))]
        return {alias: files for alias, files in found.items() if alias != defined.name}

    def _users(self, at: NamedFile, alias: str) -> Iterator[tuple[NamedFile, str]]:
        """Yield the files that import `alias` of a file under another name, which is yielded, too.

        Any `alias` but `default` may have come there through other files, which are not followed.
        """
        rows: Any = self._graph.connection.execute(
            "SELECT f.id, f.filename, f.language, r.alias, r.module FROM code_renames r"
            " JOIN code_files f ON f.id = r.file WHERE r.name = ? AND r.module <> ''"
            " AND f.source = ?",
            (alias, at.file.source),
        )
        for file_id, path, language, new, module in rows:
            user = NamedFile(file_id, ChunkFile(at.file.source, path, language))
            if alias != DEFAULT or self._modules.leads(user, module, at):
                yield user, new

    def _exported(self, at: NamedFile, name: str) -> list[str]:
        """Return the other names under which a file exports what it calls `name`."""
        renames = self._renames_in(at).values()
        return [each.alias for each in renames if each.name == name and not each.module]

    @cached_method
    def _origin(self, name: str, at: NamedFile) -> Defined | None:
        """Return what a file imports as `name` by a rename, its own or one on the way."""
        if any(each.at.id == at.id for each in self._graph.defined(name)):
            return None
        found = self._imported(name, at)
        origins = {each.key: each for each, _ in found}
        is_renamed = len(origins) == 1 and any(renamed for _, renamed in found)
        return next(iter(origins.values())) if is_renamed else None

    def _imported(self, name: str, at: NamedFile) -> list[Origin]:
        """Return what an import gives the file under `name`."""
        rename = self._renames_in(at).get(name)
        if rename and rename.module:
            there = self._behind(at, [rename.module], rename.name)
            return [(each, True) for each, _ in there]
        return self._behind(at, self._modules.modules_of(name, at), name)

    def _behind(self, at: NamedFile, modules: Iterable[str], name: str) -> list[Origin]:
        """Return what the files at `modules` export as `name`.

        A path that some other file ends in does not count: with a rename no name bears that out.
        """
        named = ((module, each) for module in modules for each in self._modules.named(at, module))
        files = (each for module, each in named if is_at_whole_path(module, each))
        return [each for file in files for each in self._exported_as(file, name)]

    def _exported_as(self, file: NamedFile, name: str) -> list[Origin]:
        """Return what a file exports as `name`."""
        key = file.id, name
        if key in self._exports:
            return self._exports[key]
        self._exports[key] = []  # while it is looked for, if files export each other
        rename = self._renames_in(file).get(name)
        own = rename.name if rename and not rename.module else name
        defined = self._graph.defined(own)
        here = [(d, own != name) for d in defined if d.at.id == file.id and not d.scope]
        found = here or self._imported(own, file)
        if not (found or rename or name == DEFAULT):
            passed = sorted(self._modules.modules_of(STAR, file))[:MAX_FILES]
            found = self._behind(file, passed, name)
        self._exports[key] = [(each, renamed or own != name) for each, renamed in found]
        return self._exports[key]

    @cached_method
    def _renames_in(self, at: NamedFile) -> Mapping[str, Rename]:
        asked = "SELECT alias, name, module FROM code_renames WHERE file = ?"
        rows: Any = self._graph.connection.execute(asked, (at.id,))
        return {alias: Rename(alias, *of) for alias, *of in rows}
