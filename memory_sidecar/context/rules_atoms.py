"""Rules that look at one atom at a time: is it what its kind asks for?"""

from __future__ import annotations

from collections.abc import Iterator

from memory_sidecar.context.create import ANTI_PATTERN, ANTI_PATTERN_TAG
from memory_sidecar.context.findings import Finding, about
from memory_sidecar.context.survey import REFERENCES, REPLACED_BY, Survey
from memory_sidecar.disk.atoms import STANDINGS, AtomKind, date_of, text_of, texts_of

REQUIRED = ("id", "date", "project", "summary", "tags")
CHANGED = frozenset({"challenged", "corrected", "superseded", "refined", "invalidated"})


def readable(survey: Survey) -> Iterator[Finding]:
    """The frontmatter is YAML, and no merge left its marks."""
    for plan, atom in survey.each_atom():
        if "conflict" in atom.problem:
            yield about(
                atom, "two branches met in it and the conflict is not resolved",
                f"keep one of the two here, and give the other one the next free number: "
                f"`memory-sidecar context new {atom.id.kind} --project {plan.project.name}`",
            )  # fmt: skip
        elif atom.problem:
            yield about(atom, f"its frontmatter is broken: {atom.problem}", "mend it by hand")
        elif not atom.meta:
            yield about(atom, "it has no frontmatter", f"begin it with {', '.join(REQUIRED)}")
    for plan in survey.plans:
        for shelf in plan.shelves:
            for stray in shelf.strays:
                yield Finding(stray.path, 1, stray.why, stray.remedy)


def complete(survey: Survey) -> Iterator[Finding]:
    """Every key that an atom must have is there and means something."""
    for plan, atom in survey.each_atom():
        if atom.problem or not atom.meta:
            continue
        safe = {"id": atom.name, "project": plan.project.name}
        for key in REQUIRED:
            value = atom.meta.get(key)
            is_there = key in atom.meta and (key == "tags" or text_of(value) != "")
            if not is_there:
                edits = {key: safe[key]} if key in safe else None
                yield about(atom, f"it has no {key}", f"add {key}: …", key=key, edits=edits)
        written = text_of(atom.meta.get("date"))
        if written and date_of(written) is None:
            yield about(atom, f"{written!r} is no date", "write YYYY-MM-DD", key="date")
        if atom.facts.status and atom.facts.status not in STANDINGS:
            known = ", ".join(STANDINGS)
            yield about(
                atom, f"unknown status {atom.facts.status!r}", f"one of {known}", key="status"
            )
        project = text_of(atom.meta.get("project"))
        if project and project != plan.project.name:
            yield about(
                atom, f"it says that it belongs to {project!r}, but lies in {plan.project.name!r}",
                "move the file, or correct the key", key="project",
            )  # fmt: skip
        for key in ("tags", *REFERENCES):
            if isinstance(atom.meta.get(key), dict):
                yield about(atom, f"{key} is no list", f"write {key}: [a, b]", key=key)


def named_right(survey: Survey) -> Iterator[Finding]:
    """The id in the file is the one that the file is called by."""
    for _, atom in survey.each_atom():
        written = text_of(atom.meta.get("id"))
        if written and written != atom.name:
            yield about(
                atom, f"it calls itself {written}, but the file is {atom.path.name}",
                "rename the file, or correct the id; links go by the file", key="id",
            )  # fmt: skip


def has_evidence(survey: Survey) -> Iterator[Finding]:
    """Knowledge says what shows it."""
    for _, atom in survey.each_atom():
        if atom.id.kind is AtomKind.KNOWLEDGE and not texts_of(atom.meta.get("evidence")):
            yield about(atom, "knowledge without evidence", "add evidence: [EXP-…]", key="evidence")


def has_experiments(survey: Survey) -> Iterator[Finding]:
    """A pattern says what it was drawn from."""
    for _, atom in survey.each_atom():
        key = "source-experiments"
        if atom.id.kind is AtomKind.PATTERN and not texts_of(atom.meta.get(key)):
            yield about(
                atom, "a pattern without experiments", f"add {key}: [EXP-…, EXP-…]", key=key
            )


def explains_status(survey: Survey) -> Iterator[Finding]:
    """Whatever changed an atom's standing is linked from it."""
    for _, atom in survey.each_atom():
        if atom.facts.status not in CHANGED or atom.successors:
            continue
        if not any(atom.ids_under(key) for key in ("links", *REPLACED_BY)):
            yield about(
                atom, f"it is {atom.facts.status}, but not said by what",
                f"write status: {atom.facts.status}:EXP-…, or link it", key="status",
            )  # fmt: skip


def tagged_as_anti_pattern(survey: Survey) -> Iterator[Finding]:
    """A summary that begins with ANTI-PATTERN: is found by its tag."""
    for _, atom in survey.each_atom():
        if atom.facts.summary.startswith(ANTI_PATTERN) and ANTI_PATTERN_TAG not in atom.tags:
            yield about(
                atom, "an anti-pattern without its tag", f"add the tag {ANTI_PATTERN_TAG}",
                key="tags", edits={"tags": [*atom.tags, ANTI_PATTERN_TAG]},
            )  # fmt: skip
