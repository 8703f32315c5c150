"""A client's connection to the daemon. Imports next to nothing: the thin client is built on it."""

from __future__ import annotations

import _socket as socket  # the same without its Python half, which takes 4 ms to import
import os

from memory_sidecar.daemon.address import known_addresses
from memory_sidecar.daemon.protocol import (
    MAX_FRAME_BYTES,
    PROTOCOL,
    ProtocolError,
    decode,
    encode,
    greeted,
    greeting,
    is_older,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory_sidecar.daemon.protocol import Frame

GREETING_TIMEOUT_S = 10.0


class Link:
    """A connection whose daemon has greeted back."""

    def __init__(self, connected: socket.socket, token: str) -> None:
        """Raises OSError and ProtocolError where nobody greets back."""
        self._socket = connected
        self._received = bytearray()
        self._socket.settimeout(GREETING_TIMEOUT_S)
        self.send(greeting(token=token))
        frame = self.receive()
        if frame is None:
            raise ConnectionResetError("the daemon is stopping")
        self.protocol, self.version = greeted(frame)
        self.pid = int(frame.get("pid", 0))
        self.data_dir = str(frame.get("data_dir", ""))
        self.patience(None)

    @property
    def is_outdated(self) -> bool:
        """Whether this client is newer than the daemon, and should replace it."""
        return self.protocol < PROTOCOL or is_older(self.version)

    def patience(self, seconds: float | None) -> None:
        """Raise TimeoutError where an answer takes longer; `None` waits for ever."""
        self._socket.settimeout(seconds)

    def send(self, frame: Frame) -> None:
        self._socket.sendall(encode(frame))

    def send_line(self, line: bytes) -> None:
        """What is said in a conversation: one line, with its end."""
        self._socket.sendall(line)

    def receive(self) -> Frame | None:
        """The next frame; `None` where the daemon hung up."""
        line = self.receive_line()
        return None if line is None else decode(line)

    def receive_line(self) -> bytes | None:
        """The next line, without its end; `None` where the daemon hung up."""
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
    """The daemon of `data_dir`; `None` where there is none.

    Raises DaemonUnreachable where one is there that does not answer, or cannot be understood.
    """
    for address in known_addresses(data_dir, environ):
        try:
            connected, token = _connect(address)
        except (OSError, ValueError):
            continue
        try:
            link = Link(connected, token)
        except TimeoutError as error:
            raise _unreachable(
                f"the daemon of {data_dir} does not answer", "end its process and try again"
            ) from error
        except (OSError, ProtocolError, ValueError):
            connected.close()
            continue
        if not _same(link.data_dir, data_dir):
            link.close()
            continue
        if link.protocol > PROTOCOL:
            raise _unreachable(
                f"the daemon is of version {link.version}, which this one cannot talk to",
                "upgrade memory-sidecar here, or use --no-daemon",
            )
        return link
    return None


def _connect(address: str) -> tuple[socket.socket, str]:
    kind, _, where = address.partition(":")
    if kind == "unix":
        if os.stat(where).st_uid != os.getuid():
            raise PermissionError(f"{where} belongs to somebody else")
        connected = socket.socket(socket.AF_UNIX)
        token = ""
        target: str | tuple[str, int] = where
    else:
        port, _, token = where.partition(":")
        connected = socket.socket(socket.AF_INET)
        target = ("127.0.0.1", int(port))
    try:
        connected.connect(target)
    except OSError:
        connected.close()
        raise
    return connected, token


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _unreachable(message: str, hint: str) -> Exception:
    from memory_sidecar.errors import DaemonUnreachable

    return DaemonUnreachable(message, hint=hint)
