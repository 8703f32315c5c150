"""Checks of atoms: of their frontmatter, of references between them, and for near duplicates.

Each docstring says what must hold. Most checks get one atom, and the whole snapshot beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from memory_sidecar.context.atoms import ANTI_PATTERN, ANTI_PATTERN_TAG, Atom, Finding
from memory_sidecar.context.loaded import CHALLENGES, REFERENCES, REPLACED_BY, REPLACES, Loaded
from memory_sidecar.disk.atoms import STANDINGS, AtomId, Standing, date_of, text_of, texts_of

if TYPE_CHECKING:
    from memory_sidecar.context.loaded import Vectors

REQUIRED = ("id", "date", "project", "summary", "tags")
CHANGED = frozenset({"challenged", "corrected", "superseded", "refined", "invalidated"})
STALE_AFTER = timedelta(days=30)
# Cosine of two summaries by bge-small. Paraphrases measure 0.93 to 0.98; summaries about the same
# subject that say something else up to 0.91.
SAME_ABOVE = 0.92
ROWS = 1024  # compared at a time
SETTLING = frozenset({*CHALLENGES, *REPLACES})
UNSETTLED = frozenset({"", "active", "valid", "partial", "challenged"})

_VERBS = ("challenges", "contradicts", "refutes", "disproves", "invalidates", "falsifies")
_CHALLENGE = re.compile(
    rf"\b(?P<verb>{'|'.join(_VERBS)})"
    r"[ \t]+(?:[\w*`'\[]+[ \t]+){0,4}?[*`'\[]*(?P<id>(?:EXP|K|PAT)-\d+[a-z]?)(?![\w-])"
)


def check_frontmatter(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """The frontmatter is YAML, and no merge left its marks."""
    if "conflict" in atom.problem:
        yield atom.finding(
            "it has an unresolved merge conflict",
            f"keep one of the two here, and give the other one the next free number: {_new(atom)}",
        )
    elif atom.problem:
        yield atom.finding(f"its frontmatter is broken: {atom.problem}", "fix it by hand")
    elif not atom.meta:
        yield atom.finding("it has no frontmatter", f"begin it with {', '.join(REQUIRED)}")


def check_required(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """Every required key is there and has a valid value."""
    if atom.problem or not atom.meta:
        return
    owner = atom.project.name
    safe = {"id": atom.name, "project": owner}
    for key in REQUIRED:
        if key not in atom.meta or (key != "tags" and not text_of(atom.meta[key])):
            edits = {key: safe[key]} if key in safe else None
            yield atom.finding(f"it has no {key}", f"add {key}: …", key=key, edits=edits)
    date, project = (text_of(atom.meta.get(key)) for key in ("date", "project"))
    if date and atom.facts.date is None:
        yield atom.finding(f"{date!r} is not a date", "write YYYY-MM-DD", key="date")
    status = atom.facts.status
    if status and status not in STANDINGS:
        known = ", ".join(STANDINGS)
        yield atom.finding(f"unknown status {status!r}", f"one of {known}", key="status")
    if project and project != owner:
        text = f"it says that it belongs to {project!r}, but lies in {owner!r}"
        yield atom.finding(text, "move the file, or correct the key", key="project")
    for key in ("tags", *REFERENCES):
        if isinstance(atom.meta.get(key), dict):
            yield atom.finding(f"{key} is not a list", f"write {key}: [a, b]", key=key)


def check_id(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """The id in the frontmatter is the name of the file."""
    written = text_of(atom.meta.get("id"))
    if written and written != atom.name:
        yield atom.finding(
            f"its id is {written}, but the file is {atom.path.name}",
            "rename the file, or correct the id; links go by the file", key="id",
        )  # fmt: skip


def check_basis(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """Knowledge names its evidence, and a pattern the experiments it was drawn from."""
    key = atom.id.kind.basis
    if atom.id.kind.needs_basis and not (atom.problem or texts_of(atom.meta.get(key))):
        without = f"{atom.id.kind} without {key.removeprefix('source-')}"
        yield atom.finding(without, f"add {key}: [EXP-…]", key=key)


def check_status(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """An atom with a changed standing links to the atom that changed it."""
    status = atom.facts.status
    if status not in CHANGED or atom.successors:
        return
    if not any(atom.ids_under(key) for key in ("links", *REPLACED_BY)):
        remedy = f"write status: {status}:EXP-…, or link it"
        yield atom.finding(f"it is {status}, without saying by what", remedy, key="status")


def check_anti_pattern_tag(_: Loaded, atom: Atom) -> Iterator[Finding]:
    """An atom whose summary begins with ANTI-PATTERN: has the tag."""
    if atom.facts.summary.startswith(ANTI_PATTERN) and ANTI_PATTERN_TAG not in atom.tags:
        yield atom.finding(
            "an anti-pattern without its tag", f"add the tag {ANTI_PATTERN_TAG}",
            key="tags", edits={"tags": [*atom.tags, ANTI_PATTERN_TAG]},
        )  # fmt: skip


def check_links(loaded: Loaded, atom: Atom) -> Iterator[Finding]:
    """The atoms that the frontmatter names exist."""
    for key, name in loaded.named(atom):
        if loaded.target(atom, name) is None:
            text = f"{key} names {name}, which does not exist"
            yield atom.finding(text, "correct the id, or bring the file back", key=key, item=name)


def check_cold(loaded: Loaded, atom: Atom) -> Iterator[Finding]:
    """Cold: the atom is older than two weeks and was never read."""
    if loaded.is_cold(atom):
        yield atom.finding(
            f"cold: nobody has read it in {loaded.age(atom).days} days",
            "make its summary say what it is good for, merge it, or write status: stale",
            key="summary",
        )


def check_stale(loaded: Loaded, atom: Atom) -> Iterator[Finding]:
    """Stale: the atom is a month old, was not read within it, and no newer atom refers to it."""
    last = date_of(loaded.refs(atom).last)
    is_read = last is not None and loaded.today - last <= STALE_AFTER
    if is_read or atom.facts.standing is not Standing.ACTIVE or loaded.age(atom) <= STALE_AFTER:
        return
    if not loaded.newer_referrers(atom):
        yield atom.finding(
            f"stale: {loaded.age(atom).days} days old, and nothing newer refers to it",
            "see whether it still holds; if not, write status: stale", key="date",
        )  # fmt: skip


def check_contradicted(loaded: Loaded, atom: Atom) -> Iterator[Finding]:
    """No newer atom challenges or replaces one whose status does not say so."""
    if atom.facts.status not in UNSETTLED:
        return
    for newer in loaded.newer_referrers(atom):
        if verb := _verb(loaded, newer, atom):
            yield atom.finding(
                f"contradicted: {newer.name} {verb} it, and nothing is settled",
                f"write status: corrected:{newer.name}, superseded:{newer.name} or "
                f"invalidated:{newer.name}; or valid, and say in {newer.name} why",
                key="status",
            )
            return


def _verb(loaded: Loaded, newer: Atom, atom: Atom) -> str:
    """Return the verb with which `newer` challenges or replaces `atom`; "" if it does not."""
    named = *atom.successors, *atom.ids_under("links")
    if atom.facts.status == "challenged" and newer.name in named:
        return "challenges"
    for key, name in loaded.named(newer):
        if key in SETTLING and loaded.target(newer, name) is atom:
            return key
    if not any(verb in newer.text for verb in _VERBS):  # rejects nearly all, and is far faster
        return ""
    for found in _CHALLENGE.finditer(newer.text):
        if loaded.target(newer, found["id"]) is atom:
            return found["verb"]
    return ""


# Checks of all atoms together


def check_duplicates(loaded: Loaded) -> Iterator[Finding]:
    """No number is taken twice, as happens when two branches that took the same one are merged."""
    numbers: dict[object, Atom] = {}
    for atom in loaded.atoms.values():
        claimed, project = AtomId.parse(text_of(atom.meta.get("id"))) or atom.id, atom.project.name
        for each in {(project, one.kind, one.number, one.suffix) for one in (atom.id, claimed)}:
            if (first := numbers.setdefault(each, atom)) is not atom:
                yield atom.finding(
                    f"{first.path.name} has the same number",
                    "give one of them the next free number, and correct what refers to it: "
                    f"{_new(atom)}", key="id",
                )  # fmt: skip


def check_merge(loaded: Loaded) -> Iterator[Finding]:
    """Merge: no other atom of the project and kind says nearly the same."""
    saying = [atom for atom in loaded.atoms.values() if atom.facts.summary]
    atoms = [atom for atom in saying if atom.facts.standing is Standing.ACTIVE]
    if loaded.embed is None or len(atoms) < 2:
        return
    texts = [atom.facts.summary.removeprefix(ANTI_PATTERN).strip() for atom in atoms]
    vectors = loaded.embed(texts)
    for _, group in groupby(atoms, key=lambda atom: (atom.project, atom.id.kind)):
        shelf = list(group)
        for earlier_row, later_row, cosine in near_pairs(vectors[: len(shelf)]):
            earlier, later = shelf[earlier_row], shelf[later_row]
            if not (_links(loaded, earlier, later) or _links(loaded, later, earlier)):
                yield later.finding(
                    f"it says nearly the same as {earlier.name} (cosine {cosine:.2f})",
                    f"write status: superseded:{earlier.name}, or link them", key="summary",
                )  # fmt: skip
        vectors = vectors[len(shelf) :]


def near_pairs(vectors: Vectors, *, threshold: float = SAME_ABOVE) -> list[tuple[int, int, float]]:
    """Pair each row with the nearest row before it, if their cosine reaches `threshold`.

    `vectors`: (n, dimension), of length one. A pair is the earlier row, the later row and their
    cosine. Compares a block of rows at a time to save memory: 10,000 texts take a second or two.
    """
    import numpy as np  # 0.1 s

    pairs = []
    for start in range(0, len(vectors), ROWS):
        block = vectors[start : start + ROWS]
        cosines = block @ vectors[: start + len(block)].T
        # A row is compared only with those before it: not with itself, and no pair twice.
        rows = np.arange(start, start + len(block))[:, None]
        cosines[np.arange(cosines.shape[1])[None, :] >= rows] = -1.0
        nearest = cosines.argmax(axis=1)
        best = cosines[np.arange(len(block)), nearest]
        pairs += [
            (int(nearest[row]), start + int(row), float(best[row]))
            for row in np.flatnonzero(best >= threshold)
        ]
    return pairs


def _links(loaded: Loaded, one: Atom, other: Atom) -> bool:
    return any(loaded.target(one, name) is other for _, name in loaded.named(one))


def _new(atom: Atom) -> str:
    return f"`memory-sidecar context new {atom.id.kind} --project {atom.project.name}`"
