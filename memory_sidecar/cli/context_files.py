"""`memory-sidecar context init|new|regen`: what writes the files of a root."""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.context_root import chosen_projects, open_context, root_option
from memory_sidecar.cli.options import allow_secrets_option, with_call
from memory_sidecar.context.create import Draft
from memory_sidecar.context.handlers import init as init_root
from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk.atoms import AtomKind


@click.command()
@click.argument("path", metavar="[ROOT]", required=False)
@click.option("--project", metavar="NAME", help="Make this project in it, too.")
@root_option
@with_call
def init(call: Call, *, path: str | None, project: str | None, root: str | None) -> None:
    """Make ROOT a dense-context root, or add a project to it. Files that exist stay as they are."""
    named = path or root
    if named is None and project is None:
        raise UsageError("which folder?", hint="`memory-sidecar context init ROOT`")
    folder = call.path(named) if named else open_context(call, None).root.path
    made = init_root(folder, project=project)
    if call.wants_json:
        paths = [each.relative_to(folder).as_posix() for each in made]
        call.print_json({"root": folder.as_posix(), "project": project, "created": paths})
        return
    for each in made:
        call.print(each.relative_to(folder).as_posix())
    if not made:
        call.reporter.notice("everything is there already")


@click.command()
@click.argument("kind", type=click.Choice([kind.value for kind in AtomKind]))
@click.argument("words", metavar="[SUMMARY]", nargs=-1)
@click.option("--summary", default="", help="What was found, in one line; or as SUMMARY.")
@click.option("--project", metavar="NAME", help="The one around the working directory otherwise.")
@click.option("--tag", "tags", multiple=True, metavar="TAG")
@click.option("--status", default="", metavar="STATUS", help="E.g. active, partial, valid.")
@click.option("--executor", default="", metavar="NAME", help="Who carried it out.")
@click.option("--link", "links", multiple=True, metavar="ID", help="A related atom.")
@click.option("--evidence", multiple=True, metavar="ID", help="What shows it; for knowledge.")
@click.option(
    "--source-experiment",
    "source_experiments",
    multiple=True,
    metavar="ID",
    help="What it was drawn from; for a pattern.",
)
@click.option("--body", default="", metavar="TEXT", help="Instead of empty sections; - reads it.")
@allow_secrets_option
@root_option
@with_call
def new(
    call: Call,
    *,
    kind: str,
    words: tuple[str, ...],
    summary: str,
    project: str | None,
    root: str | None,
    body: str,
    status: str,
    executor: str,
    allow_secrets: bool,
    **lists: tuple[str, ...],
) -> None:
    """Make an experiment, knowledge or pattern file under the next free number."""
    if words and summary:
        raise UsageError("the summary is given twice", hint="leave out --summary")
    draft = Draft(
        summary=call.text(" ".join(words) or summary),
        status=status,
        executor=executor,
        body=call.text(body),
        **{name: _each(items) for name, items in lists.items()},
    )
    opened = open_context(call, root)
    owner = opened.project(project, cwd=call.cwd)
    atom_id, path = opened.new(owner, AtomKind(kind), draft, allow_secrets=allow_secrets)
    if call.wants_json:
        call.print_json(
            {
                "id": str(atom_id),
                "kind": kind,
                "project": owner.name,
                "path": path.as_posix(),
            }
        )
    else:
        call.print(f"{atom_id}: {path}")


@click.command()
@click.argument("project", required=False)
@click.option("--all", "every", is_flag=True, help="Every project, wherever this is run.")
@root_option
@with_call
def regen(call: Call, *, project: str | None, every: bool, root: str | None) -> None:
    """Write index.md of every atom folder, the file lists in CORTEX.md, and OVERVIEW.md.

    Takes PROJECT, else the one around the working directory, else all of them. Refs are counted
    from the access logs. Where nothing changed, nothing is written.
    """
    if project is not None and every:
        raise UsageError("a project and --all exclude each other", hint="leave out one of them")
    opened = open_context(call, root)
    projects = chosen_projects(call, opened, project, every=every)
    done = opened.regenerate(projects, reporter=call.reporter)
    call.reporter.close()
    shown = opened.root.shown
    for problem in done.problems:
        call.reporter.notice(f"{shown(problem.path)}:{problem.line}: {problem.text}")
    if call.wants_json:
        call.print_json(
            {
                "root": opened.root.path.as_posix(),
                "projects": [
                    {"project": name, **{kind.folder: count for kind, count in counts.items()}}
                    for name, counts in done.atoms.items()
                ],
                "written": [shown(path) for path in done.written],
                "problems": [
                    {"file": shown(each.path), "line": each.line, "text": each.text}
                    for each in done.problems
                ],
            }
        )
        return
    atoms = sum(sum(counts.values()) for counts in done.atoms.values())
    call.print(
        f"projects: {len(done.atoms)}, atoms: {atoms:,}, files written: {len(done.written)}"
        + (f", problems: {len(done.problems)}" if done.problems else "")
    )


def _each(items: tuple[str, ...]) -> list[str]:
    """`--tag a,b --tag c` means three."""
    return [part.strip() for item in items for part in item.split(",") if part.strip()]
