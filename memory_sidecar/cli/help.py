"""`memory-sidecar help` and `memory-sidecar version`: as the options of these names."""

from __future__ import annotations

from dataclasses import dataclass

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_call


@click.command(name="help")
@click.argument("command", nargs=-1)
@with_call
def explain(call: Call, command: tuple[str, ...]) -> None:
    """Explain a COMMAND, or list them all."""
    context = click.get_current_context().find_root()
    told: click.Command = context.command
    for word in command:
        if not isinstance(told, click.Group):
            break
        name, inner, _ = told.resolve_command(context, [word])
        assert inner is not None  # else it has raised
        context = click.Context(inner, info_name=name, parent=context)
        told = inner
    call.print(told.get_help(context))


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of the program answers."""

    version: str


@click.command()
@with_call
def version(call: Call) -> Version:
    """Show the version."""
    return call.show(Version(__version__), _print_version)


def _print_version(call: Call, shown: Version) -> None:
    call.print(f"memory-sidecar, version {shown.version}")
