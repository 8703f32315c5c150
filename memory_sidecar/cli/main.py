"""The commands, and what every one of them ends in: a result, or one line and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.form import error_line, wants_json
from memory_sidecar.cli.importing import IMPORTING
from memory_sidecar.cli.options import with_help
from memory_sidecar.core.errors import SidecarError, UsageError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # as a shell reports SIGPIPE
MAX_COLUMNS = 100


def show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Call).print(f"memory-sidecar, version {__version__}")
        context.exit()


# Where each command is defined: in the module of its name, or as its module and attribute.
_COMMANDS = {
    "index": "",
    "search": "",
    "grep": "",
    "embed": "upkeep:embed",
    "store": "",
    "query": "",
    "list": "list:list_memories",
    "recent": "",
    "get": "",
    "update": "store:update",
    "move": "",
    "share": "move:share",
    "remove": "",
    "prune": "remove:prune",
    "restore": "remove:restore",
    "category": "",
    "session": "",
    "episodic-put": "episodic:episodic_put",
    "episodic-search": "episodic:episodic_search",
    "episodic-commit": "episodic:episodic_commit",
    "status": "",
    "reindex": "index:reindex",
    "source": "index:source",
    "context": "",
    "doctor": "upkeep:doctor",
    "model": "upkeep:model",
    "serve": "",
    "stop": "serve:stop",
    "service": "",
    "skills": "upkeep:skills",
    "setup": "",
    "trust": "upkeep:trust",
    "mcp": "",
}


class Commands(click.Group):
    """Imports a command when it is asked for: all of them take most of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in self.commands or cmd_name not in _COMMANDS:
            return self.commands.get(cmd_name)
        module, _, attribute = (_COMMANDS[cmd_name] or f"{cmd_name}:{cmd_name}").partition(":")
        with IMPORTING:
            command = getattr(import_module(f"memory_sidecar.cli.{module}"), attribute)
        assert isinstance(command, click.Command)
        self.add_command(command)
        return command


@click.group(
    cls=Commands,
    context_settings={"max_content_width": MAX_COLUMNS},
    epilog="Any text may be `-`, which reads standard input. Exit status: 0 done, 1 failed, "
    "2 wrong usage, 3 not found, 4 conflict, 5 daemon unreachable, 130 interrupted.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=show_version,
    help="Show the version and exit.",
)  # fmt: skip
@with_help
@click.option(  # for the help: the client has acted on it before a command line gets here
    "--no-daemon", is_flag=True, expose_value=False, help="Run in this process, wherever it stands."
)
@click.option(  # the same: it is passed on to the command
    "--data-dir", metavar="DIR", expose_value=False, help="Data directory to use."
)
def cli() -> None:
    """A local memory for coding agents: searches your projects by meaning and by name."""


def every_command() -> click.Group:
    """The whole tree, imported."""
    context = click.Context(cli)
    for name in cli.list_commands(context):
        cli.get_command(context, name)
    return cli


def run(call: Call) -> int:
    """Run the command in `call`; returns its exit status. Every error has become one line."""
    try:
        call.check_arguments()
        with cli.make_context(
            "memory-sidecar",
            list(call.arguments),
            obj=call,
            terminal_width=max(min(call.columns, MAX_COLUMNS) - 2, 50),
        ) as context:
            cli.invoke(context)
        call.stdout.flush()
    except click.exceptions.Exit as finished:  # after --help
        call.stdout.flush()
        return finished.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        call.stderr.write(error.format_message() + "\n")
        return error.exit_code
    except click.ClickException as error:
        call.print_error(_usage_error(error))
        return error.exit_code
    except SidecarError as error:
        call.reporter.close()
        call.print_error(error)
        return error.exit_status
    except (KeyboardInterrupt, click.Abort):
        call.reporter.close()
        goes_on = ", and the daemon goes on with what waits" if call.host else ""
        call.stderr.write(f"memory-sidecar: interrupted; what was committed stays{goes_on}\n")
        return EXIT_INTERRUPTED
    finally:
        call.close()
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process; returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        call = Call.of_this_process(tuple(arguments))
    except SidecarError as error:
        form = wants_json(tuple(arguments), is_terminal=sys.stdout.isatty())
        sys.stderr.write(error_line(error, as_json=form))
        return error.exit_status
    try:
        return run(call)
    except BrokenPipeError:
        _discard_output()  # the reader has left
        return EXIT_BROKEN_PIPE
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        call.print_error(SidecarError(f"internal error at {where}: {error!r}", hint="report it"))
        _discard_output()
        return SidecarError.exit_status


def _discard_output() -> None:
    """Keep Python from flushing what is left, and failing again, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    hint = f"see `{context.command_path} --help`" if context else ""
    return UsageError(error.format_message(), hint=hint)
