"""Tells what a class has beyond its own lines: its bases, and the calls of its constructors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any

from memory_sidecar.chunking.references import MIXED_IN
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import FUNCTIONS, Defined, Graph, NamedFile
from memory_sidecar.code.units import identity_of
from memory_sidecar.core.cached_method import cached_method
from memory_sidecar.core.groups import by_key

MAX_LINEAGE = 50  # classes of one chain of inheritance
BASES = frozenset({"super", "base", "parent"})  # words for a base of the class around
GoType = tuple[str, str]  # its folder and its scope

_PARAMETERS = re.compile(r"\([^()]*\)")  # of a class of Kotlin, Scala or C#: no bases
_WORD = re.compile(r"\w+")
_TYPE = re.compile(r"\b[A-Z_]\w*")
_ARGUMENTS = re.compile(r"<[^<>]*>")
_COLON = re.compile(r"(?<!:):(?!:)")
_LAST_PART = re.compile(r"\b[A-Za-z_]\w*\b(?!\s*::)")
_NO_BASES = frozenset(
    "typedef using struct class union enum const public protected private virtual".split()
)
_NOT_OVERRIDDEN = re.compile(r"(?:\w+ )*?(?:private|static) ")
_CONSTRAINTS = re.compile(r"\bwhere\b")


def made_by(graph: Graph, defined: Defined) -> list[Defined]:
    """Return all parts of the class whose objects the constructor `defined` makes."""
    owner = defined.owner
    if not owner or defined.name not in (owner, *defined.at.scoping.constructors):
        return []
    return [
        each
        for each in graph.defined_for(defined.at, owner)
        if each.is_type and each.path == defined.scope
    ]


def of_same_object(around: Defined | None, candidates: Sequence[Defined]) -> Sequence[Defined]:
    """Return those of `candidates` in the file of `around` that are of the nearest object around.

    JavaScript and Lua give functions to objects one by one, and to prototypes of classes:
    `Cart.prototype.add = function`, `function Cart:add()`.
    """
    here = [each for each in candidates if around and each.at.id == around.at.id]
    path = around.path if around and here else ""
    if made := [each for each in here if each.scope == f"{path}.prototype"]:  # by this constructor
        return made
    by_object = by_key((each.scope.removesuffix(".prototype"), each) for each in here)
    while path := path.rpartition(".")[0]:
        if found := by_object.get(path.removesuffix(".prototype")):
            return found
    return ()


def overridden(lineages: Lineages, defined: Defined) -> list[Defined]:
    """Return the methods of base classes and interfaces that the method `defined` overrides."""
    name, owner = defined.name, defined.owner
    if name in (owner, *defined.at.scoping.constructors) or defined.kind not in FUNCTIONS:
        return []
    if defined.at.family == "go":
        own = defined.at.folder, defined.scope
        return [each for each, types in lineages.declared_in_go(defined) if own in types]
    bases = lineages.of(defined.at, owner)[1:] or _bases_without_name(lineages, defined)
    return [
        each
        for base in bases
        for each in lineages.members(name).get(base, ())
        if each.kind in FUNCTIONS
        and not _NOT_OVERRIDDEN.match(each.signature)
        and each.at.realm == defined.at.realm
    ]


def _bases_without_name(lineages: Lineages, defined: Defined) -> list[str]:
    """Return the bases of a Java class without a name, around the method `defined`.

    They are among the types that the head of the variable or method around names, as `Shop` in
    `Shop shop = new Shop() { … }`; of a constant of an enum, it is the enum.
    """
    outer, _, owner = defined.scope.rpartition(".")
    around = lineages.members(owner).get(outer.rpartition(".")[2], ())
    own = [
        d for d in around if (d.at.id, d.path, d.is_type) == (defined.at.id, defined.scope, False)
    ]
    if defined.at.file.language != "java" or not own:
        return []
    named = (
        [outer.rpartition(".")[2]] if own[0].kind == "constant" else _TYPE.findall(own[0].signature)
    )
    return [base for name in named for base in lineages.of(defined.at, name)]


def inherited(graph: Graph, class_name: str, name: str) -> list[Defined]:
    """Return the members called `name` of the bases of a class, those of the nearest base first."""
    lineages = Lineages(graph)
    found: list[Defined] = []
    for each in graph.defined(class_name):
        bases = lineages.of(each.at, class_name)[1:] if each.is_type else ()
        members = (d for base in bases for d in graph.defined_near(name, base) if d.owner == base)
        found += [d for d in members if d.at.realm == each.at.realm]
    return list(dict.fromkeys(found))


def may_reach(lineages: Lineages, at: NamedFile, place: Place, override: Defined) -> bool:
    """Whether a use of a base class's method may mean its `override` in a derived class.

    It cannot behind `super` or the name of one of these classes, nor on `self` in any other class.
    """
    lineage = lineages.of(override.at, override.owner)
    receiver = place.receiver
    if receiver in (*BASES, *lineage) or place.how not in ("call", "attribute", "other"):
        return False
    is_own = receiver in at.scoping.selves or (not receiver and at.scoping.implicit_self)
    return not is_own or lineages.class_around(at, place) in lineage


class Lineages:
    """Finds the bases of classes and the members of a name, and caches them for one answer."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._types_with_method: dict[object, set[GoType]] = {}
        self._declared_in_go: dict[object, Sequence[tuple[Defined, Set[GoType]]]] = {}

    @cached_method
    def of(self, at: NamedFile, class_name: str) -> Sequence[str]:
        """Return `class_name` as seen from a file, followed by its base classes, nearest first."""
        line = [class_name] if class_name else []
        for name in line:  # grows while it is iterated
            classes = [d for d in self.graph.defined_for(at, name) if d.is_type]
            here = [d for d in classes if d.at.id == at.id]
            parts = {identity_of(d) for d in here or classes[:1]}
            for each in classes:
                if identity_of(each) in parts:
                    line += [base for base in self.bases_of(each) if base not in line]
            if len(line) > MAX_LINEAGE:
                break
        return line

    @cached_method
    def members(self, name: str) -> Mapping[str, Sequence[Defined]]:
        """Return all definitions of `name`, by the name of the enclosing one."""
        return by_key((each.owner, each) for each in self.graph.defined(name))

    def class_around(self, at: NamedFile, place: Place) -> str:
        """Return the name of the class around a place, or empty."""
        around = self.graph.enclosing(at, place)
        for name in reversed(around.path.split(".") if around else ()):
            if at.id in self.files_with_type(name):
                return name
        return around.owner if around else ""

    @cached_method
    def files_with_type(self, name: str) -> Set[int]:
        """Return the ids of the files that define a type called `name`."""
        found = self.graph.defined(name)  # thousands of `__init__`
        return {each.at.id for each in found if each.is_type}

    def declared_in_go(self, method: Defined) -> Sequence[tuple[Defined, Set[GoType]]]:
        """Return what interfaces of Go declare called like `method`, each with what implements it.

        A type implements an interface if it has methods of all names in it.
        """
        key = method.name, method.at.realm
        if key not in self._declared_in_go:
            alike = self.graph.defined_for(method.at, method.name)  # thousands of `String`
            declared = (each for each in alike if self.graph.kind_around(each) == "interface")
            self._declared_in_go[key] = [(each, self._implementing(each)) for each in declared]
        return self._declared_in_go[key]

    def _implementing(self, declared: Defined) -> Set[GoType]:
        at = declared.at
        needed = {d.name for d in self.graph.definitions_in(at) if d.scope == declared.scope}
        having = (self._types_with(at, name) for name in needed)
        return set.intersection(*having) - {(at.folder, declared.scope)}

    def _types_with(self, at: NamedFile, name: str) -> set[GoType]:
        key = name, at.realm
        if key not in self._types_with_method:
            found = self.graph.defined_for(at, name)
            self._types_with_method[key] = {(each.at.folder, each.scope) for each in found}
        return self._types_with_method[key]

    def bases_of(self, defined: Defined) -> list[str]:
        """Return the names of types used in the head of a class, which may take several lines.

        In Rust, these are the traits that it implements in its source.
        """
        name, signature = defined.name, defined.signature
        if defined.at.family == "rust" and defined.kind != "trait":
            uses = self.graph.uses(name)
            alike = (u for u in uses if u.at.file[::2] == defined.at.file[::2])
            return [each.module for used in alike for each in used.places if each.module]
        head = signature if defined.at.family == "python" else _PARAMETERS.sub("", signature)
        if defined.at.family in ("csharp", "java"):  # where the head has no other capital words
            return _TYPE.findall(_CONSTRAINTS.split(head)[0].partition(name)[2])
        if defined.at.family == "c":
            return _bases_of_c(signature, name)
        words = frozenset(_WORD.findall(head))
        used: Any = self.graph.connection.execute(
            "SELECT name, places FROM code_references WHERE file = ? AND places GLOB ?",
            (defined.at.id, f"*t[0-9]*:{defined.number}*"),
        )
        there = re.compile(  # parsing would be slow
            rf"(?:^| )t(\d+):{defined.number}(?!\d)(?:[.][^ =]*)?(={MIXED_IN}\b)?"
        )
        return [
            base
            for base, places in used
            if any(
                int(at) == defined.start_line or base in words or is_mixed_in
                for at, is_mixed_in in there.findall(places)
            )
        ]


def _bases_of_c(head: str, name: str) -> list[str]:
    """Return the bases in the head of a class of C++, or the type that a `typedef` names anew."""
    while head != (head := _ARGUMENTS.sub("", head)):
        pass
    is_alias = head.startswith(("typedef ", "using ")) and "(" not in head
    bases = head if is_alias else "".join(_COLON.split(head, maxsplit=1)[1:])
    return [word for word in _LAST_PART.findall(bases) if word not in _NO_BASES and word != name]
