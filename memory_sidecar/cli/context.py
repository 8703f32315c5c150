"""`memory-sidecar context`: makes, checks and lists the files of a dense-context root."""

from __future__ import annotations

from functools import wraps

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import Command, allow_secrets_option, command_group, with_data_dir
from memory_sidecar.context import handlers
from memory_sidecar.context.access import Access, accesses_of_event, accesses_of_paths
from memory_sidecar.context.atoms import DECISION, AtomDraft
from memory_sidecar.context.checks import CHECKS
from memory_sidecar.context.layout import Project
from memory_sidecar.context.results import (
    AtomUse,
    ContextFinding,
    Initialised,
    NewAtom,
    Regenerated,
)
from memory_sidecar.context.tasks import Task
from memory_sidecar.core.errors import SidecarError, UsageError
from memory_sidecar.core.results import pluralize
from memory_sidecar.core.settings import load_settings
from memory_sidecar.disk.atoms import AtomKind

_root_option = click.option("--root", metavar="DIR", help="By default the nearest root upwards.")
_project = click.argument("project", required=False)
_rule = click.Choice(list(CHECKS))


def _with_projects(command: Command) -> Command:
    """Add PROJECT, --all and --root; pass the opened root and the chosen projects, too."""

    @_project
    @click.option(
        "--all", "every", is_flag=True, help="Every project, whatever the working directory."
    )
    @_root_option
    @with_data_dir
    @wraps(command)
    def wrapper(
        call: Call, /, *, project: str | None, every: bool, root: str | None, **given: object
    ) -> object:
        if project is not None and every:
            raise UsageError("a project and --all exclude each other", hint="leave out one of them")
        opened = _open_root(call, root)
        return command(call, opened, opened.projects(project, cwd=call.cwd, every=every), **given)

    return wrapper


@command_group
def context() -> None:
    """Dense-context roots: experiments, knowledge and patterns, one finding a file.

    A root is the one given by --root, by MEMORY_SIDECAR_CONTEXT or by the setting context_root;
    else the nearest folder upwards that has CORTEX.md and projects.
    """


@context.command()
@click.argument("path", metavar="[ROOT]", required=False)
@click.option("--project", metavar="NAME", help="Also create this project in it.")
@_root_option
@with_data_dir
def init(call: Call, *, path: str | None, project: str | None, root: str | None) -> Initialised:
    """Make ROOT a dense-context root, or add a project to it. Files that exist stay as they are."""
    named = [call.path(each) for each in (path, root) if each is not None]
    if len(set(named)) > 1:
        raise UsageError("ROOT and --root name two folders", hint="leave one of them out")
    if not named and project is None:
        raise UsageError("which folder?", hint="`memory-sidecar context init ROOT`")
    folder = named[0] if named else _open_root(call, None).root.path
    made = [each.relative_to(folder).as_posix() for each in handlers.init(folder, project=project)]
    if not made and not call.wants_json:
        call.reporter.notice("everything exists already")
    return call.show(Initialised(folder.as_posix(), project, made), made)


@context.command()
@click.argument("kind", type=click.Choice([*(kind.value for kind in AtomKind), DECISION]))
@click.argument("words", metavar="[SUMMARY]", nargs=-1)
@click.option("--summary", default="", help="What was found, in one line; or as SUMMARY.")
@click.option("--project", metavar="NAME", help="By default the one around the working directory.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A word to find it by.")
@click.option("--status", default="", metavar="STATUS", help="E.g. active, partial, valid.")
@click.option("--executor", default="", metavar="NAME", help="Who carried it out.")
@click.option("--link", "links", multiple=True, metavar="ID", help="A related atom.")
@click.option("--evidence", multiple=True, metavar="ID", help="Evidence for it; for knowledge.")
@click.option(
    "--source-experiment",
    "source_experiments",
    multiple=True,
    metavar="ID",
    help="What it is derived from; for a pattern.",
)
@click.option("--body", default="", metavar="TEXT", help="Instead of empty sections; - reads it.")
@allow_secrets_option
@_root_option
@with_data_dir
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
) -> NewAtom:
    """Make an experiment, knowledge, pattern or decision file under the next free number."""
    if words and summary:
        raise UsageError("the summary is given twice", hint="leave out --summary")
    draft = AtomDraft(
        summary=call.text(" ".join(words) or summary),
        status=status,
        executor=executor,
        body=call.text(body),
        **{name: _split_values(items) for name, items in lists.items()},
    )
    opened = _open_root(call, root)
    owner = opened.project(project, cwd=call.cwd)
    made = opened.new(owner, kind, draft, allow_secrets=allow_secrets)
    return call.show(made, [f"{made.id}: {made.path}"])


@context.command()
@_with_projects
def regen(call: Call, opened: handlers.Context, projects: list[Project]) -> Regenerated:
    """Write index.md of every atom folder, the file lists in CORTEX.md, and OVERVIEW.md.

    Takes PROJECT, else the one around the working directory, else all of them. Refs are counted
    from the access logs. Where nothing changed, nothing is written.
    """
    done = opened.regenerate(projects, reporter=call.reporter)
    call.reporter.close()
    for problem in done.problems:
        call.reporter.notice(f"{problem.file}:{problem.line}: {problem.text}")
    atoms = sum(each.experiments + each.knowledge + each.patterns for each in done.projects)
    problems = f", problems: {len(done.problems)}" if done.problems else ""
    counts = f"projects: {len(done.projects)}, atoms: {atoms:,}, files written: {len(done.written)}"
    return call.show(done, [counts + problems])


@context.command()
@_project
@click.option("--fix", is_flag=True, help="Fix whatever is safe to fix, and check again.")
@click.option(
    "--only", multiple=True, type=_rule, metavar="RULE", help="Only this rule; repeatable."
)
@click.option(
    "--skip", multiple=True, type=_rule, metavar="RULE", help="All rules but this one; repeatable."
)
@_root_option
@with_data_dir
def check(
    call: Call,
    *,
    project: str | None,
    fix: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    root: str | None,
) -> list[ContextFinding]:
    """Find what is wrong in a root, or in one PROJECT: each with its file, line, RULE and remedy.

    Exit status 1 when there is something.
    """
    opened = _open_root(call, root)
    owner = opened.root.project(project) if project is not None else None
    rules = [rule for rule in only or CHECKS if rule not in skip]
    if not rules:
        raise UsageError("no rule is left to check", hint="name fewer rules by --skip")
    findings = opened.check(rules=rules, project=owner, reporter=call.reporter)
    if fix and any(finding.fix for finding in findings):
        fixed = opened.fix(findings, reporter=call.reporter)
        call.reporter.notice(f"fixed {pluralize(fixed, 'finding')}")
        findings = opened.check(rules=rules, project=owner, reporter=call.reporter)
    shown = call.mask([opened.shown(finding, remedy_of=call.hint) for finding in findings])
    lines = (f"{it.file}:{it.line}: [{it.rule}] {it.text} — {it.remedy}" for it in shown)
    call.show(shown, lines if shown else ["nothing is wrong"])
    if shown:
        can_fix = any(each.fixable for each in shown)
        raise SidecarError(
            pluralize(len(shown), "finding"),
            hint="`memory-sidecar context check --fix` fixes what is safe" if can_fix else "",
        )
    return shown


@context.command()
@click.option("--archive", is_flag=True, help="Move finished tasks to tasks-archive.md.")
@_with_projects
def tasks(
    call: Call, opened: handlers.Context, projects: list[Project], *, archive: bool
) -> list[Task]:
    """List the tasks in TASKS.yaml; with --archive, move and list those that are done."""
    found = call.mask(opened.tasks(projects, archive=archive, reporter=call.reporter))
    return call.show(
        found,
        map(_task_line, found),
        nothing="no task is done" if archive else "there are no tasks",
    )


def _task_line(task: Task) -> str:
    mark = "x" if task.done else " "
    priority = f" ({task.priority})" if task.priority else ""
    name = f"{task.id}: " if task.id else ""
    return f"[{mark}] {task.project}: {name}{task.text} [{task.status}]{priority}"


@context.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--commit", is_flag=True, help="Commit the access log with git.")
@_root_option
@with_data_dir
def access(call: Call, *, paths: tuple[str, ...], commit: bool, root: str | None) -> list[Access]:
    """Count a read of each PATH that is an atom, each once.

    Without PATH, or with -, reads a tool call as JSON from standard input, as coding agents hand
    it to a hook: a Read counts its file, a Grep each file it found. Anything else counts nothing.
    With --root, atoms of that root only.
    """
    only = None if root is None else _open_root(call, root).root
    if paths and paths != ("-",):
        reads = accesses_of_paths([call.path(path) for path in paths], only=only)
    else:
        hint = 'name a PATH, or send a tool call as hooks get it: "tool_name" and "tool_input"'
        reads = accesses_of_event(call.event(hint=hint), cwd=call.cwd, only=only)
    handlers.record(reads)
    # The caller's settings: those of the daemon that runs this may differ.
    if commit or load_settings(call.cwd, call.environ).context_commit:
        try:
            handlers.commit(reads, environ=call.environ)
        except SidecarError as error:
            if commit:
                raise
            call.reporter.notice(error.message)
    accesses = [each for _, each in reads]
    return call.show(accesses, (f"{each.project}: {each.file}" for each in accesses))


@context.command()
@click.option("--hot", is_flag=True, help="Only those with five refs or more.")
@click.option("--cold", is_flag=True, help="Only those never read in more than two weeks.")
@click.option("--rotate", is_flag=True, help="Then start a new access log; no count is lost.")
@_with_projects
def refs(
    call: Call,
    opened: handlers.Context,
    projects: list[Project],
    *,
    hot: bool,
    cold: bool,
    rotate: bool,
) -> list[AtomUse]:
    """Show how often each atom was read, the most used ones first."""
    used = call.mask(opened.list_uses(projects, hot=hot, cold=cold))
    if rotate:
        for path in opened.rotate(projects, reporter=call.reporter):
            call.reporter.notice(f"the previous log is {opened.root.shown(path)}")
    lines = (
        f"{each.refs:5}  {(each.last_ref or 'never')[:10]:10}  {each.project}/{each.id}"
        f"  {each.summary}"
        for each in used
    )
    wanted = " and ".join(name for name, named in (("hot", hot), ("cold", cold)) if named)
    return call.show(
        used, lines, nothing=f"no atom is {wanted}" if wanted else "there are no atoms"
    )


def _open_root(call: Call, root: str | None) -> handlers.Context:
    """Open the root named by --root, the environment or the settings. Raises NotFound."""
    named = None if root is None else call.path(root)
    found = handlers.find_root(named, cwd=call.cwd, environ=call.environ)
    return handlers.Context(found, embed_with=lambda: call.services.models.embed)


def _split_values(items: tuple[str, ...]) -> list[str]:
    """Split the values of a repeatable option at commas: `--tag a,b --tag c` gives three."""
    return [part.strip() for item in items for part in item.split(",") if part.strip()]
