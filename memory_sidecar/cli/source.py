"""`memory-sidecar source`: the registered folders, of code and of agents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import title
from memory_sidecar.cli.index import (
    add_clone,
    branch_option,
    exclude_option,
    fetch_clones,
    require_kind,
    show_report,
)
from memory_sidecar.cli.options import command_group, force_option, with_call
from memory_sidecar.code.clones import GitAddress, is_address
from memory_sidecar.code.results import Published
from memory_sidecar.core.errors import NotFound, SidecarError, UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import IndexReport, SourceMoved, pluralize
from memory_sidecar.core.visible import visible_line

if TYPE_CHECKING:
    from memory_sidecar.agents.agent import Agent
    from memory_sidecar.code.handlers import Codebase


@command_group
def source() -> None:
    """Registered sources: the folders that `index` keeps up to date."""


@source.command()
@click.argument("path", metavar="PATH|ADDRESS")
@click.option("--name", help="Its name; by default that of the folder.")
@exclude_option
@branch_option
@click.option("--agent", metavar="A", help="As a knowledge directory of this agent; see above.")
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
    require_kind([path], branch=branch, force=force)
    if agent is None and is_address(path):
        added = add_clone(call, GitAddress(path, branch), excludes=excludes, name=name)
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
    registry = _whose(call, agent).registry
    registry.warn_if_lost(call.reporter)
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
    """Forget each source NAME and its index. Your files stay; a clone that `index` made is deleted.

    If one of several is unknown, none is forgotten. The JSON of several is an array.
    """
    whose = _whose(call, agent)
    found = dict.fromkeys(_name_of(call, name, agent) for name in names)
    removed = call.mask([whose.remove(name, reporter=call.reporter) for name in found])
    return call.show(removed[0] if len(removed) == 1 else removed, map(_forgotten_line, removed))


@source.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@with_call
def update(call: Call, names: tuple[str, ...]) -> IndexReport:
    """Index what changed in each source NAME, by default in all; clones are fetched first.

    A clone that cannot be fetched stays as it was, and is named.
    """
    call.reporter.progress("looking", 0, 0)
    registry = call.codebase.registry
    found = dict.fromkeys(_name_of(call, name) for name in names)
    sources = [registry.get(name) for name in found]
    fetch_clones(call, sources or registry.all())
    roots = [each.root for each in sources]
    return show_report(call, call.codebase.index(roots, reporter=call.reporter))


@source.command()
@click.argument("name", required=False)
@click.option("--take", is_flag=True, help="Even if another machine indexes it for the team.")
@with_call
def publish(call: Call, name: str | None, take: bool) -> Published:
    """Move what is indexed of the source NAME, or of the one you are in, to the team's database.

    Nothing is embedded again. From then on this machine indexes the source for the team, and each
    save is uploaded as it is indexed. The others' own changes hide what they replace. The setting
    `database` names the team's database.
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
    """Forget the sources whose folder is gone, as is one on a disk that is not mounted."""
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
    """Point the source OLD, a name or a folder, at the folder PATH, where its files are now.

    What is indexed is kept, vectors included; only what differs in PATH is indexed anew.
    """
    path = call.path(new)
    whose = _whose(call, agent)
    name = _name_of(call, old, agent)
    moved = call.mask(whose.move(name, path, reporter=call.reporter, force=force))
    chunks = pluralize(moved.chunks, "chunk")
    told = f"{moved.name}: {moved.old_root} is {moved.root} now, {chunks}"
    return call.show(moved, [visible_line(told)])


def _whose(call: Call, agent: str | None) -> Codebase | Agent:
    """Return what has the sources: `agent`, or the codebase for None."""
    return call.codebase if agent is None else call.services.agent(agent, call.db)


def _name_of(call: Call, given: str, agent: str | None = None) -> str:
    """Return the name of the source `given`, a name or a folder, of `agent` or of the code.

    Raises NotFound, whose hint says whose source it is instead.
    """
    registry = _whose(call, agent).registry
    name = registry.name_of(given, call.cwd)
    try:
        return registry.get(name).name
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
