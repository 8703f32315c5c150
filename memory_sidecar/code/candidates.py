"""Finds the definitions that a use of a name may mean at all, by its language and how it is used.

They lie in the source and the family of languages of the use. `code.resolve` chooses among them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import TYPES, Defined, Graph, NamedFile
from memory_sidecar.code.meant import (
    ANY,
    CALLABLE,
    deciding_receiver,
    fields_for,
    is_field,
    is_valueless,
    may_stand_behind,
)
from memory_sidecar.code.modules import ModuleFinder
from memory_sidecar.code.packages import PackageFinder
from memory_sidecar.code.results import Confidence
from memory_sidecar.code.units import are_one, identity_of, is_hidden, without_stubs
from memory_sidecar.core.groups import by_key

MAX_CANDIDATES = 300  # among more, only those of the class before the dot are preferred
_MEMBERS = TYPES | {"impl"}


@dataclass(frozen=True)
class Meaning:
    """The definitions that a reference may mean, the likeliest first. Many uses share an object."""

    definitions: tuple[Defined, ...] = ()
    confidence: Confidence = "by name"

    @cached_property
    def keys(self) -> frozenset[tuple[int, int]]:
        """The keys of its definitions."""
        return frozenset(each.key for each in self.definitions)

    @property
    def is_gone(self) -> bool:
        """Whether a diff removed one of its definitions."""
        return any(each.is_removed for each in self.definitions)


def sole(candidates: Iterable[Defined], confidence: Confidence) -> Meaning | None:
    """Return the only candidate; `None` if there are others. Overloads and prototypes are one."""
    found = tuple(candidates)
    return Meaning(found, confidence) if are_one({identity_of(d) for d in found}) else None


def one_or_all(candidates: Sequence[Defined], confidence: Confidence) -> Meaning:
    """Return the only candidate with that confidence, or else all, with "by name"."""
    return sole(candidates, confidence) or Meaning(tuple(candidates))


@dataclass(frozen=True, slots=True)
class _Family:
    """The definitions of a name in one source and one family of languages."""

    shared: tuple[Defined, ...]  # that all files see
    local: Mapping[int, Sequence[Defined]]  # by file: those that only this file sees
    fields: frozenset[str | int]  # the owners of the fields among them, and the ids of their files
    outers: frozenset[str]  # the owners of those that stand behind no variable
    files: Set[int]  # the ids of all files that define it
    is_file: bool  # whether one of these is called so, too


class _Asked(NamedTuple):
    """What a use asks of the definitions of its name. Those that ask the same have the same answer.

    It is the key of that answer, which must depend on nothing else.
    """

    name: str
    realm: tuple[str, str]
    file: int  # its own, where that has definitions which no other sees, or 0
    is_bare: bool  # means nothing of an inner module and, of too many, no constant of an enum
    behind: str  # what `may_stand_behind` is asked; empty for all
    fields: re.Pattern[str]  # matches the signatures of fields that it may mean
    called: frozenset[str | int]  # of a call: whose fields it may mean even so
    means_twins: bool  # whether it means a method whose class has a field of that name
    unmeant: Collection[str]  # kinds that it does not mean
    doubted: Collection[str]  # kinds that it means only if there is nothing else

    @classmethod
    def by(cls, name: str, at: NamedFile, place: Place, family: _Family) -> _Asked:
        receiver, scoping = place.receiver, at.scoping
        is_own = is_self(receiver, at)
        fields = fields_for(at, place) if family.fields else ANY
        called = {receiver, at.id if is_own or not receiver else 0}
        return cls(
            name,
            at.realm,
            file=at.id if at.id in family.local else 0,
            is_bare=not receiver
            and (scoping.dotted_constants or place.how in scoping.behind_modules),
            behind="" if is_own else deciding_receiver(place, family.outers),
            fields=fields,
            called=family.fields & called if fields is CALLABLE else frozenset(),
            means_twins=place.how == "call" or scoping.calls_fields,
            unmeant=scoping.unmeant.get(place.how, ()),
            doubted=scoping.doubted.get(place.how, ()),
        )

    def choose(self, family: _Family) -> tuple[Defined, ...]:
        """Return what it may mean, doubted kinds too; a call means any field if nothing else."""
        shown = tuple(
            d
            for d in (*family.local.get(self.file, ()), *family.shared)
            if d.kind not in self.unmeant and (not self.behind or may_stand_behind(self.behind, d))
        )
        if not self.means_twins:
            fields = {(d.at.id, d.path) for d in shown if is_field(d)}
            shown = tuple(d for d in shown if is_field(d) or (d.at.id, d.path) not in fields)
        found = tuple(
            d
            for d in shown
            if self.fields is ANY
            or not is_field(d)
            or self.fields.search(d.signature)
            or not self.called.isdisjoint((d.owner, d.at.id))
        )
        return found or (shown if self.fields is CALLABLE else ())


@dataclass(frozen=True)
class NameCandidates:
    """The definitions of a family that references of one kind may mean.

    What is derived from them is cached, because thousands of uses have the same candidates.
    """

    by_name: Meaning  # all of them
    members: tuple[Defined, ...] = ()  # of classes
    tops: tuple[Defined, ...] = ()  # of files and namespaces; if none, of modules in Rust files
    files: frozenset[int] = frozenset()  # of them; empty, like the two above, if they are too many
    followed: tuple[Defined, ...] = ()  # those that the imports of the file lead to

    @cached_property
    def by_owner(self) -> Mapping[str, Sequence[Defined]]:
        """All of them by the name of the enclosing definition."""
        return _by_owner(self.by_name.definitions)

    @cached_property
    def members_by_owner(self) -> Mapping[str, Sequence[Defined]]:
        """The members by the name of their class."""
        return _by_owner(self.members)

    @cached_property
    def tops_by_module(self) -> Mapping[str, Sequence[Defined]]:
        """The tops by each name that an import may give their file."""
        return by_key((name, each) for each in self.tops for name in each.at.modules)

    @cached_property
    def tops_by_package(self) -> Mapping[str, Sequence[Defined]]:
        """The tops by the name of the folder that their file is in."""
        return by_key((each.at.package, each) for each in self.tops)

    @cached_property
    def of_any_object(self) -> Meaning:
        """What a bare name of Kotlin may mean, where any object may be `this` of a lambda."""
        all_ = self.by_name.definitions
        found = tuple(d for d in all_ if not (self.tops and d.is_type and d.scope))
        return one_or_all(found, "likely")

    @cached_property
    def of_any_class(self) -> Meaning:
        """What a name behind an object of an unknown class may mean."""
        return Meaning(self.members or self.by_name.definitions)

    @cached_property
    def extensions(self) -> Sequence[Defined]:
        """The extension methods of C#."""
        return [each for each in self.by_name.definitions if "(this " in each.signature]


class CandidateFinder:
    """Finds candidates, and caches them for one answer, because thousands of uses share them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._families: dict[tuple[str, tuple[str, str]], _Family] = {}
        self._candidates: dict[tuple[object, ...], NameCandidates] = {}
        self._packages = PackageFinder(graph)
        self.modules = ModuleFinder(graph)

    def find(self, name: str, at: NamedFile, place: Place) -> NameCandidates:
        """Return the candidates for the use of `name` at a place of a file."""
        is_include = at.scoping.imports == "text" and place.how == "import" and not place.receiver
        if is_include or place.receiver in at.scoping.primitives:
            return NameCandidates(Meaning())
        family = self._family_of(name, at)
        if family.is_file and self.modules.is_file(name, at, place, family.files):
            return NameCandidates(Meaning())
        asked = _Asked.by(name, at, place, family)
        if asked not in self._candidates:
            found = asked.choose(family)
            sure = tuple(d for d in found if d.kind not in asked.doubted)
            self._candidates[asked] = (
                self._sorted_out(sure, asked.is_bare) if sure else NameCandidates(Meaning(found))
            )
        found_all = self._candidates[asked]
        if not found_all.files:
            return self._behind(place.receiver, asked)
        is_named = not place.receiver or place.how == "import" or at.scoping.namespace_first
        if at.scoping.imports == "package" and is_named:
            return self._imported(name, at, place, asked)
        if at.scoping.imports == "path" and not is_self(place.receiver, at):
            return self._followed(name, at, place, asked)
        return found_all

    def _followed(self, name: str, at: NamedFile, place: Place, asked: _Asked) -> NameCandidates:
        """Return those candidates of `asked` that the file's imports lead to; if none, all.

        Behind a receiver, only the receiver's own members and what is in no class must be imported
        with it. A bare name means no top of a module that it is surely not imported from.
        """
        found_all = self._candidates[asked]
        subject = place.receiver or name
        modules = (
            frozenset({place.module} - {""})
            if place.module or place.how == "import"
            else self.modules.modules_of(subject, at, taken=at.id not in found_all.files)
        )
        narrow = (asked, modules, at.id, subject)
        if not modules and (place.receiver or place.how == "import"):
            return found_all
        if narrow in self._candidates:
            return self._candidates[narrow]
        if modules:
            found = found_all.by_name.definitions
            tops = frozenset(each.key for each in found_all.tops if place.receiver)
            owner = place.receiver or "exports"
            meant = [d for d in found if not d.scope or d.owner == owner or d.key in tops]
            files = {each.at.id for each in meant}
            reached = self.modules.reached({subject, name}, at, modules, files)
            followed = tuple(each for each in meant if each.at.id in (reached or ()))
            if reached:
                others = meant if place.receiver else found
                away = {each.key for each in others if each.at.id not in {at.id, *reached}}
                kept = self._sorted_out(tuple(each for each in found if each.key not in away))
                found_all = replace(kept, followed=followed)
            elif reached is not None and not place.receiver:
                found_all = self._sorted_out(tuple(d for d in found if d.at.id == at.id))
        else:
            seen = (each for each in found_all.tops if self.modules.sees(at, each))
            found_all = replace(found_all, tops=tuple(seen))
        self._candidates[narrow] = found_all
        return found_all

    def _imported(self, name: str, at: NamedFile, place: Place, asked: _Asked) -> NameCandidates:
        """Return those candidates of `asked` that the file's imports of `name` do not rule out."""
        packages = self._packages.imported(name, at, place)
        if not packages:
            return self._candidates[asked]
        narrow = (asked, packages, at.id)
        if narrow not in self._candidates:
            may_be = partial(self._packages.may_be_of, packages)
            found = self._candidates[asked].by_name.definitions
            kept = tuple(d for d in found if d.at.id == at.id or may_be(d))
            self._candidates[narrow] = self._sorted_out(kept)
        return self._candidates[narrow]

    def _behind(self, receiver: str, asked: _Asked) -> NameCandidates:
        """Return the members of class `receiver` among the too many of `asked`, or all."""
        named = self._candidates[asked].by_owner.get(receiver) if receiver else None
        if not named or len(named) > MAX_CANDIDATES:
            return self._candidates[asked]
        narrow = (asked, receiver)
        if narrow not in self._candidates:
            self._candidates[narrow] = self._sorted_out(tuple(named))
        return self._candidates[narrow]

    def _family_of(self, name: str, at: NamedFile) -> _Family:
        key = name, at.realm
        if key not in self._families:
            found = without_stubs(self._graph.defined_for(at, name))
            hidden = {each.key for each in found if is_hidden(self._graph, each)}
            local = by_key((each.at.id, each) for each in found if each.key in hidden)
            shared = tuple(each for each in found if each.key not in hidden)
            known = frozenset(at for d in found if is_field(d) for at in (d.owner, d.at.id))
            outers = frozenset(d.owner for d in found if is_valueless(d))
            files, is_file = {d.at.id for d in found}, any(name in d.at.modules for d in found)
            self._families[key] = _Family(shared, local, known, outers, files, is_file)
        return self._families[key]

    def _sorted_out(self, found: tuple[Defined, ...], is_bare: bool = False) -> NameCandidates:
        if len(found) > MAX_CANDIDATES:
            return NameCandidates(
                Meaning(tuple(d for d in found if not (is_bare and self._is_of_enum(d))))
            )
        around = [(d, self._graph.kind_around(d)) for d in found]
        tops = tuple(d for d, kind in around if not kind and not _is_outer_method(d, kind))
        inner = (d for d, kind in around if kind == "module" and d.at.scoping.module_paths)
        return NameCandidates(
            Meaning(found),
            tuple(
                d
                for d, kind in around
                if kind in _MEMBERS or _is_outer_method(d, kind) or _is_extension(d)
            ),
            tops or (() if is_bare else tuple(inner)),
            frozenset(d.at.id for d in found),
        )

    def _is_of_enum(self, defined: Defined) -> bool:
        return defined.kind == "constant" and self._graph.kind_around(defined) == "enum"


def _by_owner(definitions: Iterable[Defined]) -> Mapping[str, Sequence[Defined]]:
    return by_key((owner, each) for each in definitions for owner in _owners(each))


def _owners(defined: Defined) -> Iterator[str]:
    yield defined.owner
    if defined.kind == "constant" and defined.at.scoping.loose_constants:
        yield defined.scope.rpartition(".")[0].rpartition(".")[2]


def is_self(receiver: str, at: NamedFile) -> bool:
    return receiver in at.scoping.selves


def is_at_root(defined: Defined) -> bool:
    """Whether the definition is of the Go package at the root, which any import may mean."""
    return defined.at.family == "go" and not defined.at.folder


def _is_extension(defined: Defined) -> bool:
    """Whether `defined` is an extension function of Kotlin: `fun Cart.total()`."""
    return defined.at.file.language == "kotlin" and f".{defined.name}" in defined.signature


def _is_outer_method(defined: Defined, around: str) -> bool:
    """Whether a method is defined outside the body of its class, as in C++, Go and Lua."""
    return not around and defined.kind == "method"
