"""Follows the path of a receiver, `this.till` or `Shop.cart()`, to the members of its class.

Paths are those of `chunking.types`. What is known of a class lies in its source: of any other, only
the name is. Then a member may be one of a class that is derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from memory_sidecar.chunking.types import classes_in
from memory_sidecar.code.candidates import Meaning, NameCandidates, is_self, one_or_all, sole
from memory_sidecar.code.classes import MAX_LINEAGE, Lineages
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, NamedFile
from memory_sidecar.core.cached_method import cached_method

MeaningOf: TypeAlias = Callable[[str, NamedFile, Place], Meaning]
_Class: TypeAlias = Defined | str
"""A class, by its name alone if no source has it."""

_RETURNED = re.compile(r"\)\s*:\s*([^{;=()]+)\Z")
_MODIFIERS = re.compile(r"\b(?:private|protected|public|readonly|static|var)\b")
_OPEN = ("__call", "__callStatic", "__get")  # with one of these, a class has members of any name


class PathFollower:
    """Follows paths, and caches what is found for one answer."""

    def __init__(self, lineages: Lineages, meaning_of: MeaningOf) -> None:
        self._graph = lineages.graph
        self._lineages = lineages
        self._meaning_of = meaning_of
        self._classes: dict[tuple[object, ...], Sequence[_Class]] = {}

    def meaning(self, at: NamedFile, place: Place, found: NameCandidates) -> Meaning | None:
        """Return the members among `found` of the receiver; `None` if nothing tells its class."""
        if not at.scoping.paths_of_receivers or is_self(place.receiver, at):
            return None
        is_behind = place.receiver and place.how in ("call", "attribute", "other")
        classes = self._at_end(at, place) if is_behind else ()
        if not classes:
            return None
        all_ = found.by_name.definitions
        known = [each for each in classes if isinstance(each, Defined)]
        if meant := {d.key: d for each in known for d in self._members(each, all_)}:
            return one_or_all([*meant.values()], "exact")
        if not place.module or any(self._named(each, name) for each in known for name in _OPEN):
            return None
        names = {each if isinstance(each, str) else each.name for each in classes}
        derived = [d for d in all_ if not names.isdisjoint(self._lineages.of(d.at, d.owner))]
        return sole(derived, "likely") or Meaning(tuple(derived))

    def _at_end(self, at: NamedFile, place: Place) -> Sequence[_Class]:
        """Return the classes to which the path of a receiver leads; none if it is not known."""
        path = place.module or place.receiver
        key = at.id, path, place.within
        if key not in self._classes:
            heads, *steps = path.split(".")
            classes = [each for name in heads.split("|") for each in self._called(name, at, place)]
            if not place.module and not any(isinstance(each, Defined) for each in classes):
                classes = []  # no class, but a variable or a namespace
            for step in steps:
                known = {each.key: each for each in classes if isinstance(each, Defined)}
                classes = [each for before in known.values() for each in self._behind(before, step)]
            self._classes[key] = list(dict.fromkeys(classes))
        return self._classes[key]

    def _behind(self, around: Defined, step: str) -> Iterator[_Class]:
        """Yield the classes that a member is declared to have, or to return."""
        name = step.removesuffix("()")
        for each in self._named(around, name, "field" if name == step else "method"):
            returned = _RETURNED.search(each.signature)
            type_ = (
                _MODIFIERS.sub("", each.signature.partition(f"${name}")[0])
                if name == step
                else returned[1]
                if returned
                else ""
            )
            place = Place(each.start_line, "type", each.number, "")
            for called in classes_in(type_):
                yield from [around] if called == "this" else self._called(called, each.at, place)

    def _called(self, name: str, at: NamedFile, place: Place) -> Sequence[_Class]:
        """Return the class of that name as seen from a place, or its name if no source has it."""
        if name in ("this", "parent"):
            own = self._around(at, place)
            line = self._line(own)[name == "parent" :] if own else ()
            return line[:1]
        namespace, _, name = name.rpartition("\\")
        meaning = self._meaning_of(name, at, Place(place.line, "type", place.within, namespace))
        types = [d for d in meaning.definitions if d.is_type]
        if types:
            return types if meaning.confidence != "by name" else ()
        return [name] if self._graph.mentions(at, name) else ()

    def _around(self, at: NamedFile, place: Place) -> Defined | None:
        around = self._graph.enclosing(at, place)
        path = around.path if around else ""
        while path:
            for each in self._graph.defined(path.rpartition(".")[2]):
                if each.at.id == at.id and each.path == path and each.is_type:
                    return each
            path = path.rpartition(".")[0]
        return None

    def _named(self, around: Defined, name: str, kind: str = "method") -> Sequence[Defined]:
        return self._members(around, [d for d in self._graph.defined(name) if d.kind == kind])

    def _members(self, around: Defined, among: Sequence[Defined]) -> Sequence[Defined]:
        """Return those of `among` that a class has itself, or else inherits from the nearest."""
        for each in self._line(around):
            if own := [d for d in among if (d.at.id, d.scope) == (each.at.id, each.path)]:
                return own
        return ()

    @cached_method
    def _line(self, of: Defined) -> Sequence[Defined]:
        """Return a class, followed by those that it is derived from, nearest first."""
        line = [of]
        for each in line:  # grows while it is iterated
            place = Place(each.start_line, "type", each.number, "")
            for name in self._lineages.bases_of(each):
                bases = self._called(name, each.at, place)
                line += [d for d in bases if isinstance(d, Defined) and d not in line]
            if len(line) > MAX_LINEAGE:
                break
        return line
