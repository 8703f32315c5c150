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
    """A use of `name` at a place of a file, and its candidates, `found`."""

    def __init__(
        self, finders: Finders, name: str, at: NamedFile, place: Place, found: NameCandidates
    ) -> None:
        self.graph = finders.graph
        self.lineages = finders.lineages
        self.modules = finders.modules
        self.dotted = finders.dotted
        self.name = name
        self.at = at
        self.place = place
        self.scoping = at.scoping
        self.found = found
        self.candidates = found.by_name.definitions
        self.members = found.members
        self.tops = found.tops

    @cached_property
    def around(self) -> Defined | None:
        """The definition that encloses the use."""
        return self.graph.enclosing(self.at, self.place)

    @property
    def is_untyped(self) -> bool:
        """Whether any object of its language may have any member, as in JavaScript."""
        return self.scoping.objects == "untyped"

    def is_imported(self, name: str) -> bool:
        """Whether the file of the use imports something as `name`."""
        return self.graph.imports(self.at, [name])

    def mentions(self, name: str) -> bool:
        """Whether the file of the use has `name` anywhere."""
        return self.graph.mentions(self.at, name)
