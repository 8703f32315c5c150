"""Rules that look at atoms together: who refers to whom, and who says the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from memory_sidecar.context.atoms import Atom
from memory_sidecar.context.create import ANTI_PATTERN
from memory_sidecar.context.findings import Finding, about
from memory_sidecar.context.survey import CHALLENGES, REPLACES, Survey
from memory_sidecar.disk.atoms import AtomId, Standing, date_of, text_of

STALE_AFTER = timedelta(days=30)
# Of two summaries under bge-small. Said again in other words, they measure 0.93 to 0.98; about the
# same thing, but saying something else, up to 0.91.
SAME_ABOVE = 0.92
SETTLING = frozenset({*CHALLENGES, *REPLACES})
UNSETTLED = frozenset({"", "active", "valid", "partial", "challenged"})

_VERBS = ("challenges", "contradicts", "refutes", "disproves", "invalidates", "falsifies")
_CHALLENGE = re.compile(
    rf"\b(?P<verb>{'|'.join(_VERBS)})"
    r"[ \t]+(?:[\w*`'\[]+[ \t]+){0,4}?[*`'\[]*(?P<id>(?:EXP|K|PAT)-\d+[a-z]?)(?![\w-])"
)


def unique(survey: Survey) -> Iterator[Finding]:
    """No number is taken twice, as it is when two branches are merged that both took it."""
    for plan in survey.plans:
        names: dict[object, Atom] = {}
        for atom in plan.atoms:
            number = (atom.id.kind, atom.id.number, atom.id.suffix)
            claimed = AtomId.parse(text_of(atom.meta.get("id"))) or atom.id
            for name in {number, (claimed.kind, claimed.number, claimed.suffix)}:
                other = names.setdefault(name, atom)
                if other is not atom:
                    yield about(
                        atom, f"{other.path.name} has the same number",
                        f"give one of them the next free number, and correct what refers to it: "
                        f"`memory-sidecar context new {atom.id.kind} --project "
                        f"{plan.project.name}`", key="id",
                    )  # fmt: skip


def links_exist(survey: Survey) -> Iterator[Finding]:
    """What an atom rests on or leads to is there."""
    for _, atom in survey.each_atom():
        for key, name in survey.named(atom):
            if survey.target(atom, name) is None:
                yield about(
                    atom, f"{key} names {name}, which does not exist",
                    "correct the id, or bring the file back", key=key, item=name,
                )  # fmt: skip


def read_by_someone(survey: Survey) -> Iterator[Finding]:
    """Cold: nobody ever read it, in more than two weeks."""
    for plan, atom in survey.each_atom():
        if not survey.refs(plan, atom).count and atom.facts.is_cold(survey.today):
            yield about(
                atom, f"cold: nobody has read it in {survey.age(atom).days} days",
                "make its summary say what it is good for, merge it, or write status: stale",
                key="summary",
            )  # fmt: skip


def built_upon(survey: Survey) -> Iterator[Finding]:
    """Stale: it is older than a month, nobody read it since, and nothing newer refers to it."""
    for plan, atom in survey.each_atom():
        last = date_of(survey.refs(plan, atom).last)
        is_old = survey.age(atom) > STALE_AFTER
        is_read = last is not None and survey.today - last <= STALE_AFTER
        if atom.facts.standing is not Standing.ACTIVE or not is_old or is_read:
            continue
        if not survey.newer_referrers(atom):
            yield about(
                atom, f"stale: {survey.age(atom).days} days old, and nothing newer refers to it",
                "see whether it still holds; if not, write status: stale", key="date",
            )  # fmt: skip


def uncontradicted(survey: Survey) -> Iterator[Finding]:
    """No newer atom challenges or replaces one whose status does not say so."""
    for _, atom in survey.each_atom():
        if atom.facts.status not in UNSETTLED:
            continue
        for newer in survey.newer_referrers(atom):
            verb = _verb(survey, newer, atom)
            if verb:
                yield about(
                    atom, f"contradicted: {newer.name} {verb} it, and nothing is settled",
                    f"write status: corrected:{newer.name}, superseded:{newer.name} or "
                    f"invalidated:{newer.name}; or valid, and say in {newer.name} why",
                    key="status",
                )  # fmt: skip
                break


def unlike_others(survey: Survey) -> Iterator[Finding]:
    """Merge: no other atom of the project and kind says nearly the same."""
    shelves = [
        [
            atom
            for atom in shelf.atoms
            if atom.facts.standing is Standing.ACTIVE and atom.facts.summary
        ]
        for plan in survey.plans
        for shelf in plan.shelves
    ]
    atoms = [atom for shelf in shelves for atom in shelf]
    if survey.embed is None or len(atoms) < 2:
        return
    from memory_sidecar.context.similar import near_pairs  # with numpy, 0.1 s to import

    texts = [atom.facts.summary.removeprefix(ANTI_PATTERN).strip() for atom in atoms]
    vectors = survey.embed(texts)
    start = 0
    for shelf in shelves:
        for pair in near_pairs(vectors[start : start + len(shelf)], threshold=SAME_ABOVE):
            earlier, later = shelf[pair.earlier], shelf[pair.later]
            if not (_links(survey, earlier, later) or _links(survey, later, earlier)):
                yield about(
                    later,
                    f"merge: it says nearly the same as {earlier.name} (cosine {pair.cosine:.2f})",
                    f"write status: superseded:{earlier.name}, or link them", key="summary",
                )  # fmt: skip
        start += len(shelf)


def _verb(survey: Survey, newer: Atom, atom: Atom) -> str:
    """What `newer` says that it does to `atom`, "" if nothing."""
    if atom.facts.status == "challenged" and newer.name in (
        *atom.successors,
        *atom.ids_under("links"),
    ):
        return "challenges"
    for key, name in survey.named(newer):
        if key in SETTLING and survey.target(newer, name) is atom:
            return key
    if not any(verb in newer.text for verb in _VERBS):  # as in nearly all: found out far sooner
        return ""
    for found in _CHALLENGE.finditer(newer.text):
        if survey.target(newer, found["id"]) is atom:
            return found["verb"]
    return ""


def _links(survey: Survey, one: Atom, other: Atom) -> bool:
    return any(survey.target(one, name) is other for _, name in survey.named(one))
