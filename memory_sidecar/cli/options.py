"""Options that several commands share, and the decorators that pass a command its `Call`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from itertools import pairwise
from typing import Any

import click

from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import AgentOption, Hints
from memory_sidecar.cli.numbers import FRACTION, Count
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.opening import is_utf8

Command = Callable[..., object]

UNLIMITED = 1000  # characters of a description, so that click wraps and never cuts it
MAX_TOP_K = 1000  # hits
PATH_OPTIONS = ("root", "file", "db", "data_dir")
TOP_K_NAMES = ("top_k", "-n", "--top-k", "--limit")  # commands that list have `--limit`
with_top_k = click.option(
    *TOP_K_NAMES, type=Count(1, MAX_TOP_K), default=10, show_default=True, help="At most N hits."
)
with_mode = click.option(
    "--mode",
    type=click.Choice([mode.value for mode in SearchMode]),
    default=SearchMode.HYBRID.value,
    callback=lambda _context, _option, mode: SearchMode(mode),
    show_default=True,
    help="By words and meaning, or by only one of them.",
)
with_min_score = click.option(
    "--min-score", type=FRACTION, default=0.0, metavar="S", help="Drop hits below this score."
)


def _refuse_empty(_context: click.Context, _option: click.Parameter, given: str | None) -> str:
    if given is not None and not given.strip():
        raise UsageError("--if-hash is empty", hint="leave it out to change whatever is there")
    return given or ""


with_hash = click.option(
    "--if-hash", callback=_refuse_empty, metavar="HASH", help="Only if it still has this hash."
)


def _show_help(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Call).print(context.get_help())
        context.exit()


_with_json = click.option("--json-output", "--json", is_flag=True, help="Print JSON.")
with_help = click.help_option("-h", "--help", callback=_show_help)
"""click's own option would print to this process, which may be the daemon."""


# Words that other programs use for a command, by its name here.
SYNONYMS = {
    "search": "find ask lookup locate code",
    "grep": "match pattern structural",
    "def": "definition definitions define goto symbol symbols",
    "refs": "references reference usages usage uses xref xrefs",
    "callers": "incoming called-by",
    "callees": "calls outgoing",
    "outline": "symbols structure toc members",
    "related": "similar like alike neighbours neighbors",
    "impact": "affected affects breaks changes",
    "map": "overview repomap architecture central",
    "web": "ui gui page browser dashboard open",
    "setup": "init install configure connect",
    "store": "add save remember put write note memorize",
    "query": "recall retrieve memories memory",
    "list": "ls ll all",
    "get": "cat read open view",
    "show": "cat read open view get display",
    "remove": "rm del delete forget unregister",
    "delete": "rm del remove forget",
    "move": "mv rename",
    "update": "edit set change modify",
    "add": "register new create",
    "create": "add new mkdir",
    "index": "scan ingest build init sync watch refresh",
    "reindex": "rebuild rescan reset",
    "status": "info stats state ps st health",
    "stop": "kill quit shutdown exit down end restart",
    "serve": "start run up server",
    "daemon": "daemons",
    "uninstall": "purge deinstall",
    "doctor": "check diagnose fix repair verify",
    "source": "sources folder folders project projects repo",
    "session": "sessions conversation chat history transcript",
    "category": "categories cat",
    "skills": "skill",
    "prune": "gc clean cleanup expire",
    "restore": "undo undelete unarchive recover",
    "share": "publish",
    "why": "explain ignored which",
    "completion": "completions complete autocomplete",
    "help": "usage man commands",
    "version": "about",
}
_MIN_SIMILARITY = 0.7
_TEXTS = {"query", "text", "texts"}  # arguments that are a text


class Group(click.Group):
    """A group that shows whole descriptions, and suggests a command for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise self._unknown(ctx, args[0])
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, word: str) -> UsageError:
        meant = _commands_meant(ctx, word.lower()) or _commands_meant(ctx.find_root(), word.lower())
        hint = f"`{ctx.command_path} --help` lists them all"
        if meant:
            hint = f"did you mean {' or '.join(meant[:2])}? {hint}"
        return UsageError(f"there is no command {word!r}", hint=hint)

    def usage_error(self, error: click.ClickException, arguments: Sequence[str]) -> UsageError:
        """Return `error`, met by this whole command line's `arguments`, with what to do next."""
        context = getattr(error, "ctx", None) or self._context_of(arguments)
        path = context.command_path
        hint = f"see `{path} --help`"
        if isinstance(error, click.NoSuchOption):
            option = error.option_name
            if isinstance(context.command, Group):
                hint = (
                    f"`{path} COMMAND {option}`, if the command has it; `{path} --help` lists them"
                )
                return UsageError(f"{option} cannot stand before a command", hint=hint)
            if option == "--db":
                text = "--db names one database, and this is about no single one"
                return UsageError(text, hint="leave it out; --data-dir names a data directory")
            if any(param.name in _TEXTS for param in context.command.params):
                hint = f"a text that begins with a dash comes after `--`; {hint}"
        return UsageError(error.format_message().removesuffix("."), hint=hint)

    def _context_of(self, arguments: Sequence[str]) -> click.Context:
        """Return the context of the command that `arguments` name: click gives some errors none."""
        context = click.Context(self, info_name=PROGRAM)
        for word in arguments:
            group = context.command
            if not isinstance(group, Group) or (named := group.get_command(context, word)) is None:
                break
            context = click.Context(named, context, info_name=word)
        return context

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(UNLIMITED)) for name, each in commands if each]
            )


def _commands_meant(ctx: click.Context, word: str) -> list[str]:
    """Return the commands of the group of `ctx` that `word` may stand for, as they are typed."""
    assert isinstance(ctx.command, click.Group)
    names = ctx.command.list_commands(ctx)
    meant = [name for name in names if word in (name, *SYNONYMS.get(name, "").split())]
    meant = meant or difflib.get_close_matches(word, names, n=2, cutoff=_MIN_SIMILARITY)
    return [f"`{ctx.command_path} {name}`" for name in meant]


def command_group(function: Command) -> click.Group:
    """Make a group of commands; the docstring of `function` says what they are about."""
    return click.group(cls=Group)(with_help(function))


def with_call(command: Command) -> Command:
    """Add the options of every command about a database; pass the command its `Call` first."""
    return click.option("--db", metavar="FILE", help="Database file to use.")(
        with_data_dir(command)
    )


def with_data_dir(command: Command) -> Command:
    """Add the options of every command, --json if it returns something; pass it its `Call` first.

    For commands about a whole data directory, or about none.
    """

    @click.option("--data-dir", metavar="DIR", help="Data directory to use.")
    @with_help
    @click.pass_context
    @wraps(command)
    def wrapper(context: click.Context, /, **given: object) -> None:
        call = context.ensure_object(Call)
        data_dir, db = given.pop("data_dir"), given.pop("db", None)
        given.pop("json_output", None)  # Call.wants_json has seen it
        call.data_dir = None if data_dir is None else call.own_path(str(data_dir))
        call.db = None if db is None else call.own_path(str(db))
        call.hints = Hints.of(context)
        _require_text(context)
        command(call, **given)

    return wrapper if command.__annotations__["return"] == "None" else _with_json(wrapper)


def _require_text(context: click.Context) -> None:
    """Raise UsageError for an option that is not UTF-8, except a path, which may be any bytes."""
    for option in context.command.params:
        given = context.params.get(option.name or "")
        values = given if isinstance(given, tuple) else (given,)
        is_text = isinstance(option, click.Option) and option.name not in PATH_OPTIONS
        if is_text and not all(is_utf8(each) for each in values if isinstance(each, str)):
            raise UsageError(f"{option.opts[-1]} is not UTF-8", hint="convert it to UTF-8")


def with_agent(command: Command) -> Command:
    """Add `--agent` to the options of `with_call`, see `with_agent_name`."""
    return with_call(with_agent_name(command))


def with_agent_name(command: Command) -> Command:
    """Add `--agent`, and pass its value, by default `Call.default_agent`, as `agent`."""

    @click.option(
        "--agent",
        cls=AgentOption,
        metavar="A",
        help="Whose memories; by default as MEMORY_SIDECAR_AGENT or the setting `agent` says.",
    )
    @wraps(command)
    def wrapper(call: Call, *, agent: str | None, **given: object) -> object:
        if agent is None:
            agent = call.default_agent
        return command(call, agent=agent, **given)

    return wrapper


force_option = click.option("--force", is_flag=True, help="Allow a folder that holds your home.")
allow_secrets_option = click.option(
    "--allow-secrets", is_flag=True, help="Store it even if it looks like a key or password."
)


_TEXT_MARK = "\0"  # which no argument has: `main` refuses it


class TextCommand(click.Command):
    """A command whose text may begin with a dash, even without a `--` before it.

    Hosts pass a text as it is. A word with a dash first and a space in it is text, unless it sets
    one of this command's options (`--summary=two words`). A mark keeps click from taking it for an
    option.
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
        for at, (before, word) in enumerate(pairwise(["", *args[:end]])):
            if _is_text(word, options) and before not in taking_value:
                args[at] = _TEXT_MARK + word
        rest = super().parse_args(ctx, args)
        ctx.params = {name: _without_mark(value) for name, value in ctx.params.items()}
        return rest


def _without_mark(value: object) -> object:
    if isinstance(value, tuple):
        return tuple(map(_without_mark, value))
    if isinstance(value, str) and _TEXT_MARK in value:  # an enum's member must stay one
        return value.replace(_TEXT_MARK, "")
    return value


def _is_text(word: str, options: Collection[str]) -> bool:
    name = word.partition("=")[0]
    return word.startswith("-") and any(map(str.isspace, word)) and name not in options


def text_argument(
    name: str, *, option: str = "", required: bool = True
) -> Callable[[Command], Command]:
    """Add a text of one or several words, for `Call.text`; None for a missing optional text.

    With `option`, such as `--content`, the text may also be given as its value.
    """
    if not option:
        return click.argument(name, nargs=-1, required=required, callback=_join_words)

    def decorate(command: Command) -> Command:
        @click.argument(name, nargs=-1, callback=_join_words)
        @click.option(option, "as_option", metavar="TEXT", help=f"The {name}, given by an option.")
        @wraps(command)
        def wrapper(**given: Any) -> object:  # noqa: ANN401  options of any kind
            text, other = given[name], given.pop("as_option")
            if text is not None and other is not None:
                raise UsageError(f"the {name} is given twice", hint=f"leave out {option}")
            if required and text is None and other is None:
                raise click.UsageError(
                    f"Missing argument '{name.upper()}...'.", click.get_current_context()
                )
            return command(**given | {name: other if text is None else text})

        return wrapper

    return decorate


def _join_words(
    _context: click.Context, _argument: click.Parameter, words: tuple[str, ...]
) -> str | None:
    return " ".join(words) if words else None
