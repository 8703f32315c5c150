"""`memory-sidecar context access|refs`: who reads what, and how much."""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.context_root import (
    chosen_projects,
    context_settings,
    open_context,
    root_option,
)
from memory_sidecar.cli.options import with_call
from memory_sidecar.context.access import Access, accesses_of_event, accesses_of_paths
from memory_sidecar.context.handlers import commit as commit_reads
from memory_sidecar.context.handlers import record
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.outputs import context as out


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--commit", is_flag=True, help="Commit the access log with git.")
@root_option
@with_call
def access(call: Call, *, paths: tuple[str, ...], commit: bool, root: str | None) -> None:
    """Count a read of each PATH that is an atom, each once.

    Without PATH, or with -, reads a tool call as JSON from standard input, as coding agents hand
    it to a hook: a Read counts its file, a Grep each file it found. Anything else counts nothing.
    With --root, atoms of that root only.
    """
    only = open_context(call, root).root if root else None
    if paths and paths != ("-",):
        accesses = accesses_of_paths([call.path(path) for path in paths], only=only)
    else:
        accesses = accesses_of_event(_event(call), cwd=call.cwd, only=only)
    record(accesses)
    if commit:
        commit_reads(accesses)
    elif context_settings(call).context_commit:
        _commit_if_possible(call, accesses)
    if call.wants_json:
        call.print_json([_access_json(each) for each in accesses])
        return
    for each in accesses:
        call.print(f"{each.project.name}: {each.file}")


@click.command()
@click.argument("project", required=False)
@click.option("--hot", is_flag=True, help="Only those with five refs or more.")
@click.option("--cold", is_flag=True, help="Only those never read in more than two weeks.")
@click.option("--all", "every", is_flag=True, help="Every project, wherever this is run.")
@click.option("--rotate", is_flag=True, help="Then begin a new access log; no count is lost.")
@root_option
@with_call
def refs(
    call: Call,
    *,
    project: str | None,
    hot: bool,
    cold: bool,
    every: bool,
    rotate: bool,
    root: str | None,
) -> None:
    """Show how often each atom was read, the most used ones first."""
    opened = open_context(call, root)
    projects = chosen_projects(call, opened, project, every=every)
    used = call.masked(opened.used(projects))
    if hot:
        used = [each for each in used if each.is_hot]
    if cold:
        used = [each for each in used if each.is_cold]
    if rotate:
        for path in opened.rotate(projects, reporter=call.reporter):
            call.reporter.notice(f"the log up to now is {opened.root.shown(path)}")
    if call.wants_json:
        call.print_json(
            [
                {
                    "project": each.facts.project,
                    "id": str(each.facts.id),
                    "kind": each.facts.kind.value,
                    "summary": each.facts.summary,
                    "status": each.facts.status,
                    "standing": each.facts.standing.value,
                    "refs": each.refs.count,
                    "last_ref": each.refs.last or None,
                    "hot": each.is_hot,
                    "cold": each.is_cold,
                }
                for each in used
            ]
        )
        return
    for each in used:
        last = each.refs.last[:10] or "never"
        name = f"{each.facts.project}/{each.facts.id}"
        call.print(f"{each.refs.count:5}  {last:10}  {name}  {each.facts.summary}")


def _commit_if_possible(call: Call, accesses: list[Access]) -> None:
    """Nobody asked for this very commit, and a merge that is under way is no failure."""
    try:
        commit_reads(accesses)
    except SidecarError as error:
        call.reporter.notice(error.message)


def _event(call: Call) -> dict[str, object]:
    text = call.text("-")
    if not text.strip():
        raise UsageError("nothing to count", hint="name a PATH, or send a tool call as JSON")
    try:
        event = read_json(text)
    except BrokenJson as error:
        raise UsageError(
            f"standard input is no JSON: {error}", hint="send a tool call as agents' hooks do"
        ) from error
    if not isinstance(event, dict):
        raise UsageError(
            "standard input is no JSON object", hint='it has "tool_name" and "tool_input"'
        )
    return event


def _access_json(each: Access) -> out.Access:
    return {
        "project": each.project.name,
        "file": each.file,
        "tool": each.tool,
        "matches": each.matches,
    }
