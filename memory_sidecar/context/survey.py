"""Everything that a check looks at, read once: the atoms of a root, and who refers to whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from memory_sidecar.context.atoms import Atom
from memory_sidecar.context.layout import Project, Root
from memory_sidecar.context.refs import Refs
from memory_sidecar.context.regen import Change, Plan
from memory_sidecar.disk.atoms import ids_in

if TYPE_CHECKING:  # 0.1 s to import
    import numpy as np
    import numpy.typing as npt

# The lists of a frontmatter that name other atoms. The last ones say what becomes of those.
CHALLENGES = ("challenges", "contradicts", "refutes", "invalidates")
REPLACES = ("supersedes", "corrects", "refines")
REPLACED_BY = ("superseded-by", "superseded_by", "corrected-by", "refined-by", "invalidated-by")
REFERENCES = ("evidence", "source-experiments", "links", *CHALLENGES, *REPLACES, *REPLACED_BY)

Embed = Callable[[Sequence[str]], "npt.NDArray[np.float32]"]
"""Texts → (n, dimension) vectors of length one."""


@dataclass(frozen=True)
class Survey:
    """A root at one moment. `embed` is `None` where no model is to be had."""

    root: Root
    plans: tuple[Plan, ...]
    root_changes: tuple[Change, ...]
    now_ms: int
    today: date
    embed: Embed | None

    @cached_property
    def atoms(self) -> Mapping[tuple[str, str], Atom]:
        """By project and id."""
        return {(atom.project.name, atom.name): atom for plan in self.plans for atom in plan.atoms}

    def each_atom(self) -> Iterator[tuple[Plan, Atom]]:
        for plan in self.plans:
            for atom in plan.atoms:
                yield plan, atom

    def refs(self, plan: Plan, atom: Atom) -> Refs:
        return plan.refs.get(atom.name, Refs())

    def age(self, atom: Atom) -> timedelta:
        """None at all where the date is unknown."""
        return self.today - atom.facts.date if atom.facts.date else timedelta(0)

    def target(self, atom: Atom, name: str) -> Atom | None:
        """The atom that `atom` calls `EXP-001`, or `other/EXP-001` in another project."""
        project, _, written = name.rpartition("/")
        return self.atoms.get((project or atom.project.name, written))

    def named(self, atom: Atom) -> Sequence[tuple[str, str]]:
        """What the frontmatter of `atom` names: key and atom, as it is written there."""
        return self._named[atom.project.name, atom.name]

    @cached_property
    def _named(self) -> Mapping[tuple[str, str], Sequence[tuple[str, str]]]:
        return {
            at: [
                *(
                    (key, name)
                    for key in REFERENCES
                    if key in atom.meta
                    for name in atom.ids_under(key)
                ),
                *(("status", name) for name in atom.successors),
            ]
            for at, atom in self.atoms.items()
        }

    @cached_property
    def referrers(self) -> Mapping[tuple[str, str], Sequence[Atom]]:
        """Who names an atom anywhere: in a list of the frontmatter, in the status or the text."""
        found: dict[tuple[str, str], list[Atom]] = {}
        for atom in self.atoms.values():
            for name in {*(name for _, name in self.named(atom)), *ids_in(atom.text)}:
                target = self.target(atom, name)
                if target is not None and target is not atom:
                    found.setdefault((target.project.name, target.name), []).append(atom)
        return found

    def newer_referrers(self, atom: Atom) -> list[Atom]:
        """Those that were written after `atom`, by id."""
        referrers = self.referrers.get((atom.project.name, atom.name), ())
        return sorted({_by_id(a): a for a in referrers if is_newer(a, atom)}.values(), key=_by_id)

    @property
    def projects(self) -> list[Project]:
        return [plan.project for plan in self.plans]


def is_newer(one: Atom, other: Atom) -> bool:
    """By date; of the same day or without one, by number, and another kind counts as newer."""
    dates = one.facts.date, other.facts.date
    if dates[0] and dates[1] and dates[0] != dates[1]:
        return dates[0] > dates[1]
    return one.id.kind is not other.id.kind or one.id > other.id


def _by_id(atom: Atom) -> tuple[str, str]:
    return atom.name, atom.project.name
