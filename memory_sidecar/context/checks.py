"""Everything that can be wrong with a root. To add a check is to add a function and a line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from memory_sidecar.context import checks_atoms as atoms
from memory_sidecar.context import checks_pages as pages
from memory_sidecar.context.atoms import Atom, Finding
from memory_sidecar.context.layout import Project
from memory_sidecar.context.loaded import Loaded
from memory_sidecar.core.model import AtomKind

Check = Callable[[Loaded], Iterator[Finding]]


def _of_each(check: Callable[[Loaded, Atom], Iterable[Finding]], *kinds: AtomKind) -> Check:
    """`check` of every atom, or of those of `kinds`."""

    def check_all(loaded: Loaded) -> Iterator[Finding]:
        for atom in loaded.atoms.values():
            if not kinds or atom.id.kind in kinds:
                yield from check(loaded, atom)

    return check_all


def _readable(loaded: Loaded) -> Iterator[Finding]:
    """What lies among the atoms is one, and its frontmatter is YAML."""
    yield from _of_each(atoms.readable)(loaded)
    for project in loaded.projects:
        for shelf in project.shelves:
            yield from shelf.strays


CHECKS: Mapping[str, Check] = {
    "frontmatter": _readable,
    "required": _of_each(atoms.complete),
    "id": _of_each(atoms.named_right),
    "duplicate": atoms.unique,
    "link": _of_each(atoms.links_exist),
    "evidence": _of_each(atoms.has_basis, AtomKind.KNOWLEDGE),
    "experiments": _of_each(atoms.has_basis, AtomKind.PATTERN),
    "status": _of_each(atoms.explains_status),
    "anti-pattern": _of_each(atoms.tagged_as_anti_pattern),
    "contradicted": _of_each(atoms.uncontradicted),
    "cold": _of_each(atoms.read_by_someone),
    "stale": _of_each(atoms.built_upon),
    "merge": atoms.unlike_others,
    "missing": pages.whole,
    "size": pages.short,
    "sections": pages.status_has_sections,
    "index": pages.generated,
    "unlisted": pages.listed,
    "tasks": pages.tasks_readable,
    "access-log": pages.log_readable,
    "no-file": pages.plain,
    "leftover": pages.nothing_left_behind,
}


def examine(
    loaded: Loaded, *, rules: Collection[str] = CHECKS.keys(), project: Project | None = None
) -> list[Finding]:
    """What `rules` find, by file and line; of one `project` only, where one is given."""
    found = [
        replace(finding, rule=name)
        for name, check in CHECKS.items()
        if name in rules
        for finding in check(loaded)
        if project is None or finding.path.is_relative_to(project.path)
    ]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.rule))


def apply_fixes(findings: Iterable[Finding]) -> int:
    """Do what is safe; returns how much that was."""
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    for fix in fixes:
        fix()
    return len(fixes)
