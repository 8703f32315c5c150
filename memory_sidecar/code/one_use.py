"""One use of a name: where it is, what it may mean, and what its file tells of that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from memory_sidecar.code.candidates import NameCandidates
from memory_sidecar.code.classes import Lineages
from memory_sidecar.code.document import Place
from memory_sidecar.code.dotted import DottedFinder
from memory_sidecar.code.graph import Defined, Graph, NamedFile
from memory_sidecar.code.modules import ModuleFinder


@dataclass(frozen=True, slots=True)
class Finders:
    """What all uses of one answer are resolved with, and its caches."""

    graph: Graph
    lineages: Lineages
    modules: ModuleFinder
    dotted: DottedFinder


class OneUse:
    """What `Resolver` and `BehindReceiver` know of the use that they resolve."""

    def __init__(
        self, finders: Finders, name: str, at: NamedFile, place: Place, found: NameCandidates
    ) -> None:
        self.all = finders, name, at, place, found
        self._graph = finders.graph
        self._lineages = finders.lineages
        self._modules = finders.modules
        self._dotted = finders.dotted
        self._name = name
        self._at = at
        self._place = place
        self._scoping = at.scoping
        self._is_untyped = at.scoping.objects == "untyped"
        self._found = found
        self._candidates = found.by_name.definitions
        self._members = found.members
        self._tops = found.tops

    @cached_property
    def _around(self) -> Defined | None:
        return self._graph.enclosing(self._at, self._place)

    def _is_imported(self, name: str) -> bool:
        return self._graph.imports(self._at, [name])
