"""The table of all commands, and `run`, which ends each with a result or one line of error."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import IMPORTING, Call
from memory_sidecar.cli.form import error_line, exit_status, wants_json
from memory_sidecar.cli.help import complete_help
from memory_sidecar.cli.options import Group, with_help
from memory_sidecar.core.errors import (
    Interrupted,
    NotFound,
    SidecarError,
    UsageError,
    as_sidecar_error,
    output_error,
)
from memory_sidecar.core.installation import PROGRAM
from memory_sidecar.core.process import collect_seldom, limit_memory, require_memory
from memory_sidecar.core.projects import DATA_DIR_VARIABLE, asks_for_help, split_command
from memory_sidecar.daemon.link import OutputClosed, read_part
from memory_sidecar.daemon.protocol import EXIT_BROKEN_PIPE

MAX_COLUMNS = 100


def show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Call).print(f"{PROGRAM}, version {__version__}")
        context.exit()


# By group, as the help lists them: each command's short help, and where it is defined, as
# `module:attribute`; empty if both have the command's name.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Search": {
        "index": ("Register folders and index what changed in them", ""),
        "search": ("Find code by what it does or what it is called", ""),
        "grep": ("Find code by its structure, without an index", ""),
        "judged": ("Questions with right answers: add, list, remove", ""),
        "why": ("Say whether a path is indexed, and if not, why", "status:why"),
    },
    "Code": {
        "def": ("Show where a name is defined", "names:definition"),
        "refs": ("Show where a name is used", "names:refs"),
        "callers": ("Show what calls a function, and what calls that", "names:callers"),
        "callees": ("Show what a function calls", "names:callees"),
        "outline": ("List what a file defines", "names:outline"),
        "related": ("Show code that resembles the code at a place", "names:related"),
        "impact": ("Show what uses what a file or a diff changed", "names:impact"),
        "map": ("Show what is central in a project", "map:show_map"),
    },
    "Memories": {
        "store": ("Remember a text", ""),
        "query": ("Find memories that answer a question", ""),
        "list": ("List memories by their properties", "list:list_memories"),
        "recent": ("Show what was stored last", "list:recent"),
        "get": ("Show a memory whole", "list:get"),
        "update": ("Change a memory's text or properties", "store:update"),
        "move": ("Move a memory to another category", "store:move"),
        "share": ("Give a memory to all agents", "store:share"),
        "remove": ("Remove memories, into the archive", ""),
        "prune": ("Archive what is expired or long unused", "remove:prune"),
        "restore": ("Bring back what remove or prune took away", "remove:restore"),
        "category": ("Categories: list, create, describe, delete", "list:category"),
    },
    "Team": {
        "team": ("The PostgreSQL of a team: init, list, export and more", ""),
        "memory": ("Memories and sessions of a team: push, pull", "team:memory"),
    },
    "Sessions": {
        "session": ("Conversations: save, import, search, promote and more", ""),
        "episodic-put": ("Add an entry to a journal", "episodic:episodic_put"),
        "episodic-search": ("Find entries of a journal", "episodic:episodic_search"),
        "episodic-commit": ("Finish a journal", "episodic:episodic_commit"),
    },
    "Sources": {
        "source": ("Indexed folders: add, list, update, move and more", ""),
        "status": ("Show what is indexed, how fresh, and what is missing", ""),
        "growth": ("Show growth: what is stored, read and asked, and how well", "status:growth"),
        "reindex": ("Rebuild the index from the files", "index:reindex"),
        "trust": ("Trust a folder: use its own data and settings", "upkeep:trust"),
    },
    "Context": {"context": ("Dense-context roots: init, new, check, regen and more", "")},
    "Service": {
        "doctor": ("Say what is wrong; --fix mends it", ""),
        "serve": ("Run the daemon in the foreground", ""),
        "stop": ("Stop the daemon", "serve:stop"),
        "daemon": ("Your running daemons: list", "serve:daemon"),
        "service": ("Let systemd start the daemon with your session", ""),
        "web": ("Show everything in a browser", ""),
        "mcp": ("Serve an agent over MCP, on standard streams", ""),
    },
    "More": {
        "setup": ("Connect coding agents to memory-sidecar, or undo that", ""),
        "skills": ("Teach coding agents these commands", "upkeep:skills"),
        "embed": ("Turn texts into vectors", "upkeep:embed"),
        "model": ("The embedding model: list, fetch, verify", "upkeep:model"),
        "uninstall": ("Stop daemons; undo service, setup and completion", ""),
        "completion": ("Complete commands with Tab, in bash, zsh and fish", ""),
        "help": ("Explain a command", "help:explain"),
        "version": ("Show the version", "help:version"),
    },
}
_COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

# Commands that create a missing data directory; all others find nothing there and do not create it.
# Each is a command, or a group followed by its command.
_CREATING_DATA_DIR = frozenset(
    {
        *("index", "store", "episodic-put", "episodic-commit", "serve", "mcp", "trust"),
        *("source add", "category create", "service install", "session save", "session import"),
        "memory pull",
    }
)
_WITHOUT_DATA_DIR = frozenset(
    {
        *("embed", "grep", "context", "model", "setup", "skills", "stop", "daemon", "uninstall"),
        *("web", "help", "version", "completion"),
    }
)


class LazyGroup(Group):
    """Imports a command when it is needed: importing all takes most of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in self.commands or cmd_name not in _COMMANDS:
            return self.commands.get(cmd_name)
        where = _COMMANDS[cmd_name][1] or f"{cmd_name}:{cmd_name}"
        module, _, attribute = where.partition(":")
        with IMPORTING:
            command = getattr(import_module(f"memory_sidecar.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        complete_help(command, cmd_name)
        self.add_command(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in GROUPS.items():
            with formatter.section(title):
                width = max(map(len, _COMMANDS))
                rows = [(name.ljust(width), short) for name, (short, _) in commands.items()]
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"max_content_width": MAX_COLUMNS},
    epilog="`memory-sidecar help COMMAND` explains a command, with examples. Any text may be `-`, "
    "which reads standard input. Exit status: 0 done, 1 failed, 2 wrong usage, 3 not found, "
    "4 conflict, 5 daemon unreachable, 130 interrupted.",
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version,
    help="Show the version and exit.",
)  # fmt: skip
@with_help
@click.option(  # only for the help: the client handles it and passes it on to no command
    "--no-daemon", is_flag=True, expose_value=False, help="Run in this process; may stand anywhere."
)
@click.option(  # only for the help: the client moves it behind the command
    "--data-dir", metavar="DIR", expose_value=False, help="Data directory to use."
)
def cli() -> None:
    """A local memory for coding agents: searches your projects by meaning and by name."""


def every_command() -> click.Group:
    """Import all commands and return their tree."""
    for name in _COMMANDS:
        cli.get_command(click.Context(cli), name)
    return cli


def makes_data(options: Sequence[str]) -> bool:
    """Whether the command line `options` creates the data directory if it does not exist."""
    words = [word for word in options if not word.startswith("-")]
    return not _CREATING_DATA_DIR.isdisjoint({words[0], " ".join(words[:2])})


def no_data_dir(named: str) -> NotFound:
    """Return the error of a command that only reads, for a missing data directory."""
    return NotFound(f"there is no data directory {named}", hint="`index` or `store` creates it")


def run(call: Call) -> int:
    """Run the command of `call`; returns its exit status. Prints named errors as one line."""
    return exit_status(call.arguments, _run(call))


def _run(call: Call) -> int:
    try:
        _check_text(call.arguments)
        with cli.make_context(
            PROGRAM,
            list(call.arguments),
            obj=call,
            terminal_width=max(min(call.columns, MAX_COLUMNS) - 2, 50),
        ) as context:
            cli.invoke(context)
        call.stdout.flush()
        if absent := _absent_data_dir(call):
            call.reporter.notice(f"{absent}; `index` or `store` creates it")
    except click.exceptions.Exit as finished:  # after --help
        call.stdout.flush()
        return finished.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        call.stderr.write(error.format_message() + "\n")
        return error.exit_code
    except click.ClickException as error:
        call.print_error(cli.usage_error(error, call.arguments))
        return error.exit_code
    except SidecarError as error:
        call.reporter.close()
        if isinstance(error, NotFound) and (absent := _absent_data_dir(call)):
            error = type(error)(f"{absent}: {error.message}", hint=error.hint)
        call.print_error(error)
        return error.exit_status
    except (KeyboardInterrupt, click.Abort):
        call.reporter.close()
        call.print_error(Interrupted(hint=_continuation(call)))
        return Interrupted.exit_status
    finally:
        call.close()
    return 0


def _absent_data_dir(call: Call) -> str:
    """Return a message if the environment names a data directory that does not exist.

    A host sets it and may read before anything is stored, so this is no error. Returns "" if the
    folder exists, or the command does not read from it.
    """
    named = call.environ.get(DATA_DIR_VARIABLE)
    if not named or call.data_dir or os.path.lexists(call.path(named)):
        return ""
    command = next(word for word in call.arguments if not word.startswith("-"))
    reads = command not in _WITHOUT_DATA_DIR and not makes_data(call.arguments)
    return no_data_dir(named).message if reads else ""


def _continuation(call: Call) -> str:
    """Return what to say after an interrupt about the work that goes on."""
    if call.host is None:
        return "what was committed stays, and the next call goes on from there"
    return (
        "what was committed stays, and this daemon or the next goes on with what waits: "
        "`memory-sidecar status --watch` shows it"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line in this process, by default its own; returns the exit status."""
    arguments = tuple(sys.argv[1:] if arguments is None else arguments)
    for name, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed at the start
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  used until the end
            setattr(sys, name, stream)
    if sys.platform != "win32" and not os.get_blocking(0):
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_SlowInput()))
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_ClosedOutput(), write_through=True)
    limit_memory()
    collect_seldom()
    if logging.lastResort:  # the caller sees each logged warning as a notice or an error
        logging.lastResort.setLevel(logging.ERROR)
    try:
        if not (asks_for_help(arguments) or split_command([*arguments])[1] in ("stop", "daemon")):
            require_memory()
        call = Call.of_this_process(arguments)
    except SidecarError as error:
        form = wants_json(arguments, is_terminal=sys.stdout.isatty())
        sys.stderr.write(error_line(error, as_json=form))
        return exit_status(arguments, error.exit_status)
    try:
        return run(call)
    except BrokenPipeError:
        return EXIT_BROKEN_PIPE
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f" at {Path(frame.filename).name}:{frame.lineno}"
        call.print_error(as_sidecar_error(error, hint="report it", at=where))
        return SidecarError.exit_status


class _SlowInput(io.RawIOBase):
    """Non-blocking standard input: Python's own reports its end while no data has arrived yet."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        part = read_part(0, len(buffer))
        buffer[: len(part)] = part
        return len(part)


class _ClosedOutput(io.RawIOBase):
    """The standard output of a process that was started without one."""

    def writable(self) -> bool:
        return True

    def write(self, _data: object) -> NoReturn:
        raise output_error(OutputClosed(OSError(0, "it is closed")))


def _check_text(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that can be neither a file name nor a text."""
    for argument in arguments:
        with suppress(UnicodeEncodeError):  # a lone surrogate
            if b"\0" not in os.fsencode(argument):
                continue
        raise UsageError(
            f"the argument {argument[:40]!r} is not text", hint="leave out NUL and the like"
        )
