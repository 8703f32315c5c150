"""The `memory-sidecar` command: passes a call on to the daemon and prints what comes back.

It imports next to nothing, because a host starts it a hundred times a minute. What a daemon cannot
do for it, such as starting one, and whatever goes wrong, is imported only then.
"""

from __future__ import annotations

import os
import sys

from memory_sidecar.core.projects import (
    DATA_DIR_VARIABLE,
    NO_DAEMON_OPTION,
    data_dir_of,
    data_dir_option,
    move_leading_options_last,
)
from memory_sidecar.daemon.link import Link, OutputClosed, reach, write_whole
from memory_sidecar.daemon.protocol import EXIT_FAILED, EXIT_INTERRUPTED, ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

NO_DAEMON_VARIABLE = "MEMORY_SIDECAR_NO_DAEMON"
NO_AUTOSTART_VARIABLE = "MEMORY_SIDECAR_NO_AUTOSTART"

TRUST_COMMAND, EMBED_COMMAND = "trust", "embed"
# These are about daemons, or are one, or must not be asked of one, so they run here: what `team`
# means may be another database than that of the daemon, or another role.
OWN_COMMANDS = frozenset(
    ("serve stop daemon service completion setup uninstall team " + TRUST_COMMAND).split()
)
MCP_COMMAND, MCP_OPTION = "mcp", "--mcp"  # the same, for hosts that know only options
HELP_OPTIONS = frozenset({"-h", "--help", "-V", "--version"})
HELP_COMMANDS = frozenset({"", "help", "version", "completion"})
COMPLETE_VARIABLE = "_MEMORY_SIDECAR_COMPLETE"  # set by a shell that asks how a line could go on

CANCEL_PATIENCE_S = 2.0
LATE_INTERRUPT = "interrupted; the daemon ends it as soon as its present step is done"
INPUT_BYTES = 1 << 16
REFUSED, ALONE = "refused", "alone"
REFUSED_S = 60.0  # a daemon that refuses is stopping; the next one may be asked to, as well
REFUSED_PAUSE_S = 0.05


def main() -> int:
    """Run the command line of this process; returns its exit status."""
    if sys.getfilesystemencoding() != "utf-8":  # by the locale; names of files are UTF-8 here
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    try:
        if instruction := os.environ.get(COMPLETE_VARIABLE):
            from memory_sidecar.cli.completing import complete

            return complete(instruction)
        return _main(sys.argv[1:])
    except KeyboardInterrupt:
        _write(2, "memory-sidecar: interrupted\n")
        return EXIT_INTERRUPTED


def _main(arguments: list[str]) -> int:
    arguments = move_leading_options_last(arguments)
    if arguments[:1] == [MCP_OPTION]:
        arguments = [MCP_COMMAND, *arguments[1:]]
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    command = next((word for word in options if not word.startswith("-")), "")
    # To read the help takes no daemon.
    may_start = command not in HELP_COMMANDS and HELP_OPTIONS.isdisjoint(options)
    status = _check_new(arguments, options, command) if may_start else None
    if isinstance(status, int):
        return status
    runs_here = status == ALONE or _is_set(NO_DAEMON_VARIABLE) or command in OWN_COMMANDS
    if NO_DAEMON_OPTION in options:
        runs_here = True
        kept = [word for word in options if word != NO_DAEMON_OPTION]
        arguments = kept + arguments[len(options) :]
    try:
        cwd = os.getcwd()
    except OSError:  # it is gone
        return _run_here(arguments)
    may_ask = may_start and command != TRUST_COMMAND
    data_dir = data_dir_of(arguments, cwd=cwd, environ=os.environ, may_ask=may_ask)
    if runs_here:
        return _run_here(arguments)
    request = _request(arguments, cwd)
    if command == MCP_COMMAND and may_start:
        return _pump(request, data_dir)
    return _ask(request, data_dir, may_start=may_start)


def _ask(request: Frame, data_dir: str, *, may_start: bool) -> int:
    """Have the daemon run `request`, or where there is to be none, run it here."""
    import time

    arguments = request["arguments"]
    began_s = time.monotonic()
    while time.monotonic() - began_s < REFUSED_S:
        try:
            link = _link(data_dir, may_start=may_start)
        except Exception as error:  # a named one, or a disk that refuses
            return _explain(error, arguments)
        status = _converse(link, request, data_dir) if link else ALONE
        if status == ALONE:
            return _run_here(arguments)
        if status != REFUSED:
            os._exit(int(status))  # all is written, and taking Python down takes 5 ms
        time.sleep(REFUSED_PAUSE_S)
    return _fail_unreachable(arguments, f"the daemon of {data_dir} is stopping", "try again")


def _check_new(arguments: list[str], options: list[str], command: str) -> int | str | None:
    """Tell of a data directory that is to be made; the exit status where it seems mistyped.

    ALONE for a command that only reads one that the environment names: a host may ask first, and
    is answered without a folder and a daemon being made for that, but where it takes a model.
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
        return _explain(no_data_dir(named), arguments)
    return None if command == EMBED_COMMAND else ALONE


def _link(data_dir: str, *, may_start: bool) -> Link | None:
    """A connection to the daemon; `None` where there is none to be had."""
    link = reach(data_dir, os.environ)
    if link is not None and not link.is_outdated:
        return link
    if link is not None:
        link.close()
    return _started(data_dir) if may_start else None


def _run_here(arguments: list[str]) -> int:
    from memory_sidecar.cli.main import main as run

    return run(arguments)


def _started(data_dir: str) -> Link | None:
    """A connection to a daemon that is started for it; `None` where none could live."""
    from memory_sidecar.core.errors import DaemonUnreachable
    from memory_sidecar.daemon.start import start_daemon

    if _is_set(NO_AUTOSTART_VARIABLE):
        raise DaemonUnreachable(
            f"no daemon runs for {data_dir}",
            hint=f"start one with `memory-sidecar serve`, or unset {NO_AUTOSTART_VARIABLE}",
        )
    # Told to people only: what a program reads of us is not to depend on how fast a disk is.
    is_read = os.isatty(2)
    return start_daemon(
        data_dir, os.environ, say=_note, say_starting=_note if is_read else lambda _text: None
    )


def _pump(request: Frame, data_dir: str) -> int:
    """Hold an MCP conversation with the daemon, on standard streams, until the host ends it."""
    from memory_sidecar.daemon.pump import Pump

    if sys.stdin is None or sys.stdout is None:
        return EXIT_FAILED
    arguments = request["arguments"]
    try:
        first = _link(data_dir, may_start=True)
        if first is None:
            return _run_here(arguments)
        links = [first]

        def connect() -> Link | None:
            return links.pop() if links else _link(data_dir, may_start=True)

        status = Pump(connect, {**request, "type": "converse"}).run()
    except Exception as error:  # a named one, or a disk that refuses
        return _explain(error, arguments)
    os._exit(status)


def _request(arguments: list[str], cwd: str) -> Frame:
    return {
        "type": "run",
        "arguments": arguments,
        "cwd": cwd,
        "environ": dict(os.environ),  # to ourselves: `children` says what of it goes further
        "is_terminal": os.isatty(1),
        "shows_progress": os.isatty(2),
        "columns": _columns(),
        "rows": _rows(),
    }


def _converse(link: Link, request: Frame, data_dir: str) -> int | str:
    """Run `request`: its exit status, or why the daemon did not take it."""
    try:
        link.send(request)
        return _answer(link)
    except KeyboardInterrupt:
        return _interrupt(link)
    except OutputClosed as closed:
        return closed.status
    except (OSError, ProtocolError) as error:
        from memory_sidecar.daemon.address import state_file

        return _fail_unreachable(
            request["arguments"],
            f"the daemon of {data_dir} broke off: {error}",
            f"try again; its log is {state_file(data_dir, 'daemon.log')}",
        )
    finally:
        link.close()


def _answer(link: Link) -> int | str:
    """Print and read for the daemon until it says how the command ended."""
    while (frame := link.receive()) is not None:
        if (ended := _take(frame, link)) is not None:
            return ended
    raise ConnectionResetError("it ended before the command did")


def _take(frame: Frame, link: Link, *, reads: bool = True) -> int | str | None:
    """Do what `frame` says, reading only where it `reads`; how the command ended, if it has."""
    kind = frame.get("type")
    if kind == "out":
        _write(1, frame["text"])
    elif kind == "err":
        _write(2, frame["text"])
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


def _interrupt(link: Link) -> int:
    """Cancel the command and let it have its last word; another Ctrl-C does not wait for that."""
    try:
        if not _cancel(link):
            _write(2, f"memory-sidecar: {LATE_INTERRUPT}\n")
    except KeyboardInterrupt:
        os._exit(EXIT_INTERRUPTED)
    except Exception:  # whatever it is, the user wants out
        return EXIT_INTERRUPTED
    return EXIT_INTERRUPTED


def _cancel(link: Link) -> bool:
    """Whether the command, or its daemon, ended in time."""
    import time

    until = time.monotonic() + CANCEL_PATIENCE_S
    try:
        link.set_timeout(CANCEL_PATIENCE_S)  # for a daemon that does not even read
        link.send({"type": "cancel"})
        # No user types into what they have interrupted, and a progress bar is no last word.
        while (left_s := until - time.monotonic()) > 0:
            link.set_timeout(left_s)
            frame = link.receive()
            if frame is None or _take(frame, link, reads=False) is not None:
                return True
    except TimeoutError:
        return False
    return False


def _write(fd: int, text: str) -> None:
    """Write `text` as UTF-8. Raises OutputClosed."""
    if (sys.stdout if fd == 1 else sys.stderr) is None:
        return  # closed when we were started; by now the number may be the daemon's socket
    write_whole(fd, text.encode("utf-8", "backslashreplace"))


def _note(text: str) -> None:
    _write(2, f"note: {text}\n")


def _send_input(link: Link) -> None:
    import binascii

    data = os.read(0, INPUT_BYTES) if sys.stdin is not None else b""
    link.send({"type": "stdin", "data": binascii.b2a_base64(data, newline=False).decode()})


def _columns() -> int:
    """The width of the terminal, as `shutil.get_terminal_size` finds it."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    for fd in (1, 2):
        try:
            return os.get_terminal_size(fd).columns or 80
        except OSError:
            continue
    return 80


def _rows() -> int:
    """The height of the terminal that results go to; 0 where they go elsewhere."""
    try:
        return os.get_terminal_size(1).lines
    except OSError:
        return 0


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def _fail_unreachable(arguments: list[str], message: str, hint: str) -> int:
    from memory_sidecar.core.errors import DaemonUnreachable

    return _explain(DaemonUnreachable(message, hint=hint), arguments)


def _explain(error: Exception, arguments: list[str]) -> int:
    """Say what went wrong as every command does; returns the exit status."""
    from memory_sidecar.cli.form import error_line, wants_json
    from memory_sidecar.core.errors import DaemonUnreachable, SidecarError

    if not isinstance(error, SidecarError):
        error = DaemonUnreachable(str(error), hint="use --no-daemon")
    as_json = wants_json(tuple(arguments), is_terminal=os.isatty(1))
    _write(2, error_line(error, as_json=as_json))
    return error.exit_status


if __name__ == "__main__":
    sys.exit(main())
