"""The `memory-sidecar` command: sends a command line to the daemon and prints the answer.

It imports next to nothing, because a host starts it a hundred times a minute. Code for rarer cases,
such as starting a daemon or explaining an error, is imported where it is needed.
"""

from __future__ import annotations

import atexit
import os
import sys

from memory_sidecar.core.projects import (
    DATA_DIR_VARIABLE,
    NO_DAEMON_OPTION,
    asks_for_help,
    data_dir_of,
    data_dir_option,
    is_set,
    move_leading_options_last,
    settle_folders,
    split_command,
)
from memory_sidecar.daemon.link import Link, OutputClosed, columns, end, reach, rows, write_text
from memory_sidecar.daemon.protocol import EXIT_FAILED, EXIT_INTERRUPTED, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

NO_DAEMON_VARIABLE = "MEMORY_SIDECAR_NO_DAEMON"
NO_AUTOSTART_VARIABLE = "MEMORY_SIDECAR_NO_AUTOSTART"

TRUST_COMMAND = "trust"
DAEMON_COMMANDS = ("embed", "web")  # even without data: the daemon has the model, serves the page
# Commands that run in this process: they manage daemons, the installation or trust, and `team` may
# use another database or role than the daemon does.
OWN_COMMANDS = frozenset(
    ("serve stop daemon service completion setup uninstall team " + TRUST_COMMAND).split()
)
MCP_COMMAND, MCP_OPTION = "mcp", "--mcp"  # the same command, for hosts that pass only options
COMPLETE_VARIABLE = "_MEMORY_SIDECAR_COMPLETE"  # set by a shell that asks for completions

CANCEL_PATIENCE_S = 2.0
NOT_BEGUN = "it waited for others, and had not begun"
LATE_INTERRUPT = "the daemon ends it as soon as its present step is done"
REFUSED, ALONE = "refused", "alone"
REFUSED_S = 60.0  # retry this long: a daemon that refuses is stopping, and the next one may, too
REFUSED_PAUSE_S = 0.05


def main() -> int:
    """Run the command line of this process, and let the process end soon after the return."""
    atexit.register(end, status := run())  # called once all threads of ours have ended
    return status


def run() -> int:
    """Run the command line of this process; returns its exit status."""
    if sys.getfilesystemencoding() != "utf-8":  # set by the locale, but file names are UTF-8
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    arguments = move_leading_options_last(sys.argv[1:])
    settle_folders(os.environ)
    try:
        if instruction := os.environ.get(COMPLETE_VARIABLE):
            from memory_sidecar.cli.completing import complete

            return complete(instruction)
        return _main(arguments)
    except KeyboardInterrupt:
        return _report_interrupt(arguments)


def _main(arguments: list[str]) -> int:
    if arguments[:1] == [MCP_OPTION]:
        arguments = [MCP_COMMAND, *arguments[1:]]
    options, command = split_command(arguments)
    may_start = not asks_for_help(arguments)
    status = _check_new_data_dir(arguments, options, command) if may_start else None
    if isinstance(status, int):
        return status
    runs_here = status == ALONE or is_set(os.environ, NO_DAEMON_VARIABLE) or command in OWN_COMMANDS
    if NO_DAEMON_OPTION in options:
        runs_here = True
        kept = [word for word in options if word != NO_DAEMON_OPTION]
        arguments = kept + arguments[len(options) :]
    try:
        cwd = os.getcwd()
    except OSError:  # the folder was removed
        return _run_here(arguments)
    may_ask = may_start and command != TRUST_COMMAND
    data_dir = data_dir_of(arguments, cwd=cwd, environ=os.environ, may_ask=may_ask)
    if runs_here:
        return _run_here(arguments)
    request = _make_request(arguments, cwd)
    if command == MCP_COMMAND and may_start:
        return _relay_mcp(request, data_dir)
    return _run_in_daemon(request, data_dir, may_start=may_start)


def _run_in_daemon(request: Frame, data_dir: str, *, may_start: bool) -> int:
    """Run `request` in the daemon, or in this process if there is none; returns the exit status."""
    import time

    arguments = request["arguments"]
    began_s = time.monotonic()
    while time.monotonic() - began_s < REFUSED_S:
        try:
            link = _connect(data_dir, may_start=may_start)
        except Exception as error:  # a named one, or a disk that refuses
            return _report_error(error, arguments)
        status = _run_request(link, request, data_dir) if link else ALONE
        if status == ALONE:
            return _run_here(arguments)
        if status != REFUSED:
            os._exit(int(status))  # all output is written, and a regular exit of Python takes 5 ms
        time.sleep(REFUSED_PAUSE_S)
    return _fail_unreachable(arguments, f"the daemon of {data_dir} is stopping", "try again")


def _check_new_data_dir(arguments: list[str], options: list[str], command: str) -> int | str | None:
    """Check a data directory that does not exist yet, and note if the command creates it.

    Returns an exit status if an option names it and the command would only read: the name seems
    mistyped. Returns ALONE if the environment names it and the command would only read: a host may
    ask before anything is stored, which takes neither a folder nor, except for DAEMON_COMMANDS, a
    daemon. Returns `None` otherwise.
    """
    option = data_dir_option(arguments)
    named = option or os.environ.get(DATA_DIR_VARIABLE)
    if not named or os.path.lexists(os.path.expanduser(named)):
        return None
    from memory_sidecar.cli.main import makes_data, no_data_dir

    if makes_data(options):
        if option:
            _note(f"{named} is a new data directory")
        return None
    if option:
        return _report_error(no_data_dir(named), arguments)
    return None if command in DAEMON_COMMANDS else ALONE


def _connect(data_dir: str, *, may_start: bool) -> Link | None:
    """Connect to the daemon, starting it if `may_start`; `None` if there is none."""
    link = reach(data_dir, os.environ)
    if link is not None and not link.is_outdated:
        return link
    if link is not None:
        link.close()
    return _start(data_dir) if may_start else None


def _run_here(arguments: list[str]) -> int:
    from memory_sidecar.cli.main import main as run_alone

    return run_alone(arguments)


def _start(data_dir: str) -> Link | None:
    """Start a daemon and connect to it; `None` if none can run. Raises DaemonUnreachable."""
    from memory_sidecar.core.errors import DaemonUnreachable
    from memory_sidecar.daemon.start import start_daemon

    if is_set(os.environ, NO_AUTOSTART_VARIABLE):
        raise DaemonUnreachable(
            f"no daemon runs for {data_dir}",
            hint=f"start one with `memory-sidecar serve`, or unset {NO_AUTOSTART_VARIABLE}",
        )
    # Only for people: what a program reads from us must not depend on the speed of a disk.
    is_read = os.isatty(2)
    return start_daemon(data_dir, os.environ, say=_note, says_starting=is_read)


def _relay_mcp(request: Frame, data_dir: str) -> int:
    """Relay an MCP conversation between the host and the daemon until the host ends it."""
    import memory_sidecar.daemon.start  # noqa: F401  now: an upgrade replaces it on disk
    from memory_sidecar.daemon.pump import Pump

    arguments = request["arguments"]
    if sys.stdin is None or sys.stdout is None:
        from memory_sidecar.core.errors import SidecarError

        text = "mcp speaks on standard input and output, one of which is closed"
        return _report_error(SidecarError(text, hint="an agent starts it with both"), arguments)
    try:
        first = _connect(data_dir, may_start=True)
        if first is None:
            return _run_here(arguments)
        links = [first]

        def connect() -> Link | None:
            return links.pop() if links else _connect(data_dir, may_start=True)

        status = Pump(connect, {**request, "type": "converse"}).run()
    except Exception as error:  # a named one, or a disk that refuses
        return _report_error(error, arguments)
    os._exit(status)


def _make_request(arguments: list[str], cwd: str) -> Frame:
    return {
        "type": "run",
        "arguments": arguments,
        "cwd": cwd,
        "environ": dict(os.environ),  # `children` decides which variables child processes get
        "is_terminal": os.isatty(1),
        "shows_progress": os.isatty(2),
        "columns": columns(),
        "rows": rows(),
    }


def _run_request(link: Link, request: Frame, data_dir: str) -> int | str:
    """Send `request` and print the answer. Returns the exit status, or REFUSED or ALONE."""
    arguments = request["arguments"]
    try:
        try:
            link.send(request)
        except ConnectionError:  # the daemon ended before it had the whole request: it runs nothing
            return REFUSED
        return _handle_frames(link)
    except KeyboardInterrupt:
        return _interrupt(link, arguments)
    except OutputClosed as closed:
        if closed.status == EXIT_FAILED:
            from memory_sidecar.core.errors import output_error

            _report_error(output_error(closed), arguments)
        return closed.status
    except (OSError, ProtocolError) as error:
        from memory_sidecar.daemon.address import state_file

        return _fail_unreachable(
            arguments,
            f"the daemon of {data_dir} broke off: {getattr(error, 'strerror', None) or error}",
            f"try again; its log is {state_file(data_dir, 'daemon.log')}",
        )
    finally:
        link.close()


def _handle_frames(link: Link) -> int | str:
    """Handle the daemon's frames until the command ends. Returns what `_handle_frame` does then."""
    while (frame := link.receive()) is not None:
        if (ended := _handle_frame(frame, link)) is not None:
            return ended
    raise ConnectionResetError("it ended before the command did")


def _handle_frame(frame: Frame, link: Link, *, reads: bool = True) -> int | str | None:
    """Print or page what `frame` contains, or send input unless `reads` is false.

    Returns the exit status, REFUSED or ALONE once the command has ended, else `None`.
    """
    kind = frame.get("type")
    if kind == "out":
        write_text(1, frame["text"])
    elif kind == "err":
        write_text(2, frame["text"])
    elif kind == "page":
        from memory_sidecar.cli.pager import page

        page(frame["text"])
    elif kind == "need_stdin" and reads:
        _send_input(link)
    elif kind == "exit":
        return int(frame["status"])
    elif kind in (REFUSED, ALONE):
        return str(kind)
    return None


def _interrupt(link: Link, arguments: list[str]) -> int:
    """Cancel the command and print its last output; a second Ctrl-C ends this process at once."""
    try:
        if (hint := _cancel(link)) is not None:
            _report_interrupt(arguments, hint=hint)
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)
    except Exception:  # the user wants to leave, whatever failed
        return EXIT_INTERRUPTED
    return EXIT_INTERRUPTED


def _cancel(link: Link) -> str | None:
    """Cancel the command. Returns the hint to report; None if the command itself reported it."""
    import time

    until = time.monotonic() + CANCEL_PATIENCE_S
    try:
        link.set_timeout(CANCEL_PATIENCE_S)  # even the sending blocks if the daemon does not read
        link.send({"type": "cancel"})
        # The interrupted command gets no more input, and progress frames do not extend the wait.
        while (left_s := until - time.monotonic()) > 0:
            link.set_timeout(left_s)
            if (frame := link.receive()) is None:
                return ""
            if (ended := _handle_frame(frame, link, reads=False)) is not None:
                has_begun = isinstance(ended, int) and frame.get("has_begun", True)
                return None if has_begun else NOT_BEGUN
    except TimeoutError:
        pass
    return LATE_INTERRUPT


def _note(text: str) -> None:
    write_text(2, f"note: {text}\n")


def _send_input(link: Link) -> None:
    import binascii

    from memory_sidecar.daemon.link import read_part

    data = read_part(0) if sys.stdin is not None else b""
    link.send({"type": "stdin", "data": binascii.b2a_base64(data, newline=False).decode()})


def _report_interrupt(arguments: list[str], *, hint: str = "") -> int:
    """Report Ctrl-C, with its exit status; a second one ends this process at once."""
    try:
        from memory_sidecar.core.errors import Interrupted

        return _report_error(Interrupted(hint=hint), arguments)
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)


def _fail_unreachable(arguments: list[str], message: str, hint: str) -> int:
    from memory_sidecar.core.errors import DaemonUnreachable

    return _report_error(DaemonUnreachable(message, hint=hint), arguments)


def _report_error(error: Exception, arguments: list[str]) -> int:
    """Print `error` in the form that every command uses; returns its exit status."""
    from memory_sidecar.cli.form import error_line, exit_status, wants_json
    from memory_sidecar.core.errors import DaemonUnreachable, SidecarError

    if not isinstance(error, SidecarError):
        error = DaemonUnreachable(str(error), hint="use --no-daemon")
    given = tuple(arguments)
    write_text(2, error_line(error, as_json=wants_json(given, is_terminal=os.isatty(1))))
    return exit_status(given, error.exit_status)


if __name__ == "__main__":
    sys.exit(main())
