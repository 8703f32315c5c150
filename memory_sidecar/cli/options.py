"""Options that several commands share, and how a command gets its `Call`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from memory_sidecar.cli.call import Call

Command = Callable[..., None]


def _show_help(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Call).print(context.get_help())
        context.exit()


with_help = click.help_option("-h", "--help", callback=_show_help)
"""Click's own would print to this process, which need not be the caller's."""


def with_call(command: Command) -> Command:
    """Add the options that every command has, and pass its `Call` first."""

    @click.option("--data-dir", metavar="DIR", help="Data directory to use.")
    @click.option("--db", metavar="FILE", help="Database file to use.")
    @click.option("--json-output", "--json", "json_output", is_flag=True, help="Print JSON.")
    @with_help
    @click.pass_context
    @wraps(command)
    def called(context: click.Context, /, **given: object) -> None:
        call = context.ensure_object(Call)
        data_dir, db = given.pop("data_dir"), given.pop("db")
        del given["json_output"]  # Call.wants_json has seen it
        call.data_dir = call.path(str(data_dir)) if data_dir else None
        call.db = call.path(str(db)) if db else None
        command(call, **given)

    return called


def text_argument(name: str) -> Callable[[Any], Any]:
    """Words of a text: several are joined by spaces, a lone `-` is read from standard input."""
    return click.argument(name, nargs=-1, required=True)


def joined(call: Call, words: tuple[str, ...]) -> str:
    """The text that a `text_argument` stands for."""
    return call.text(" ".join(words))
