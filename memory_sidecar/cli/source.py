"""`memory-sidecar source`"""

from __future__ import annotations

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import force_option, with_call, with_help
from memory_sidecar.core.errors import UsageError
from memory_sidecar.disk.registry import Source
from memory_sidecar.outputs import code as out


@click.group()
@with_help
def source() -> None:
    """Registered sources: the folders that `index` keeps up to date."""


@source.command()
@click.argument("path")
@click.option("--name", help="What to call it; the folder's name otherwise.")
@click.option(
    "--exclude",
    "excludes",
    multiple=True,
    metavar="GLOB",
    help="As in a .gitignore; `!GLOB` asks for files that may hold secrets.",
)
@click.option("--agent", metavar="A", help="As a knowledge directory of this agent; see below.")
@force_option
@with_call
def add(
    call: Call,
    *,
    path: str,
    name: str | None,
    excludes: tuple[str, ...],
    agent: str | None,
    force: bool,
) -> None:
    """Register the folder PATH without indexing it yet.

    With --agent, the Markdown files in PATH become memories of that agent, or of all agents where
    it is `shared`. The daemon indexes them at once, without one the next query does.
    """
    if agent is None:
        added = call.codebase.registry.add(
            call.path(path), name=name, excludes=excludes, force=force
        )
    elif excludes:
        raise UsageError("--exclude is for code", hint="register the folders inside one by one")
    else:
        its = call.services.agent(agent, call.db)
        added = its.register(call.path(path), name=name, force=force)
    if call.wants_json:
        call.print_json(_source_json(added))
    else:
        call.print(f"{added.name}: {added.root}")


@source.command(name="list")
@click.option("--agent", metavar="A", help="The knowledge directories of this agent instead.")
@with_call
def list_sources(call: Call, agent: str | None) -> None:
    """Show the registered sources."""
    if agent is None:
        sources = call.codebase.registry.all()
    else:
        sources = call.services.agent(agent, call.db).registry.all()
    if call.wants_json:
        call.print_json([_source_json(each) for each in sources])
        return
    for each in sources:
        excluded = f" (without {', '.join(each.excludes)})" if each.excludes else ""
        call.print(f"{each.name}: {each.root}{excluded}")


@source.command()
@click.argument("name")
@click.option("--agent", metavar="A", help="A knowledge directory of this agent.")
@with_call
def remove(call: Call, name: str, agent: str | None) -> None:
    """Forget the source NAME and its index. Its files stay as they are."""
    if agent is None:
        removed = call.codebase.remove(name, reporter=call.reporter)
    else:
        its = call.services.agent(agent, call.db)
        removed = its.unregister(name, reporter=call.reporter)
    if call.wants_json:
        call.print_json(_source_json(removed))
    else:
        call.print(f"forgot {removed.name}: {removed.root}")


def _source_json(each: Source) -> out.Source:
    return {"name": each.name, "root": each.root.as_posix(), "excludes": list(each.excludes)}
