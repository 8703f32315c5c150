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

    def behind_receiver(self) -> Meaning:
        """Return what the evidence tells, the surest first: class, module, variable, name."""
        receiver = self.place.receiver
        named = [d for d in self.found.by_owner.get(receiver, ()) if self._is_shared(d)]
        return (
            self._of_class(named)
            or self._of_built_in(receiver)
            or self._of_module(receiver, is_class=bool(named))
            or self._of_variable(receiver)
            or self._of_unknown(receiver)
        )

    def _of_built_in(self, receiver: str) -> Meaning | None:
        """Resolve to nothing behind an object of the language to which no file adds that name."""
        is_built_in = receiver in self.scoping.built_in and receiver not in self.found.by_owner
        return Meaning() if is_built_in and not self.is_imported(receiver) else None

    def _of_module(self, receiver: str, *, is_class: bool) -> Meaning | None:
        """Resolve to what a module called `receiver` defines, or a package, which re-exports it."""
        if self.scoping.imports == "text":  # then the name of a file qualifies none
            return None
        modules, packaged = self._called(receiver)
        likely = None if is_class else sole(modules, "likely")
        if not self.is_imported(receiver):
            return likely
        return sole(modules, "exact") or sole(packaged, "likely") or likely

    def _of_variable(self, receiver: str) -> Meaning | None:
        """Resolve to a member of the class that a variable is named after.

        Else to the only one that the name may mean behind a variable, if the file may know it.
        """
        alike = members_by_variable_name(self)
        if found := sole(alike, "likely"):
            return found
        is_member = self.scoping.tells_members and not self.is_untyped
        fitting = self.members if is_member else () if self.tops else self.candidates
        if len(fitting) != 1 or self.is_imported(receiver):
            return None
        return sole(fitting, "likely") if is_known(self, fitting[0]) else None

    def _of_unknown(self, receiver: str) -> Meaning:
        """Resolve by name alone: behind an object whose class nothing tells, or an import."""
        if not self.scoping.tells_members:
            return self.found.of_any_class
        if self.is_imported(receiver):
            return self._of_import(receiver)
        files = {d.at.id for called in self._called(receiver) for d in called}
        others = (
            d
            for d in (self.candidates if self.is_untyped else self.tops)
            if self.scoping.module_paths or d.scope or d.at.id in files
        )
        return Meaning(self.members or tuple(others))

    def _of_import(self, receiver: str) -> Meaning:
        if self.graph.is_foreign(self.at, receiver):
            return Meaning(tuple(d for d in self.tops if is_at_root(d)))
        named = self.graph.defined_for(self.at, receiver)
        is_object = self.is_untyped or not all(map(is_field, named))
        return Meaning((is_object and self.members) or self.tops)

    def _called(self, name: str) -> tuple[Sequence[Defined], Sequence[Defined]]:
        """Return the tops of modules, and of packages, that are called `name`."""
        of_module = self.found.tops_by_module.get(name, ())
        modules = self.dotted.of_module(name, self.at, of_module)
        return modules, self.found.tops_by_package.get(name, ())

    def _of_class(self, named: Sequence[Defined]) -> Meaning | None:
        """Resolve to one of `named`, members of the classes that are called like the receiver."""
        here = (d for d in named if d.at.id == self.at.id)
        # Or to a type that stands behind a namespace of C++: a macro may open that.
        is_typed = self.scoping.imports == "text" and self.place.how != "attribute"
        typed = self.tops if is_typed and all(d.is_type for d in self.tops) else ()
        has = partial(self.modules.is_global_for, self.at)
        is_seen = not self.is_untyped or all(  # no object of another module
            d in self.members or has(d) for d in named
        )
        found = (
            sole(named, "exact" if is_seen else "likely")
            or sole(here, "exact")
            or sole(typed, "likely")
        )
        if found or not (named and self.scoping.namespaces):
            return found
        seen = of_seen_class(self, named)
        return one_or_all(seen, "exact") if seen else None

    def _is_shared(self, defined: Defined) -> bool:
        """Whether this file sees it: what a variable or `console` has in another file is not."""
        may_hide = self.is_untyped or self.scoping.whole_classes
        if defined.at.id == self.at.id or not may_hide:
            return True
        around = self.graph.kind_around(defined)
        return bool(around) if self.is_untyped else around not in ("field", "variable", *FUNCTIONS)
