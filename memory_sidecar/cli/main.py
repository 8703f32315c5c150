"""The commands, and what every one of them ends in: a result, or one line and an exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.category import category
from memory_sidecar.cli.context import context
from memory_sidecar.cli.doctor import doctor
from memory_sidecar.cli.embed import embed
from memory_sidecar.cli.episodic import episodic_commit, episodic_put, episodic_search
from memory_sidecar.cli.form import error_line, wants_json
from memory_sidecar.cli.get import get
from memory_sidecar.cli.grep import grep
from memory_sidecar.cli.index import index
from memory_sidecar.cli.list import list_memories
from memory_sidecar.cli.mcp import mcp
from memory_sidecar.cli.model import model
from memory_sidecar.cli.move import move, share
from memory_sidecar.cli.options import with_help
from memory_sidecar.cli.query import query
from memory_sidecar.cli.recent import recent
from memory_sidecar.cli.reindex import reindex
from memory_sidecar.cli.remove import prune, remove, restore
from memory_sidecar.cli.search import search
from memory_sidecar.cli.serve import serve
from memory_sidecar.cli.service import service
from memory_sidecar.cli.session import session
from memory_sidecar.cli.skills import skills
from memory_sidecar.cli.source import source
from memory_sidecar.cli.status import status
from memory_sidecar.cli.stop import stop
from memory_sidecar.cli.store import store, update
from memory_sidecar.errors import SidecarError, UsageError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # as a shell reports SIGPIPE
MAX_COLUMNS = 100


def show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        context.ensure_object(Call).print(f"memory-sidecar, version {__version__}")
        context.exit()


@click.group(
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
def cli() -> None:
    """A local memory for coding agents: searches your projects by meaning and by name."""


for _command in (
    index,
    search,
    grep,
    embed,
    store,
    query,
    list_memories,
    recent,
    get,
    update,
    move,
    share,
    remove,
    prune,
    restore,
    category,
    session,
    episodic_put,
    episodic_search,
    episodic_commit,
    status,
    reindex,
    source,
    context,
    doctor,
    model,
    serve,
    stop,
    service,
    skills,
    mcp,
):
    cli.add_command(_command)


def run(call: Call) -> int:
    """Run the command in `call`; returns its exit status. Every error has become one line."""
    try:
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
        call.stderr.write("memory-sidecar: interrupted; what was committed stays\n")
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
        _discard_output()  # whoever read it has left
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
