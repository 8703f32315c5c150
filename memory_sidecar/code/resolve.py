"""Resolves a reference to the definitions that it may mean, with a confidence.

    exact     one candidate is in scope where the name is used
    likely    one candidate fits best: by its class, its file, or as the only one of that name
    by name   several have that name, and nothing tells them apart

The evidence is what a reader of that file alone would use: what encloses the place, what the file
defines and imports, what stands before the dot, and which files lie in the same folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from memory_sidecar.chunking.aliases import STAR
from memory_sidecar.code.behind import BehindReceiver
from memory_sidecar.code.candidates import (
    CandidateFinder,
    Meaning,
    is_at_root,
    is_self,
    one_or_all,
    sole,
)
from memory_sidecar.code.classes import BASES, Lineages, of_same_object
from memory_sidecar.code.crates import behind_path, is_path_of_module
from memory_sidecar.code.declared import (
    known_members,
    member_of_type_behind,
    member_of_variable,
    of_required_table,
)
from memory_sidecar.code.document import Place
from memory_sidecar.code.dotted import DottedFinder
from memory_sidecar.code.graph import FUNCTIONS, Defined, Graph, NamedFile
from memory_sidecar.code.namespaces import seen_from
from memory_sidecar.code.one_use import Finders
from memory_sidecar.code.paths import PathFollower
from memory_sidecar.code.renames import RenameFinder
from memory_sidecar.code.results import Confidence

CONFIDENCES: tuple[Confidence, ...] = ("exact", "likely", "by name")


class Resolver:
    """Resolves references, and caches the results for one answer."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lineages = Lineages(graph)
        self._finder = CandidateFinder(graph)
        modules = self._finder.modules
        self.renames = RenameFinder(modules)
        self._finders = Finders(graph, self.lineages, modules, DottedFinder(graph))
        self._follower = PathFollower(self.lineages, self.meaning_of)
        self._meanings: dict[tuple[object, ...], Meaning] = {}

    def meaning_of(self, name: str, at: NamedFile, place: Place) -> Meaning:
        """Return what `name` means at a place of a file; no definitions if none can be meant."""
        if renamed := self.renames.meant(name, at, place):
            return one_or_all(renamed, "exact")
        candidates = self._finder.find(name, at, place)
        if at_end := self._follower.meaning(at, place, candidates):
            return at_end
        if not candidates.files:
            return candidates.by_name
        if typed := member_of_type_behind(self.graph, at, place, candidates):
            return typed
        may_inherit = at.scoping.bare_members == "inherited" and bool(candidates.members)
        needs_around = (
            is_self(place.receiver, at)  # and `super` of Rust
            or (may_inherit or (not place.receiver and at.id in candidates.files))
        )
        within = place.within if needs_around else None
        key = (name, at.id, place.receiver, place.how, within, place.module)
        if key not in self._meanings:
            resolving = _Resolving(self._finders, name, at, place, candidates)
            self._meanings[key] = resolving.meaning()
        return self._meanings[key]


class _Resolving(BehindReceiver):
    """Resolves one reference; used by `Resolver` alone."""

    def meaning(self) -> Meaning:
        receiver = self.place.receiver
        is_package = (  # else a class, of which it is a member
            (self.place.how == "import" or (self.scoping.namespace_first and self.tops))
            and self.scoping.imports == "package"
            and all(d.owner != receiver for d in self.candidates)
        )
        if not receiver or is_package:
            return self._resolve_bare()
        if is_path_of_module(receiver, self.at):
            near, surely = behind_path(self)
            return one_or_all(near, surely)
        if is_self(receiver, self.at):
            return self._resolve_self()
        if found := member_of_variable(self):
            return found
        table = of_required_table(self)
        sure = sole(self.found.followed, "exact")
        return sure or sole(table, "likely") or self.behind_receiver()

    def _resolve_bare(self) -> Meaning:
        """Resolve a name without a receiver."""
        if self.place.how == "import":
            return self._resolve_imported()
        if found := sole(self._visible_here(), "exact"):
            return found
        if inherited := self._inherited():
            return one_or_all(inherited, "exact")
        if self.is_imported(self.name):
            return self._resolve_imported()
        if self.scoping.namespaces and self.tops:
            return self._resolve_in_namespaces()
        tops = [d for d in self.tops if d.is_type or not self.scoping.files_are_classes]
        if not tops and self.scoping.strange_members == "doubted":
            return sole(known_members(self), "likely") or Meaning(self.candidates)
        beside = [d for d in tops if d.at.folder == self.at.folder]
        around = {"folder": beside, "source": tops}
        shared = (sole(around[circle], "exact") for circle in self.scoping.shares)
        if found := next(filter(None, shared), None):
            return found
        if self.scoping.names_all:
            several = beside if self.scoping.shares else self._star_imported()
            return one_or_all(several or self._dot_imported(), "likely")
        opened = [d for d in self.tops if self.graph.imports(self.at, d.at.modules)]
        if self.at.file.language == "kotlin":
            return sole(opened, "likely") or self.found.of_any_object
        bare = [d for d in self._unqualified if not self._is_behind_enum(d)]
        unseen = [d for d in self.candidates if not d.scope]  # of modules of JavaScript
        return sole(opened, "likely") or sole(bare, "likely") or Meaning(tuple(bare or unseen))

    def _is_behind_enum(self, defined: Defined) -> bool:
        """Whether a bare name cannot mean a constant, because its enum must stand before it."""
        if defined.kind != "constant" or not self.scoping.behind_enum:
            return False
        is_open = self.scoping.behind_enum == "closed" and self.is_imported(defined.owner)
        around = self.around
        is_inside = around and (around.at, around.path) == (defined.at, defined.scope)
        return not (is_open or is_inside) and self.graph.kind_around(defined) == "enum"

    @cached_property
    def _unqualified(self) -> Sequence[Defined]:
        """The candidates that a bare name may mean if no import tells."""
        is_imported = self.is_imported(self.name)
        if not (self.tops or is_imported) and self.scoping.strange_members == "imported":
            return tuple(filter(self._is_opened, self.candidates))
        if self.tops or not self.scoping.tells_members:
            return self.tops or self.candidates
        shown = (d for d in self.candidates if d.scope and d.kind not in FUNCTIONS)
        return tuple(d for d in shown if self.graph.kind_around(d) not in FUNCTIONS)

    def _is_opened(self, defined: Defined) -> bool:
        """Whether the file may name a member bare: of an imported class, or in an anonymous one.

        A bare constant of Java may be a label, of any enum.
        """
        if self.scoping.bare_constants and self.place.how == "call":
            return self.mentions(defined.owner)
        if self.scoping.bare_constants and defined.kind in (*FUNCTIONS, "constant"):
            return defined.kind == "constant"
        return self.is_imported(defined.owner)

    def _inherited(self) -> Sequence[Defined]:
        """Return what the classes around the place have of that name, or inherit."""
        if not self.members or self.scoping.bare_members != "inherited":
            return []
        members = self.found.members_by_owner
        around = self.around
        path = (around.path if around.is_type else around.scope) if around else ""
        for outer in filter(None, reversed(path.split("."))):
            for owner in self.lineages.of(self.at, outer):
                if owner in members and owner != self.name:  # no constructor: its class is meant
                    return members[owner]
        return []

    def _resolve_in_namespaces(self) -> Meaning:
        """Resolve in the C# namespace around the place or one around that, else in opened ones."""
        seen = seen_from(self, self.tops)
        return sole(seen, "exact") or one_or_all(seen or self.tops, "likely")

    def _star_imported(self) -> list[Defined]:
        """Return what `from module import *` brings into a Python file."""
        if not self.is_imported(STAR):
            return []
        around = [(d, (*d.at.modules, *d.at.folder.split("/"))) for d in self.tops]
        return [d for d, names in around if self.graph.imports(self.at, names)]

    def _dot_imported(self) -> list[Defined]:
        """Return what `import . "shop/cart"` brings into a file of Go: a bare exported name."""
        if self.at.family != "go" or not self.name[:1].isupper():
            return []
        imports = self.graph.imports
        return [d for d in self.tops if is_at_root(d) or imports(self.at, d.at.modules)]

    def _resolve_imported(self) -> Meaning:
        """Resolve to the imported file, or to a package around it that may re-export the name."""
        if found := self.dotted.meaning(self.name, self.at, self.place, self.tops):
            return found
        imported = partial(self.graph.imports, self.at)
        from_there = self._behind_import() or [d for d in self.tops if imported(d.at.modules)]
        sure: Confidence = "likely" if self.scoping.imports == "path" else "exact"
        if found := sole(self.found.followed, "exact") or sole(from_there, sure):
            return found
        around = [d for d in self.tops if self.graph.imports(self.at, d.at.folder.split("/"))]
        if self.scoping.imports == "package":  # what else has that name is of another package
            return one_or_all(from_there or self._unqualified, "likely")
        return sole(around, "likely") or Meaning(tuple(from_there or around or self._unqualified))

    def _behind_import(self) -> list[Defined]:
        """Return what the name is in its own import: that of a in `use crate::{a::Name, b}`."""
        if not self.scoping.module_paths:
            return []
        before = {each.receiver for each in self.graph.imports_in(self.at, self.name)}
        return [d for d in self.tops if not before.isdisjoint(d.at.modules)]

    def _visible_here(self) -> list[Defined]:
        """Return the candidates of the file in scope at the place, of the innermost scope only."""
        around, line = self.around, self.place.line
        path = around.path if around else ""
        body = around.scope if around and line < around.start_line else path  # a decorator
        imported = self.is_untyped and self.is_imported(self.name)
        may_be_in_body = self.scoping.bare_members == "body"
        visible = [
            d
            for d in self.candidates
            if d.at.id == self.at.id
            and (not d.scope or path == d.scope or path.startswith(d.scope + "."))
            and (
                self.scoping.implicit_self
                or d not in self.members
                or (may_be_in_body and d.scope == body and d.start_line < line)
            )
            and d.owner != self.name  # not a constructor: its class is meant
            and not (imported and d.scope)  # a member: `res.send = …` beside `import send`
            and (d.scope or not self.found.followed)  # else local to a function without a name
        ]
        innermost = max((len(d.scope) for d in visible), default=0)
        return [d for d in visible if len(d.scope) == innermost]

    def _resolve_self(self) -> Meaning:
        """Resolve a member of the own class, or of a base class for `super` and the like."""
        is_above = self.place.receiver in BASES  # skip the own class
        lineage = self.lineages.of(self.at, self.lineages.class_around(self.at, self.place))
        for class_name in lineage[is_above:]:
            ours = self.found.members_by_owner.get(class_name, ())
            here = [d for d in ours if d.at.id == self.at.id]
            if found := sole(here or (() if self._is_whole(class_name) else ours), "exact"):
                return found
        if not is_above:
            beside = of_same_object(self.around, self.candidates) or self._of_module_around()
            only = sole(beside, "exact") or sole(self.members, "likely")
            is_of_ours = only and (beside or self._is_related(only.definitions[0], lineage))
            any_ = self.found.of_any_class if self.scoping.objects != "of classes" else None
            return only if only and is_of_ours else any_ or Meaning(self.members)
        known = partial(self.graph.defined_for, self.at)
        is_foreign = len(lineage) > 1 and not any(map(known, lineage[1:]))
        others = (d for d in self.members if d.owner not in lineage[:1])
        return Meaning(() if is_foreign else tuple(others))

    def _of_module_around(self) -> list[Defined]:
        """Return what the module of Ruby around the place defines, which classes include."""
        if self.around is None or self.at.family != "ruby":
            return []
        module = self.around.path if self.around.kind == "module" else self.around.scope
        return [d for d in self.candidates if (d.at.id, d.scope) == (self.at.id, module)]

    def _is_whole(self, class_name: str) -> bool:
        """Whether the file has all members of the class: in other files, its name means another."""
        is_here = self.at.id in self.lineages.files_with_type(class_name)
        return self.scoping.whole_classes and is_here

    def _is_related(self, member: Defined, lineage: Sequence[str]) -> bool:
        """Whether the class of a member is derived from the first class of `lineage`."""
        return not lineage or lineage[0] in self.lineages.of(member.at, member.owner)[1:]
