"""Options that several commands share, and how a command gets its `Call`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

import click

from memory_sidecar.chunking.language import canonical_language
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.hints import Hints
from memory_sidecar.core.errors import UsageError

Command = Callable[..., object]

DEFAULT_AGENT = "default"

MAX_COUNT = 1_000_000_000
COUNT = click.IntRange(0, MAX_COUNT)
"""How many of something. No sum of two leaves what SQLite can count with."""
AT_LEAST_ONE = click.IntRange(1, MAX_COUNT)


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
        call.data_dir = call.own_path(str(data_dir)) if data_dir else None
        call.db = call.own_path(str(db)) if db else None
        call.hints = Hints.of(context)
        command(call, **given)

    return called


def with_agent(command: Command) -> Command:
    """Like `with_call`, with the name of the agent after the `Call`."""
    option = click.option(
        "--agent", default=DEFAULT_AGENT, show_default=True, metavar="A", help="Whose memories."
    )
    return with_call(option(command))


force_option = click.option("--force", is_flag=True, help="Even a folder that holds your home.")
allow_secrets_option = click.option(
    "--allow-secrets", is_flag=True, help="Store what looks like a key or password too."
)


class TextCommand(click.Command):
    """A command whose text may begin with a dash even where no `--` comes before it.

    Hosts pass a text as it is: what begins with a dash and holds a space is no option, unless it
    is one of this command's with its value (`--summary=two words`).
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        options = {name for option in self.params for name in option.opts}
        taking_value = {
            name
            for option in self.params
            if isinstance(option, click.Option) and not (option.is_flag or option.count)
            for name in option.opts
        }
        texts = [
            at
            for at, word in enumerate(args[:end])
            if _is_text(word, options) and (at == 0 or args[at - 1] not in taking_value)
        ]
        rest = [word for at, word in enumerate(args) if at not in texts and at != end]
        if texts:
            args = [*rest[: end - len(texts)], "--", *(args[at] for at in texts), *args[end + 1 :]]
        return super().parse_args(ctx, args)


def _is_text(word: str, options: Collection[str]) -> bool:
    name = word.partition("=")[0]
    return word.startswith("-") and any(map(str.isspace, word)) and name not in options


def text_argument(name: str) -> Callable[[Any], Any]:
    """Words of a text: several are joined by spaces, a lone `-` is read from standard input."""
    return click.argument(name, nargs=-1, required=True)


def joined(call: Call, words: tuple[str, ...]) -> str:
    """The text that a `text_argument` stands for."""
    return call.text(" ".join(words))


def known_language(name: str) -> str:
    """What a caller calls a language, as it is stored. Raises UsageError."""
    known = canonical_language(name)
    if known is None:
        raise UsageError(
            f"unknown language {name!r}", hint="for example python, csharp, typescript"
        )
    return known
