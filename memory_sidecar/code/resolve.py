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
from memory_sidecar.code.one_use import Finders, OneUse
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


class _Resolving(OneUse):
    """Resolves one reference; used by `Resolver` alone."""

    def meaning(self) -> Meaning:
        receiver = self._place.receiver
        is_package = (  # else a class, of which it is a member
            (self._place.how == "import" or (self._scoping.namespace_first and self._tops))
            and self._scoping.imports == "package"
            and all(d.owner != receiver for d in self._candidates)
        )
        if not receiver or is_package:
            return self._resolve_bare()
        if is_path_of_module(receiver, self._at):
            near, surely = behind_path(self._graph, self._at, self._place, self._tops)
            return one_or_all(near, surely)
        if is_self(receiver, self._at):
            return self._resolve_self()
        if found := member_of_variable(self._lineages, self._at, self._place, self._found):
            return found
        table = of_required_table(self._graph, self._at, receiver, self._candidates)
        sure = sole(self._found.followed, "exact")
        return sure or sole(table, "likely") or BehindReceiver(*self.all).meaning()

    def _resolve_bare(self) -> Meaning:
        """Resolve a name without a receiver."""
        if self._place.how == "import":
            return self._resolve_imported()
        if found := sole(self._visible_here(), "exact"):
            return found
        if inherited := self._inherited():
            return one_or_all(inherited, "exact")
        if self._is_imported(self._name):
            return self._resolve_imported()
        if self._scoping.namespaces and self._tops:
            return self._resolve_in_namespaces()
        tops = [d for d in self._tops if d.is_type or not self._scoping.files_are_classes]
        if not tops and self._scoping.strange_members == "doubted":
            known = known_members(self._graph, self._at, self._candidates)
            return sole(known, "likely") or Meaning(self._candidates)
        beside = [d for d in tops if d.at.folder == self._at.folder]
        around = {"folder": beside, "source": tops}
        shared = (sole(around[circle], "exact") for circle in self._scoping.shares)
        if found := next(filter(None, shared), None):
            return found
        if self._scoping.names_all:
            several = beside if self._scoping.shares else self._star_imported()
            return one_or_all(several or self._dot_imported(), "likely")
        opened = [d for d in self._tops if self._graph.imports(self._at, d.at.modules)]
        if self._at.file.language == "kotlin":
            return sole(opened, "likely") or self._found.of_any_object
        bare = [d for d in self._unqualified if not self._is_behind_enum(d)]
        unseen = [d for d in self._candidates if not d.scope]  # of modules of JavaScript
        return sole(opened, "likely") or sole(bare, "likely") or Meaning(tuple(bare or unseen))

    def _is_behind_enum(self, defined: Defined) -> bool:
        """Whether a bare name cannot mean a constant, because its enum must stand before it."""
        if defined.kind != "constant" or not self._scoping.behind_enum:
            return False
        is_open = self._scoping.behind_enum == "closed" and self._is_imported(defined.owner)
        around = self._around
        is_inside = around and (around.at, around.path) == (defined.at, defined.scope)
        return not (is_open or is_inside) and self._graph.kind_around(defined) == "enum"

    @cached_property
    def _unqualified(self) -> Sequence[Defined]:
        """The candidates that a bare name may mean if no import tells."""
        is_imported = self._is_imported(self._name)
        if not (self._tops or is_imported) and self._scoping.strange_members == "imported":
            return tuple(filter(self._is_opened, self._candidates))
        if self._tops or not self._scoping.tells_members:
            return self._tops or self._candidates
        shown = (d for d in self._candidates if d.scope and d.kind not in FUNCTIONS)
        return tuple(d for d in shown if self._graph.kind_around(d) not in FUNCTIONS)

    def _is_opened(self, defined: Defined) -> bool:
        """Whether the file may name a member bare: of an imported class, or in an anonymous one.

        A bare constant of Java may be a label, of any enum.
        """
        if self._scoping.bare_constants and self._place.how == "call":
            return self._graph.mentions(self._at, defined.owner)
        if self._scoping.bare_constants and defined.kind in (*FUNCTIONS, "constant"):
            return defined.kind == "constant"
        return self._is_imported(defined.owner)

    def _inherited(self) -> Sequence[Defined]:
        """Return what the classes around the place have of that name, or inherit."""
        if not self._members or self._scoping.bare_members != "inherited":
            return []
        members = self._found.members_by_owner
        around = self._around
        path = (around.path if around.is_type else around.scope) if around else ""
        for outer in filter(None, reversed(path.split("."))):
            for owner in self._lineages.of(self._at, outer):
                if owner in members and owner != self._name:  # no constructor: its class is meant
                    return members[owner]
        return []

    def _resolve_in_namespaces(self) -> Meaning:
        """Resolve in the C# namespace around the place or one around that, else in opened ones."""
        seen = seen_from(self._graph, self._at, self._around, self._tops)
        return sole(seen, "exact") or one_or_all(seen or self._tops, "likely")

    def _star_imported(self) -> list[Defined]:
        """Return what `from module import *` brings into a Python file."""
        if not self._is_imported(STAR):
            return []
        around = [(d, (*d.at.modules, *d.at.folder.split("/"))) for d in self._tops]
        return [d for d, names in around if self._graph.imports(self._at, names)]

    def _dot_imported(self) -> list[Defined]:
        """Return what `import . "shop/cart"` brings into a file of Go: a bare exported name."""
        if self._at.family != "go" or not self._name[:1].isupper():
            return []
        imports = self._graph.imports
        return [d for d in self._tops if is_at_root(d) or imports(self._at, d.at.modules)]

    def _resolve_imported(self) -> Meaning:
        """Resolve to the imported file, or to a package around it that may re-export the name."""
        if found := self._dotted.meaning(self._name, self._at, self._place, self._tops):
            return found
        imported = partial(self._graph.imports, self._at)
        from_there = self._behind_import() or [d for d in self._tops if imported(d.at.modules)]
        sure: Confidence = "likely" if self._scoping.imports == "path" else "exact"
        if found := sole(self._found.followed, "exact") or sole(from_there, sure):
            return found
        around = [d for d in self._tops if self._graph.imports(self._at, d.at.folder.split("/"))]
        if self._scoping.imports == "package":  # what else has that name is of another package
            return one_or_all(from_there or self._unqualified, "likely")
        return sole(around, "likely") or Meaning(tuple(from_there or around or self._unqualified))

    def _behind_import(self) -> list[Defined]:
        """Return what the name is in its own import: that of a in `use crate::{a::Name, b}`."""
        if not self._scoping.module_paths:
            return []
        before = {each.receiver for each in self._graph.imports_in(self._at, self._name)}
        return [d for d in self._tops if not before.isdisjoint(d.at.modules)]

    def _visible_here(self) -> list[Defined]:
        """Return the candidates of the file in scope at the place, of the innermost scope only."""
        around, line = self._around, self._place.line
        path = around.path if around else ""
        body = around.scope if around and line < around.start_line else path  # a decorator
        imported = self._is_untyped and self._is_imported(self._name)
        may_be_in_body = self._scoping.bare_members == "body"
        visible = [
            d
            for d in self._candidates
            if d.at.id == self._at.id
            and (not d.scope or path == d.scope or path.startswith(d.scope + "."))
            and (
                self._scoping.implicit_self
                or d not in self._members
                or (may_be_in_body and d.scope == body and d.start_line < line)
            )
            and d.owner != self._name  # not a constructor: its class is meant
            and not (imported and d.scope)  # a member: `res.send = …` beside `import send`
            and (d.scope or not self._found.followed)  # else local to a function without a name
        ]
        innermost = max((len(d.scope) for d in visible), default=0)
        return [d for d in visible if len(d.scope) == innermost]

    def _resolve_self(self) -> Meaning:
        """Resolve a member of the own class, or of a base class for `super` and the like."""
        is_above = self._place.receiver in BASES  # skip the own class
        lineage = self._lineages.of(self._at, self._lineages.class_around(self._at, self._place))
        for class_name in lineage[is_above:]:
            ours = self._found.members_by_owner.get(class_name, ())
            here = [d for d in ours if d.at.id == self._at.id]
            if found := sole(here or (() if self._is_whole(class_name) else ours), "exact"):
                return found
        if not is_above:
            beside = of_same_object(self._around, self._candidates) or self._of_module_around()
            only = sole(beside, "exact") or sole(self._members, "likely")
            is_of_ours = only and (beside or self._is_related(only.definitions[0], lineage))
            any_ = self._found.of_any_class if self._scoping.objects != "of classes" else None
            return only if only and is_of_ours else any_ or Meaning(self._members)
        known = partial(self._graph.defined_for, self._at)
        is_foreign = len(lineage) > 1 and not any(map(known, lineage[1:]))
        others = (d for d in self._members if d.owner not in lineage[:1])
        return Meaning(() if is_foreign else tuple(others))

    def _of_module_around(self) -> list[Defined]:
        """Return what the module of Ruby around the place defines, which classes include."""
        if self._around is None or self._at.family != "ruby":
            return []
        module = self._around.path if self._around.kind == "module" else self._around.scope
        return [d for d in self._candidates if (d.at.id, d.scope) == (self._at.id, module)]

    def _is_whole(self, class_name: str) -> bool:
        """Whether the file has all members of the class: in other files, its name means another."""
        is_here = self._at.id in self._lineages.files_with_type(class_name)
        return self._scoping.whole_classes and is_here

    def _is_related(self, member: Defined, lineage: Sequence[str]) -> bool:
        """Whether the class of a member is derived from the first class of `lineage`."""
        return not lineage or lineage[0] in self._lineages.of(member.at, member.owner)[1:]
