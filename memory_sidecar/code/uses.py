"""Finds the uses of definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from memory_sidecar.code.asides import is_aside
from memory_sidecar.code.candidates import Meaning
from memory_sidecar.code.classes import made_by, may_reach, overridden
from memory_sidecar.code.document import Place
from memory_sidecar.code.graph import Defined, NamedFile
from memory_sidecar.code.model import ChunkFile
from memory_sidecar.code.resolve import CONFIDENCES, Resolver
from memory_sidecar.code.results import Confidence
from memory_sidecar.code.units import with_declarations


@dataclass(frozen=True, slots=True)
class UsePlace:
    """A use of a name, and the definitions that it may mean."""

    at: NamedFile
    name: str
    place: Place
    meaning: Meaning
    depth: int = 1
    is_near: bool = True  # whether its file has, or names the class of, what is asked about

    @property
    def confidence(self) -> Confidence:
        return self.meaning.confidence

    @property
    def is_call(self) -> bool:
        if self.place.how == "call":
            return True
        return is_bare_call(self.name, self.at, self.place) and self.confidence != "by name"

    @property
    def is_uncalled(self) -> bool:
        """Whether this surely uses the definition without a call, as a callback or a property."""
        is_other = self.place.how in ("attribute", "other") and self.confidence != "by name"
        return is_other and not self.is_call

    def order(self) -> tuple[int, int, bool, bool, ChunkFile, int]:
        """Return the sort key of results: nearest, surest, asides last, then by place."""
        path = self.at.file.path
        rank = CONFIDENCES.index(self.confidence)
        return self.depth, rank, not self.is_near, is_aside(path), self.at.file, self.place.line


def is_bare_call(name: str, at: NamedFile, place: Place) -> bool:
    """Whether a name alone calls a method, if it means one: no constant, and a local is no use."""
    return at.scoping.bare_calls and place.how == "other" and not name[:1].isupper()


def uses_of(resolver: Resolver, targets: Sequence[Defined]) -> Iterator[UsePlace]:
    """Yield the uses that may mean one of `targets`, each once.

    A call of a class counts as a call of its constructors, which code seldom names. A use of a base
    class's method is likely a use of its overrides, too.
    """
    graph, lineages = resolver.graph, resolver.lineages
    wanted: dict[str, dict[tuple[int, int], bool]] = {}  # by name and key: whether only calls count
    owners: dict[str, set[str]] = {}
    overrides: dict[tuple[int, int], list[Defined]] = {}  # by the key of the method of the base
    aliased: dict[str, set[int]] = {}  # by a name that only imports give: the files that have it so
    for each in with_declarations(graph, targets):
        wanted.setdefault(each.name, {})[each.key] = False
        owners.setdefault(each.name, set()).add(each.owner)
        for alias, files in resolver.renames.aliases_of(each).items():
            wanted.setdefault(alias, {}).setdefault(each.key, False)
            aliased.setdefault(alias, set()).update(files)
        for made in made_by(graph, each):
            wanted.setdefault(made.name, {}).setdefault(made.key, True)
            owners.setdefault(made.name, set()).add(made.name)
        for base in overridden(lineages, each):
            overrides.setdefault(base.key, []).append(each)
    own = {each.at.id for each in targets}
    for name, keys in wanted.items():
        users = None if name in owners else aliased[name]
        near = own | graph.files_with_any(owners.get(name, ()))
        met_by = cache(frozenset(keys).intersection)  # thousands of uses have the same meaning
        used_in = (used for used in graph.uses(name) if users is None or used.at.id in users)
        for at, place in ((used.at, place) for used in used_in for place in used.places):
            meaning = resolver.meaning_of(name, at, place)
            met = met_by(meaning.keys)
            if met and (place.how == "call" or not all(keys[key] for key in met)):
                yield UsePlace(at, name, place, meaning, is_near=at.id in near)
            elif meaning.confidence != "by name":
                reached = (each for key in meaning.keys for each in overrides.get(key, ()))
                if any(may_reach(lineages, at, place, each) for each in reached):
                    yield UsePlace(at, name, place, replace(meaning, confidence="likely"))
