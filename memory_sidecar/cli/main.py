"""The commands, and what every one of them ends in: a result, or one line and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.doctor import doctor
from memory_sidecar.cli.embed import embed
from memory_sidecar.cli.form import error_line, wants_json
from memory_sidecar.cli.index import index
from memory_sidecar.cli.model import model
from memory_sidecar.cli.reindex import reindex
from memory_sidecar.cli.search import search
from memory_sidecar.cli.serve import serve
from memory_sidecar.cli.service import service
from memory_sidecar.cli.source import source
from memory_sidecar.cli.status import status
from memory_sidecar.cli.stop import stop
from memory_sidecar.errors import SidecarError, UsageError

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # as a shell reports SIGPIPE
MAX_COLUMNS = 100


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_COLUMNS},
    epilog="Any text may be `-`, which reads standard input. Exit status: 0 done, 1 failed, "
    "2 wrong usage, 3 not found, 4 conflict, 5 daemon unreachable, 130 interrupted.",
)
@click.version_option(__version__, prog_name="memory-sidecar")
@click.option(  # for the help: the client has acted on it before a command line gets here
    "--no-daemon", is_flag=True, expose_value=False, help="Run in this process, wherever it stands."
)
def cli() -> None:
    """A local memory for coding agents: searches your projects by meaning and by name."""


for _command in (
    index,
    search,
    embed,
    status,
    reindex,
    source,
    doctor,
    model,
    serve,
    stop,
    service,
):
    cli.add_command(_command)


def run(call: Call) -> int:
    """Run the command in `call`; returns its exit status. Every error has become one line."""
    try:
        result = cli.main(
            args=list(call.arguments),
            prog_name="memory-sidecar",
            standalone_mode=False,
            obj=call,
            terminal_width=max(min(call.columns, MAX_COLUMNS) - 2, 50),
        )
        call.stdout.flush()
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
    return result if isinstance(result, int) else 0


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
        # Whoever read our output has left; keep Python from flushing into the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE


def _usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    hint = f"see `{context.command_path} --help`" if context else ""
    return UsageError(error.format_message(), hint=hint)
