"""Follows the imports of JavaScript and TypeScript to the files where a name is defined.

A relative path names a file, or the `index` of a folder; any other path names a package or an alias
of a folder, which means files in a folder of that name. Re-exports lead on from there.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from posixpath import commonprefix, join, normpath

from memory_sidecar.chunking.aliases import STAR
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.core.cached_method import cached_method

_INDEXES = ("index", "main")  # named by their folder or package
MAX_FILES = 50  # that the imports of one name lead through
_EXTENSIONS = tuple(".ts .tsx .js .jsx .mjs .cjs .mts .cts .d.ts".split())
_EXTENSION = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?\Z")
_ALIAS = re.compile(r"[~@#$]?/?")  # of a folder: `~/shop`, `@/shop`, `#shop`
_SCOPE = re.compile(r"\A@[^/]+/")
_ENTRIES = ("/src/index", "/lib/index", "/index", "/src/main", "")  # built files lie beside `src`


class ModuleFinder:
    """Finds files by what imports call them, and caches them for one answer."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def sees(self, at: NamedFile, defined: Defined) -> bool:
        """Whether a file may mean a top of another one by a bare name that it does not import.

        That file may be a script, whose tops are global, or be required under the name:
        `({ Cart } = require("./cart"))`.
        """
        is_required = _letters(defined.name) in map(_letters, defined.at.modules)
        return self.is_global_for(at, defined) or (
            is_required and self.graph.imports(at, defined.at.modules)
        )

    def is_global_for(self, at: NamedFile, defined: Defined) -> bool:
        """Whether a file has a top of its own or of a script, so that no import needs to tell."""
        return defined.at.id == at.id or not self._is_module(defined.at)

    @cached_method
    def _is_module(self, at: NamedFile) -> bool:
        """Whether a file exports or imports anything."""
        asked = (
            "SELECT 1 FROM code_definitions"
            " WHERE file = ?1 AND path = name AND signature GLOB 'export *' UNION ALL"
            " SELECT 1 FROM code_references"
            " WHERE file = ?1 AND ' ' || places GLOB '* i[0-9]*=*' LIMIT 1"
        )
        return bool(self.graph.connection.execute(asked, (at.id,)).get)

    def is_file(self, name: str, at: NamedFile, place: Place, defining: Collection[int]) -> bool:
        """Whether `name` means a file at a place, and not what one of the files `defining` has.

        In Python, where every name is imported, also at a place that uses what imports mean so.
        """
        if not at.scoping.file_import:
            return False
        places = [place] if place.how == "import" else []
        is_bare = not place.receiver and place.how != "attribute"
        if not places and at.scoping.names_all and is_bare and at.id not in defining:
            places = self.graph.imports_in(at, name)
        lines = (self.graph.code_at(at, each.line) for each in places)
        return bool(places) and all(at.scoping.is_of_file(name, line) for line in lines)

    @cached_method
    def modules_of(self, name: str, at: NamedFile, *, taken: bool = True) -> frozenset[str]:
        """Return the modules from which a file imports `name`, or that it imports as `name`.

        With `taken`, also those from which it takes that, as `require("./cart").name`.
        """
        places = self.graph.imports_in(at, name)
        return frozenset(p.module for p in places if p.module and (taken or not p.receiver))

    def reached(
        self,
        names: Collection[str],
        at: NamedFile,
        modules: Collection[str],
        defining: Collection[int],
    ) -> set[int] | None:
        """Return those of the files `defining` that imports from `modules` lead to.

        They lead on through files that import one of `names`, or else re-export all of others.
        `None` if none is found, but may be: behind too many files, one that is not known, or one
        that may export what it requires.
        """
        found: set[int] = set()
        seen = {at.id}
        is_whole = True
        left = [(at, each) for each in sorted(modules)]
        for around, named in left:  # grows while it is iterated
            files = self.named(around, named)
            is_whole = is_whole and named.startswith(".") and bool(files)
            for file in files:
                if len(seen) > MAX_FILES:
                    return found or None
                if file.id in seen:
                    continue
                seen.add(file.id)
                if file.id in defining:
                    found.add(file.id)
                    continue
                onward = {each for name in names for each in self.modules_of(name, file)}
                further = sorted(onward or self.modules_of(STAR, file))  # the same in every run
                if not further and self.graph.mentions(file, "require"):
                    is_whole = False  # as with `Object.assign(exports, require("./cart"))`
                left += [(file, each) for each in further]
        return found if found or is_whole else None

    def named(self, at: NamedFile, module: str) -> list[NamedFile]:
        """Return the files that `module` may mean in a file: those nearest to it, by path."""
        is_near = module.startswith(".")
        path = normpath(join(at.folder, module)) if is_near else module
        find = self._at_path if is_near else self._below_any_folder
        found = find(at.file.source, path)
        files = [each for each in found if each.id != at.id]  # index.mjs: ./index.js
        if len(files) < 2:
            return files
        nearest = max(_shared(each, at) for each in files)
        return [each for each in files if _shared(each, at) == nearest]

    def leads(self, at: NamedFile, module: str, to: NamedFile) -> bool:
        """Whether `module` in a file may mean the file `to`. Most paths end in its name."""
        last = _EXTENSION.sub("", module).rpartition("/")[2]
        stem = _EXTENSION.sub("", to.file.path).rpartition("/")[2]
        is_alike = last == stem or stem in _INDEXES
        return is_alike and any(each.id == to.id for each in self.named(at, module))

    @cached_method
    def _at_path(self, source: str, path: str) -> list[NamedFile]:
        stems = {path, _EXTENSION.sub("", path)}
        ends = [end + ext for end in ("", "/index") for ext in _EXTENSIONS]
        paths = [normpath(stem + end) for stem in stems for end in ends]  # `.` is ./index.js
        among = f"source = ? AND filename IN ({', '.join('?' * len(paths))})"
        return self.graph.files_where(among, source, *paths)

    @cached_method
    def _below_any_folder(self, source: str, path: str) -> list[NamedFile]:
        """Return the files at `path` in any folder, or in the `src` of a package.

        The first part of `@shop/cart/rates` is a scope, which is seldom a folder.
        """
        stem = _ALIAS.sub("", _EXTENSION.sub("", path), count=1)
        first, _, rest = stem.partition("/")
        stems = [stem, f"{first}/src/{rest}", rest, rest.replace("/", "/src/", 1)]
        if path.startswith("@"):
            stems = stems[2:] + stems[:2]
        last = stem.rpartition("/")[2]
        files = self.graph.files_where(
            "source = ? AND instr('/' || filename, ?)", source, f"/{last}"
        )
        named = [(f"/{_EXTENSION.sub('', each.file.path)}", each) for each in files]
        for end in (f"/{each}{entry}" for each in stems if each for entry in _ENTRIES):
            if found := [each for own, each in named if own.endswith(end)]:
                return found
        return []


def is_at_whole_path(module: str, file: NamedFile) -> bool:
    """Whether a file is at the whole path that an import names, but for a scope and `src`.

    `utils/merge.js` is not at `lodash/merge`, nor `react.js` at `react`, which names a package.
    """
    path = _SCOPE.sub("", _EXTENSION.sub("", module))
    first, _, rest = _ALIAS.sub("", path, count=1).partition("/")
    stems = (f"/{first}/{rest}", f"/{first}/src/{rest}") if rest else (f"/{first}",)
    ends = [f"{stem}{entry}" for stem in stems for entry in _ENTRIES if entry or "/" in path]
    own = f"/{_EXTENSION.sub('', file.file.path)}"
    return module.startswith(".") or own.endswith(tuple(ends))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _shared(one: NamedFile, other: NamedFile) -> int:
    """Return how many characters the paths of both files begin with in common."""
    return len(commonprefix([one.file.path, other.file.path]))
