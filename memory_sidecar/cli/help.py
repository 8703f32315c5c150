"""`memory-sidecar help` and `version`, and the examples that end each command's help."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.options import with_data_dir
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.results import about

_LAST = {name: at for at, name in enumerate(("data_dir", "db", "json_output", "help"), start=1)}


@dataclass(frozen=True, slots=True)
class Help:
    """What a command is for, and its arguments and options."""

    command: Annotated[str, about("as it is typed")]
    text: str


@click.command(name="help")
@click.argument("command", nargs=-1)
@with_data_dir
def explain(call: Call, command: tuple[str, ...]) -> Help:
    """Explain a COMMAND, or list them all."""
    context = click.get_current_context().find_root()
    explained: click.Command = context.command
    for word in command:
        if not isinstance(explained, click.Group):
            break
        name, inner, _ = explained.resolve_command(context, [word])
        assert inner is not None  # else it has raised
        context = click.Context(inner, info_name=name, parent=context)
        explained = inner
    text = explained.get_help(context)
    return call.show(Help(context.command_path, text), [text])


@dataclass(frozen=True, slots=True)
class Version:
    """The version of the program that answers."""

    version: str


@click.command()
@with_data_dir
def version(call: Call) -> Version:
    """Show the version."""
    return call.show(Version(__version__), [f"{PROGRAM}, version {__version__}"])


def complete_help(command: click.Command, words: str) -> None:
    """Add the examples to the help of `command`, named by `words`, and of its subcommands.

    The options that every command has come last.
    """
    command.params.sort(key=lambda each: _LAST.get(each.name, 0))
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            complete_help(inner, f"{words} {name}")
    elif found := examples_of(words):
        # \b keeps click from joining the lines.
        command.epilog = "\n".join(["\b", "Examples:", *(f"  {line}" for line in found)])


@cache
def all_examples() -> list[str]:
    """Read `examples.txt`: command lines as help prints them, two for each command."""
    return Path(__file__).with_name("examples.txt").read_text("utf-8").splitlines()


def examples_of(words: str) -> list[str]:
    """Return the examples of the command that `words` name."""
    called = ((line, line.rpartition(f"{PROGRAM} ")[2]) for line in all_examples())
    return [line for line, rest in called if f"{rest} ".startswith(f"{words} ")]
