"""The table of all checks of a root, by rule. A new check is a function and a line in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from memory_sidecar.context import checks_atoms as atoms
from memory_sidecar.context import checks_pages as pages
from memory_sidecar.context.atoms import Atom, Finding
from memory_sidecar.context.layout import Project
from memory_sidecar.context.loaded import Loaded
from memory_sidecar.core.errors import Conflict, PageBroken
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.atoms import AtomKind

Check = Callable[[Loaded], Iterator[Finding]]


def _for_each_atom(check: Callable[[Loaded, Atom], Iterable[Finding]], *kinds: AtomKind) -> Check:
    """Make a check of all atoms, or of those of `kinds`, from one of a single atom."""

    def check_all(loaded: Loaded) -> Iterator[Finding]:
        for atom in loaded.atoms.values():
            if not kinds or atom.id.kind in kinds:
                yield from check(loaded, atom)

    return check_all


def _check_frontmatter(loaded: Loaded) -> Iterator[Finding]:
    """Every file in a folder for atoms is an atom, and its frontmatter is YAML."""
    yield from _for_each_atom(atoms.check_frontmatter)(loaded)
    for project in loaded.projects:
        for shelf in project.shelves:
            yield from shelf.strays


CHECKS: Mapping[str, Check] = {
    "frontmatter": _check_frontmatter,
    "required": _for_each_atom(atoms.check_required),
    "id": _for_each_atom(atoms.check_id),
    "duplicate": atoms.check_duplicates,
    "link": _for_each_atom(atoms.check_links),
    "evidence": _for_each_atom(atoms.check_basis, AtomKind.KNOWLEDGE),
    "experiments": _for_each_atom(atoms.check_basis, AtomKind.PATTERN),
    "status": _for_each_atom(atoms.check_status),
    "anti-pattern": _for_each_atom(atoms.check_anti_pattern_tag),
    "contradicted": _for_each_atom(atoms.check_contradicted),
    "cold": _for_each_atom(atoms.check_cold),
    "stale": _for_each_atom(atoms.check_stale),
    "merge": atoms.check_merge,
    "missing": pages.check_missing,
    "size": pages.check_size,
    "sections": pages.check_sections,
    "index": pages.check_generated,
    "unlisted": pages.check_unlisted,
    "tasks": pages.check_tasks,
    "access-log": pages.check_access_log,
    "no-file": pages.check_special_files,
    "leftover": pages.check_leftovers,
}


def examine(
    loaded: Loaded, *, rules: Collection[str], project: Project | None = None
) -> list[Finding]:
    """Run the checks `rules`; return their findings by file and line, `project`'s only if given."""
    found = [
        replace(finding, rule=name)
        for name, check in CHECKS.items()
        if name in rules
        for finding in check(loaded)
        if project is None or finding.path.is_relative_to(project.path)
    ]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.rule))


def apply_fixes(findings: Iterable[Finding], reporter: Reporter) -> int:
    """Apply the fixes of `findings` that have one; return how many were applied.

    A file that was changed or deleted meanwhile is left as it is, with a notice.
    """
    fixed = 0
    for finding in findings:
        if finding.fix is not None:
            try:
                finding.fix()
                fixed += 1
            except (Conflict, PageBroken) as error:
                reporter.notice(error.with_hint)
            except FileNotFoundError:
                reporter.notice(f"{finding.path} is gone")
    return fixed
