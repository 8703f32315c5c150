"""`memory-sidecar context check|tasks`: what is wrong, and what is to be done."""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.context_root import chosen_projects, open_context, root_option
from memory_sidecar.cli.options import with_call
from memory_sidecar.context.findings import Finding
from memory_sidecar.context.health import RULES
from memory_sidecar.core.errors import SidecarError
from memory_sidecar.outputs import context as out

_rule = click.Choice(list(RULES))


@click.command()
@click.argument("project", required=False)
@click.option("--fix", is_flag=True, help="Do what loses and decides nothing, and check again.")
@click.option("--only", multiple=True, type=_rule, help="Only this rule; any number of times.")
@click.option("--skip", multiple=True, type=_rule, help="All but this one; likewise.")
@root_option
@with_call
def check(
    call: Call,
    *,
    project: str | None,
    fix: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    root: str | None,
) -> None:
    """Find what is wrong in a root, or in one PROJECT: each with its file, line and remedy.

    Exit status 1 when there is something.
    """
    opened = open_context(call, root)
    owner = opened.root.project(project) if project is not None else None
    rules = [rule for rule in only or RULES if rule not in skip]
    findings = opened.check(rules=rules, project=owner, reporter=call.reporter)
    if fix and any(finding.fix for finding in findings):
        fixed = opened.fix(findings, reporter=call.reporter)
        call.reporter.notice(f"{fixed} mended")
        findings = opened.check(rules=rules, project=owner, reporter=call.reporter)
    findings = call.masked(findings)
    call.reporter.close()
    shown = opened.root.shown
    if call.wants_json:
        call.print_json([_finding_json(call, each, shown(each.path)) for each in findings])
    else:
        for each in findings:
            place = f"{shown(each.path)}:{each.line}"
            call.print(f"{place}: [{each.rule}] {each.text} — {call.hint(each.remedy)}")
    if findings:
        can_fix = any(finding.fix for finding in findings)
        raise SidecarError(
            f"{len(findings)} findings",
            hint="`memory-sidecar context check --fix` does what is safe" if can_fix else "",
        )
    if not call.wants_json:
        call.print("nothing is wrong")


@click.command()
@click.argument("project", required=False)
@click.option("--all", "every", is_flag=True, help="Every project, wherever this is run.")
@click.option("--archive", is_flag=True, help="Move what is done to tasks-archive.md.")
@root_option
@with_call
def tasks(call: Call, *, project: str | None, every: bool, archive: bool, root: str | None) -> None:
    """List the tasks in TASKS.yaml; with --archive, move and list those that are done."""
    opened = open_context(call, root)
    projects = chosen_projects(call, opened, project, every=every)
    listing = opened.archive if archive else opened.tasks
    found = call.masked(listing(projects, reporter=call.reporter))
    if call.wants_json:
        call.print_json(
            [
                {
                    "project": task.project,
                    "id": task.id,
                    "text": task.text,
                    "status": task.status,
                    "done": task.is_done,
                    "priority": task.priority,
                    "line": task.first_line,
                }
                for task in found
            ]
        )
        return
    for task in found:
        mark = "x" if task.is_done else " "
        priority = f" ({task.priority})" if task.priority else ""
        name = f"{task.id}: " if task.id else ""
        call.print(f"[{mark}] {task.project}: {name}{task.text} [{task.status}]{priority}")


def _finding_json(call: Call, finding: Finding, file: str) -> out.ContextFinding:
    return {
        "rule": finding.rule,
        "file": file,
        "line": finding.line,
        "text": finding.text,
        "remedy": call.hint(finding.remedy),
        "fixable": finding.fix is not None,
    }
