"""A client's connection to the daemon, and its own output.

Imports next to nothing, because the thin client is built on it.
"""

from __future__ import annotations

import _socket as socket  # `socket` without its Python part, which takes 4 ms to import
import os
import stat
import sys

import memory_sidecar
from memory_sidecar.daemon.address import known_addresses
from memory_sidecar.daemon.protocol import (
    EXIT_BROKEN_PIPE,
    EXIT_FAILED,
    MAX_FRAME_BYTES,
    PROTOCOL,
    ProtocolError,
    decode,
    encode,
    greeting,
    is_older,
    read_greeting,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from memory_sidecar.daemon.protocol import Frame

GREETING_TIMEOUT_S = 10.0
INPUT_BYTES = 1 << 16


class OutputClosed(Exception):
    """Our output cannot be written: its reader is gone, or its disk is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the output: {error.strerror}")
        self.status = EXIT_BROKEN_PIPE if isinstance(error, BrokenPipeError) else EXIT_FAILED


def read_part(fd: int, at_most: int = INPUT_BYTES) -> bytes:
    """Read the next bytes of `fd`, however slow its writer is; b"" at its end. Raises OSError."""
    while True:
        try:
            return os.read(fd, at_most)
        except BlockingIOError:  # the program that started this one made the pipe non-blocking
            import select

            select.select([fd], [], [])


def write_whole(fd: int, data: bytes) -> None:
    """Write all of `data`, however slow its reader is.

    Raises OutputClosed. Python's own streams would need the locale, and a flush at the end.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            import select

            select.select([], [fd], [])
        except OSError as error:
            raise OutputClosed(error) from error


def write_text(fd: int, text: str) -> None:
    """Write `text` as UTF-8 to standard output or error.

    A stream that was closed at the start takes nothing: its number may now be the daemon's socket.
    Raises OutputClosed for standard output alone: if errors are lost, the exit status tells.
    """
    if (sys.stdout if fd == 1 else sys.stderr) is not None:
        try:
            write_whole(fd, text.encode("utf-8", "backslashreplace"))
        except OutputClosed:
            if fd == 1:
                raise
    elif fd == 1:
        raise OutputClosed(OSError(0, "it is closed"))


def end(status: int) -> NoReturn:
    """End this process without the finalization of Python, which threads of CocoIndex outlive.

    A thread that runs Python code after that is unwound while it holds Python objects, which
    crashed one process in thousands.
    """
    try:
        sys.stdout.flush()
    finally:
        os._exit(status)  # even if the reader has left


def columns() -> int:
    """Return the width of the terminal like `shutil.get_terminal_size`."""
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    for fd in (1, 2):
        try:
            return os.get_terminal_size(fd).columns or 80
        except OSError:
            continue
    return 80


def rows() -> int:
    """Return the height of the terminal that is standard output; 0 if it is none."""
    try:
        return os.get_terminal_size(1).lines
    except OSError:
        return 0


class Link:
    """A connection to a daemon, greeted on both sides."""

    def __init__(self, connected: socket.socket, token: str) -> None:
        """Greet the daemon on `connected`. Raises OSError or ProtocolError if none answers."""
        self._socket = connected
        self._received = bytearray()
        self.send(greeting(token=token))
        frame = self.receive()
        if frame is None:
            raise ConnectionResetError("the daemon is stopping")
        self.protocol, self.version = read_greeting(frame)
        self._is_replaced = frame.get("replaced") is True
        self.pid = int(frame.get("pid", 0))
        self.data_dir = str(frame.get("data_dir", ""))
        self.set_timeout(None)

    @property
    def is_outdated(self) -> bool:
        """Whether the daemon is older than its code on disk or than ours, so must be replaced."""
        return (
            self._is_replaced
            or self.protocol < PROTOCOL
            or (is_older(self.version) and is_older(self.version, _version_on_disk()))
        )

    def set_timeout(self, seconds: float | None) -> None:
        """Let reads and writes raise TimeoutError after `seconds`; `None` waits for ever."""
        self._socket.settimeout(seconds)

    def send(self, frame: Frame) -> None:
        self._socket.sendall(encode(frame))

    def send_line(self, line: bytes) -> None:
        """Send one line of a conversation, with its line end."""
        self._socket.sendall(line)

    def receive(self) -> Frame | None:
        """Return the next frame; `None` if the daemon hung up."""
        line = self.receive_line()
        return None if line is None else decode(line)

    def receive_line(self) -> bytes | None:
        """Return the next line without its end; `None` if the daemon hung up."""
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > MAX_FRAME_BYTES:
                raise ProtocolError("a frame without an end")
            more = self._socket.recv(1 << 16)
            if not more:
                return None
            self._received += more
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def close(self) -> None:
        self._socket.close()


def reach(data_dir: str, environ: Mapping[str, str]) -> Link | None:
    """Connect to the daemon of `data_dir`; `None` if there is none.

    Raises DaemonUnreachable if it does not answer or speaks a newer protocol.
    """
    link = find(data_dir, environ)
    if link is not None and link.protocol > PROTOCOL:
        raise _unreachable(
            f"the daemon has version {link.version}, which this program cannot talk to",
            "upgrade memory-sidecar here, or use --no-daemon",
        )
    return link


def find(
    data_dir: str, environ: Mapping[str, str], *, patience_s: float = GREETING_TIMEOUT_S
) -> Link | None:
    """Connect like `reach`, but to a daemon of any protocol: all understand `stop`."""
    for address in known_addresses(data_dir, environ):
        try:
            connected, token = connect(address, patience_s)
        except (OSError, ValueError):
            continue
        try:
            link = Link(connected, token)
        except TimeoutError as error:
            connected.close()
            raise _unreachable(
                f"the daemon of {data_dir} does not answer", "`memory-sidecar stop` stops it"
            ) from error
        except (OSError, ProtocolError, ValueError, TypeError):
            connected.close()
            continue
        if os.path.realpath(link.data_dir) == os.path.realpath(data_dir):
            return link
        link.close()
    return None


def connect(address: str, patience_s: float) -> tuple[socket.socket, str]:
    """Connect to `address`; returns socket and token to send. Raises OSError, ValueError."""
    kind, _, where = address.partition(":")
    if kind == "unix":
        found = os.lstat(where)
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
            raise PermissionError(f"{where} is not a socket of this user")
        connected = socket.socket(socket.AF_UNIX)
        token = ""
        target: str | tuple[str, int] = where
    else:
        port, _, token = where.partition(":")
        connected = socket.socket(socket.AF_INET)
        target = ("127.0.0.1", int(port))
    try:
        connected.settimeout(patience_s)
        connected.connect(target)
        if kind == "unix":
            _check_peer(connected)
    except (OSError, OverflowError) as error:
        connected.close()
        raise OSError(f"{address}: {error}") from error
    return connected, token


def _check_peer(connected: socket.socket) -> None:
    """Raise PermissionError if another user listens, whom the folder should have kept out."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():  # pid, uid, gid
            raise PermissionError("another user listens there")


def _version_on_disk() -> str:
    """Return the version that a daemon started now would have, or ours if that cannot be read.

    An MCP server's process lives on after an older version was installed. Comparing only with its
    own version, it would replace the daemon again and again by one of the older version.
    """
    try:
        with open(memory_sidecar.__file__, encoding="utf-8") as file:
            line = next(line for line in file if line.startswith("__version__"))
        return line.split('"')[1]
    except (OSError, ValueError, StopIteration, IndexError):
        return memory_sidecar.__version__


def _unreachable(message: str, hint: str) -> Exception:
    from memory_sidecar.core.errors import DaemonUnreachable

    return DaemonUnreachable(message, hint=hint)
