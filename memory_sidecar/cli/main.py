"""The commands, and what every one of them ends in: a result, or one line and an exit status."""

from __future__ import annotations

import os
import sys

import click

from memory_sidecar import __version__
from memory_sidecar.cli.call import Call
from memory_sidecar.cli.doctor import doctor
from memory_sidecar.cli.embed import embed
from memory_sidecar.cli.index import index
from memory_sidecar.cli.model import model
from memory_sidecar.cli.reindex import reindex
from memory_sidecar.cli.search import search
from memory_sidecar.cli.source import source
from memory_sidecar.cli.status import status
from memory_sidecar.errors import SidecarError, UsageError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # as a shell reports SIGPIPE


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Any text may be `-`, which reads standard input. Exit status: 0 done, 1 failed, "
    "2 wrong usage, 3 not found, 4 conflict, 5 daemon unreachable, 130 interrupted.",
)
@click.version_option(__version__, prog_name="memory-sidecar")
def cli() -> None:
    """A local memory for coding agents: searches your projects by meaning and by name."""


for _command in (index, search, embed, status, reindex, source, doctor, model):
    cli.add_command(_command)


def run(call: Call) -> int:
    """Run the command in `call`; returns its exit status. Every error has become one line."""
    try:
        result = cli.main(
            args=list(call.arguments),
            prog_name="memory-sidecar",
            standalone_mode=False,
            obj=call,
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


def main() -> None:
    """The `memory-sidecar` command."""
    try:
        call = Call.of_this_process(tuple(sys.argv[1:]))
    except SidecarError as error:
        sys.exit(f"memory-sidecar: {error.message}")
    try:
        status = run(call)
    except BrokenPipeError:
        # Whoever read our output has left; keep Python from flushing into the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_BROKEN_PIPE
    sys.exit(status)


def _usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    hint = f"see `{context.command_path} --help`" if context else ""
    return UsageError(error.format_message(), hint=hint)
