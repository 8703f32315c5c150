"""Checks a root: reads all of it, then asks each rule in turn. To add a rule is to add a line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import date

from memory_sidecar.context import rules_atoms, rules_files, rules_links
from memory_sidecar.context.findings import Finding
from memory_sidecar.context.layout import Project, Root
from memory_sidecar.context.regen import plan_project, plan_root
from memory_sidecar.context.survey import Embed, Survey

Rule = Callable[[Survey], Iterator[Finding]]

RULES: Mapping[str, Rule] = {
    "frontmatter": rules_atoms.readable,
    "required": rules_atoms.complete,
    "id": rules_atoms.named_right,
    "duplicate": rules_links.unique,
    "link": rules_links.links_exist,
    "evidence": rules_atoms.has_evidence,
    "experiments": rules_atoms.has_experiments,
    "status": rules_atoms.explains_status,
    "anti-pattern": rules_atoms.tagged_as_anti_pattern,
    "contradicted": rules_links.uncontradicted,
    "cold": rules_links.read_by_someone,
    "stale": rules_links.built_upon,
    "merge": rules_links.unlike_others,
    "missing": rules_files.whole,
    "size": rules_files.short,
    "sections": rules_files.status_has_sections,
    "index": rules_files.generated,
    "unlisted": rules_files.listed,
    "tasks": rules_files.tasks_readable,
    "access-log": rules_files.log_readable,
    "no-file": rules_files.plain,
    "leftover": rules_files.nothing_left_behind,
}


def survey(root: Root, *, now_ms: int, today: date, embed: Embed | None) -> Survey:
    """Read all of `root`; writes nothing."""
    plans = tuple(plan_project(each, now_ms=now_ms, today=today) for each in root.projects())
    return Survey(root, plans, tuple(plan_root(root)), now_ms, today, embed)


def examine(
    surveyed: Survey, *, rules: Collection[str] = RULES, project: Project | None = None
) -> list[Finding]:
    """What `rules` find, by file and line; of one `project` only, where one is given."""
    found: list[Finding] = []
    for name, rule in RULES.items():
        if name in rules:
            found += (replace(finding, rule=name) for finding in rule(surveyed))
    if project is not None:
        found = [finding for finding in found if finding.path.is_relative_to(project.path)]
    return sorted(found, key=lambda finding: (finding.path, finding.line, finding.rule))
