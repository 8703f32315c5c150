"""`memory-sidecar index`, `reindex` and `source`: registers folders and indexes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import click

from memory_sidecar.cli.call import Call, TextLine
from memory_sidecar.cli.form import path_from, title
from memory_sidecar.cli.options import command_group, force_option, with_call
from memory_sidecar.code.builder import unusable_excludes
from memory_sidecar.code.clones import PASSED_ON, GitAddress, is_address
from memory_sidecar.code.results import Published, SourceMoved
from memory_sidecar.core.children import child_environment
from memory_sidecar.core.errors import NotFound, SidecarError, UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import AgentReports, IndexReport, pluralize
from memory_sidecar.core.times import format_duration
from memory_sidecar.core.visible import visible_line
from memory_sidecar.disk.registry import Registry

PACE_WAIT_S = 2.0  # how long to measure the speed of embedding, if it is unknown

exclude_option = click.option(
    "--exclude",
    "excludes",
    multiple=True,
    metavar="GLOB",
    help="As in a .gitignore, and kept; `!GLOB` asks for files that may hold secrets.",
)

branch_option = click.option(
    "--branch", default="", metavar="NAME", help="Of an address: the branch or tag wanted."
)


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH|ADDRESS]...")
@click.option("--full", is_flag=True, help="Read unchanged files too.")
@click.option(
    "--wait",
    type=click.Choice(["dense", "keyword"]),
    help="Return when the vectors of PATH are done, or as soon as keywords are. By default keyword "
    "where a daemon embeds behind, and dense without one.",
)
@exclude_option
@branch_option
@force_option
@with_call
def index(
    call: Call,
    *,
    paths: tuple[str, ...],
    full: bool,
    wait: str | None,
    excludes: tuple[str, ...],
    branch: str,
    force: bool,
) -> IndexReport:
    """Register folders and index what changed in them.

    Without a PATH, every registered source. Files are never written to; ignored, binary,
    generated and very large ones are left out, each with its reason (`status --skipped`).

    An ADDRESS of git (`https://…`, `git@…`) is cloned into the data directory, and fetched anew
    each time, as it is where every source is indexed.
    """
    call.reporter.progress("looking", 0, 0)
    _require_address(paths, branch)
    if not paths:
        call.codebase.clones.refresh(_git_environ(call), call.reporter)
    report = call.codebase.index(
        [
            _add_clone(call, GitAddress(path, branch), excludes=excludes).root
            if is_address(path)
            else call.path(path)
            for path in paths
        ],
        reporter=call.reporter,
        excludes=excludes,
        full=full,
        embed=wait == "dense" if wait else None,
        force=force,
    )
    for each in call.codebase.registry.all():
        if each.name in report.sources:
            for problem in unusable_excludes(each, call.services.settings):
                call.reporter.notice(problem)
    report = call.mask(report)
    return call.show(report, _report_lines(call, report))


def _require_address(paths: Sequence[str], branch: str) -> None:
    if branch and not any(map(is_address, paths)):
        raise UsageError("--branch needs an ADDRESS", hint="a folder has its own branch")


def _add_clone(
    call: Call, address: GitAddress, *, excludes: tuple[str, ...], name: str | None = None
) -> Source:
    source = call.codebase.clones.add(
        address, name=name, excludes=excludes, environ=_git_environ(call), reporter=call.reporter
    )
    call.reporter.notice(f"`memory-sidecar search QUERY --source {source.name}` searches the clone")
    return source


def _git_environ(call: Call) -> dict[str, str]:
    named = call.services.settings.child_environment
    return child_environment(call.environ, {*named, *PASSED_ON})


def _report_lines(call: Call, report: IndexReport) -> Iterator[TextLine]:
    """Yield a report of `index` or `reindex` for a person."""
    roots = {} if report.agent else call.mask(dict(call.places.roots))
    for name in report.sources:
        yield title(name), f"  {visible_line(str(roots[name]))}" if name in roots else ""
    yield (
        f"{pluralize(report.files_total, 'file')}, {report.files_processed:,} indexed now, "
        f"{report.files_deleted:,} gone, {len(report.files_skipped):,} skipped, "
        f"{len(report.files_failed):,} failed; {pluralize(report.chunks_total, 'chunk')} in all "
        f"({report.seconds:.1f} s)"
    )
    for file in report.files_failed:
        path = path_from(roots[file.source] / file.path, call.cwd) if file.source in roots else ""
        yield visible_line(f"failed: {path or file.path}: {file.reason}")
    for folder in report.folders_unreadable:
        yield visible_line(f"unreadable, its index stays as it was: {folder}")
    if report.vectors_pending:
        yield call.hint(_remaining_work(call, report))


def _remaining_work(call: Call, report: IndexReport) -> str:
    """Return what is left to do after `index`, who does it, and about how long it takes."""
    waiting = pluralize(report.vectors_pending, "chunk")
    if call.host is None:
        return f"{waiting} have no vector yet: `memory-sidecar index --wait dense` makes them"
    left_s = call.codebase.data.owner.activity.vectors.seconds_for(
        report.vectors_pending, wait_s=PACE_WAIT_S, cancelled=call.cancelled
    )
    about = f", about {format_duration(left_s)}" if left_s else ""
    return (
        f"it can be searched now; the daemon makes vectors of {waiting} behind it{about}: "
        "`memory-sidecar status` shows it"
    )


@click.command()
@click.option("--source", "sources", multiple=True, metavar="NAME", help="Only this source.")
@click.option("--agent", "agent", metavar="A", help="Only this agent's memories and sessions.")
@click.option("--all", "everything", is_flag=True, help="Every source and every agent.")
@with_call
def reindex(
    call: Call, sources: tuple[str, ...], agent: str | None, everything: bool
) -> IndexReport | AgentReports:
    """Derive the index again from the files. Vectors that are known are not computed again."""
    if [bool(sources), agent is not None, everything].count(True) != 1:
        raise UsageError("name what to rebuild", hint="--source NAME, --agent A or --all")
    if everything and call.db:
        raise UsageError("--all means a data directory, --db one database", hint="--source NAME")
    report: IndexReport | AgentReports
    if agent is not None:
        report = call.services.agent(agent, call.db).rebuild(reporter=call.reporter)
    elif sources:
        names = [call.codebase.registry.name_of(each, call.cwd) for each in sources]
        report = call.codebase.rebuild(names, reporter=call.reporter)
    else:
        report = call.services.rebuild(reporter=call.reporter)
    report = call.mask(report)
    return call.show(report, _all_report_lines(call, report))


def _all_report_lines(call: Call, report: IndexReport | AgentReports) -> Iterator[TextLine]:
    if isinstance(report, IndexReport):
        if report.agent:
            yield f"agent {report.agent}:"
        yield from _report_lines(call, report)
    for each in report.agents or ():
        yield from _all_report_lines(call, each)


@command_group
def source() -> None:
    """Registered sources: the folders that `index` keeps up to date."""


@source.command()
@click.argument("path", metavar="PATH|ADDRESS")
@click.option("--name", help="Its name; by default that of the folder.")
@exclude_option
@branch_option
@click.option("--agent", metavar="A", help="As a knowledge directory of this agent; see below.")
@force_option
@with_call
def add(
    call: Call,
    *,
    path: str,
    name: str | None,
    excludes: tuple[str, ...],
    branch: str,
    agent: str | None,
    force: bool,
) -> Source:
    """Register the folder PATH, or a clone of ADDRESS, without indexing it yet.

    With --agent, the Markdown files in PATH become memories of that agent, or of all agents where
    it is `shared`. The daemon indexes them at once, without one the next query does.
    """
    _require_address([path], branch)
    if agent is None and is_address(path):
        added = _add_clone(call, GitAddress(path, branch), excludes=excludes, name=name)
    elif agent is None:
        added = call.codebase.registry.add(
            call.path(path), name=name, excludes=excludes, force=force
        )
    elif excludes:
        raise UsageError(
            "--exclude is only for code", hint="register the folders inside one by one"
        )
    else:
        its = call.services.agent(agent, call.db)
        added = its.register(call.path(path), name=name, force=force)
    if agent is None and added.name in call.codebase.data.states():
        call.codebase.data.owner.watch(added)  # with its new excludes
    added = call.mask(added)
    return call.show(added, [_source_line(added)])


@source.command(name="list")
@click.option("--agent", metavar="A", help="The knowledge directories of this agent instead.")
@with_call
def list_sources(call: Call, agent: str | None) -> list[Source]:
    """Show the registered sources."""
    if agent is None:
        registry = call.codebase.registry
    else:
        registry = call.services.agent(agent, call.db).registry
        registry.warn_if_emptied(call.reporter)
    sources = call.mask(registry.all())
    nothing = "no source is registered"
    if agent is None and not sources and (names := [*_agents_with_directories(call)]):
        nothing += f"; `--agent A` shows the knowledge directories of {', '.join(names)}"
    return call.show(sources, map(_source_line, sources), nothing=nothing)


def _agents_with_directories(call: Call) -> Iterator[str]:
    for name in call.services.agent_names():
        with suppress(SidecarError):
            if call.services.agent(name).registry.all():
                yield name


@source.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--agent", metavar="A", help="A knowledge directory of this agent.")
@with_call
def remove(call: Call, names: tuple[str, ...], agent: str | None) -> Source | list[Source]:
    """Forget each source NAME and its index. Files stay as they are, but for a clone of ours.

    Where one of several is unknown, none is forgotten. The JSON of several is an array.
    """
    registry, forget = call.codebase.registry, call.codebase.remove
    if agent is not None:
        its = call.services.agent(agent, call.db)
        registry, forget = its.registry, its.unregister
    names = tuple(dict.fromkeys(registry.name_of(name, call.cwd) for name in names))
    for name in names:
        _require_known(call, name, registry, agent)
    removed = call.mask([forget(name, reporter=call.reporter) for name in names])
    return call.show(removed[0] if len(removed) == 1 else removed, map(_forgotten_line, removed))


@source.command()
@click.argument("name", required=False)
@click.option("--take", is_flag=True, help="Even if another machine indexes it for the team.")
@with_call
def publish(call: Call, name: str | None, take: bool) -> Published:
    """Give the team's database what is indexed of the source NAME, or of the one around here.

    Nothing is embedded again. From then on this machine indexes it for the team: its rows lie there
    and leave this machine, each save goes up as it is indexed. The others lay their own changes
    over it. `database` names the team's database.
    """
    codebase = call.codebase
    found = (
        codebase.require_source_around(call.cwd)
        if name is None
        else codebase.registry.get(codebase.registry.name_of(name, call.cwd))
    )
    call.services.require_team()
    published = call.mask(codebase.sharing.publish(found, by_force=take, reporter=call.reporter))
    files, chunks = pluralize(published.files, "file"), pluralize(published.chunks, "chunk")
    given = f"{files} with {chunks} given to the team, {published.deleted:,} taken from it"
    return call.show(published, [title(published.name), given])


@source.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_call
def prune(call: Call, yes: bool) -> list[Source]:
    """Forget the sources whose folder is gone. One on a disk that is away counts as gone, too."""
    gone = call.codebase.missing_sources()
    if gone and not yes:
        missing = (visible_line(f"gone: {each.name}: {each.root}") for each in call.mask(gone))
        call.confirm(missing, f"Forget {pluralize(len(gone), 'source')} and the index?")
    removed = call.mask([call.codebase.remove(each.name, reporter=call.reporter) for each in gone])
    lines = map(_forgotten_line, removed) if removed else ["no source is missing"]
    return call.show(removed, lines)


@source.command()
@click.argument("old")
@click.argument("new", metavar="PATH")
@click.option("--agent", metavar="A", help="A knowledge directory of this agent.")
@force_option
@with_call
def move(call: Call, old: str, new: str, agent: str | None, force: bool) -> SourceMoved:
    """Have the source OLD, a name or a folder, mean the folder PATH: its files have moved there.

    What is indexed is kept, vectors included; only what differs in PATH is indexed anew.
    """
    path = call.path(new)
    whose = call.codebase if agent is None else call.services.agent(agent, call.db)
    name = whose.registry.name_of(old, call.cwd)
    _require_known(call, name, whose.registry, agent)
    moved = call.mask(whose.move(name, path, reporter=call.reporter, force=force))
    chunks = pluralize(moved.chunks, "chunk")
    told = f"{moved.name}: {moved.old_root} is {moved.root} now, {chunks}"
    return call.show(moved, [visible_line(told)])


def _require_known(call: Call, name: str, registry: Registry, agent: str | None) -> None:
    """Raise NotFound for no source of `agent`, or of code; the hint says whose it is instead."""
    try:
        registry.get(name)
    except NotFound as error:
        with suppress(SidecarError):
            its = call.services.codebase().registry
            if agent and its.get(its.name_of(name, call.cwd)):
                error.hint = f"that is a source of code: leave out `--agent {agent}`"
        for other in call.services.agent_names():
            with suppress(SidecarError):
                its = call.services.agent(other).registry
                if its is not registry and its.get(its.name_of(name, call.cwd)):
                    error.hint = f"{other} has that: add `--agent {other}`"
        raise


def _source_line(each: Source) -> str:
    told = [f"with {glob[1:]}" if glob[0] == "!" else f"without {glob}" for glob in each.excludes]
    if each.address:
        told.insert(0, f"from {each.address}{each.branch and f' at {each.branch}'}")
    return visible_line(f"{each.name}: {each.root}" + (f" ({', '.join(told)})" if told else ""))


def _forgotten_line(removed: Source) -> str:
    return visible_line(f"forgot {removed.name}: {removed.root}")
