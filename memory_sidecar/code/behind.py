"""Resolves a name behind a receiver, which may be a class, a module, a package or a variable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memory_sidecar.code.candidates import Meaning, is_at_root, one_or_all, sole
from memory_sidecar.code.declared import is_known, members_by_variable_name
from memory_sidecar.code.graph import FUNCTIONS, Defined
from memory_sidecar.code.meant import is_field
from memory_sidecar.code.namespaces import of_seen_class
from memory_sidecar.code.one_use import OneUse


class BehindReceiver(OneUse):
    """Resolves one use whose receiver has no declared type; one step for each kind of evidence."""

    def meaning(self) -> Meaning:
        """Return what the evidence tells, the surest first: class, module, variable, name."""
        receiver = self._place.receiver
        named = [d for d in self._found.by_owner.get(receiver, ()) if self._is_shared(d)]
        return (
            self._of_class(named)
            or self._of_built_in(receiver)
            or self._of_module(receiver, is_class=bool(named))
            or self._of_variable(receiver)
            or self._of_unknown(receiver)
        )

    def _of_built_in(self, receiver: str) -> Meaning | None:
        """Resolve to nothing behind an object of the language to which no file adds that name."""
        is_built_in = receiver in self._scoping.built_in and receiver not in self._found.by_owner
        return Meaning() if is_built_in and not self._is_imported(receiver) else None

    def _of_module(self, receiver: str, *, is_class: bool) -> Meaning | None:
        """Resolve to what a module called `receiver` defines, or a package, which re-exports it."""
        if self._scoping.imports == "text":  # then the name of a file qualifies none
            return None
        modules, packaged = self._called(receiver)
        likely = None if is_class else sole(modules, "likely")
        if not self._is_imported(receiver):
            return likely
        return sole(modules, "exact") or sole(packaged, "likely") or likely

    def _of_variable(self, receiver: str) -> Meaning | None:
        """Resolve to a member of the class that a variable is named after.

        Else to the only one that the name may mean behind a variable, if the file may know it.
        """
        alike = members_by_variable_name(self._graph, self._at, receiver, self._found)
        if found := sole(alike, "likely"):
            return found
        is_member = self._scoping.tells_members and not self._is_untyped
        fitting = self._members if is_member else () if self._tops else self._candidates
        if len(fitting) != 1 or self._is_imported(receiver):
            return None
        return sole(fitting, "likely") if is_known(self._graph, self._at, fitting[0]) else None

    def _of_unknown(self, receiver: str) -> Meaning:
        """Resolve by name alone: behind an object whose class nothing tells, or an import."""
        if not self._scoping.tells_members:
            return self._found.of_any_class
        if self._is_imported(receiver):
            return self._of_import(receiver)
        files = {d.at.id for called in self._called(receiver) for d in called}
        others = (
            d
            for d in (self._candidates if self._is_untyped else self._tops)
            if self._scoping.module_paths or d.scope or d.at.id in files
        )
        return Meaning(self._members or tuple(others))

    def _of_import(self, receiver: str) -> Meaning:
        if self._graph.is_foreign(self._at, receiver):
            return Meaning(tuple(d for d in self._tops if is_at_root(d)))
        named = self._graph.defined_for(self._at, receiver)
        is_object = self._is_untyped or not all(map(is_field, named))
        return Meaning((is_object and self._members) or self._tops)

    def _called(self, name: str) -> tuple[Sequence[Defined], Sequence[Defined]]:
        """Return the tops of modules, and of packages, that are called `name`."""
        of_module = self._found.tops_by_module.get(name, ())
        modules = self._dotted.of_module(name, self._at, of_module)
        return modules, self._found.tops_by_package.get(name, ())

    def _of_class(self, named: Sequence[Defined]) -> Meaning | None:
        """Resolve to one of `named`, members of the classes that are called like the receiver."""
        here = (d for d in named if d.at.id == self._at.id)
        # Or to a type that stands behind a namespace of C++: a macro may open that.
        is_typed = self._scoping.imports == "text" and self._place.how != "attribute"
        typed = self._tops if is_typed and all(d.is_type for d in self._tops) else ()
        has = partial(self._modules.is_global_for, self._at)
        is_seen = not self._is_untyped or all(  # no object of another module
            d in self._members or has(d) for d in named
        )
        found = (
            sole(named, "exact" if is_seen else "likely")
            or sole(here, "exact")
            or sole(typed, "likely")
        )
        if found or not (named and self._scoping.namespaces):
            return found
        seen = of_seen_class(self._graph, self._at, self._around, named)
        return one_or_all(seen, "exact") if seen else None

    def _is_shared(self, defined: Defined) -> bool:
        """Whether this file sees it: what a variable or `console` has in another file is not."""
        may_hide = self._is_untyped or self._scoping.whole_classes
        if defined.at.id == self._at.id or not may_hide:
            return True
        around = self._graph.kind_around(defined)
        return bool(around) if self._is_untyped else around not in ("field", "variable", *FUNCTIONS)
