"""`memory-sidecar source`"""

from __future__ import annotations

from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call, with_help
from memory_sidecar.sources.registry import Source


@click.group()
@with_help
def source() -> None:
    """Registered sources: the folders that `index` keeps up to date."""


@source.command()
@click.argument("path")
@click.option("--name", help="What to call it; the folder's name otherwise.")
@click.option("--exclude", "excludes", multiple=True, metavar="GLOB", help="As in a .gitignore.")
@with_call
def add(call: Call, path: str, name: str | None, excludes: tuple[str, ...]) -> None:
    """Register the folder PATH without indexing it yet."""
    added = call.codebase.registry.add(call.path(path), name=name, excludes=excludes)
    if call.wants_json:
        call.print_json(_source_json(added))
    else:
        call.print(f"{added.name}: {added.root}")


@source.command(name="list")
@with_call
def list_sources(call: Call) -> None:
    """Show the registered sources."""
    sources = call.codebase.registry.all()
    if call.wants_json:
        call.print_json([_source_json(each) for each in sources])
        return
    for each in sources:
        excluded = f" (without {', '.join(each.excludes)})" if each.excludes else ""
        call.print(f"{each.name}: {each.root}{excluded}")


@source.command()
@click.argument("name")
@with_call
def remove(call: Call, name: str) -> None:
    """Forget the source NAME and its index. Its files stay as they are."""
    removed = call.codebase.remove(name, reporter=call.reporter)
    if call.wants_json:
        call.print_json(_source_json(removed))
    else:
        call.print(f"forgot {removed.name}: {removed.root}")


def _source_json(each: Source) -> dict[str, Any]:
    return {"name": each.name, "root": each.root.as_posix(), "excludes": list(each.excludes)}
