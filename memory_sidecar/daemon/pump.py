"""Carries lines between standard streams and the daemon, and outlives the daemon.

A host starts one such process per agent, so it imports next to nothing and holds no library. Of
JSON-RPC it knows what it takes to lose nothing when a daemon ends, is killed or is replaced: how
the host opened the conversation, and which requests wait for an answer. Whatever may be done twice
is asked again; the rest is answered with an error that says so. While nothing is asked, a daemon
that was stopped stays stopped.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from memory_sidecar.daemon.plain_json import from_json
from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES, ProtocolError, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memory_sidecar.daemon.link import Link
    from memory_sidecar.daemon.protocol import Frame

LAST_ANSWERS_S = 1.5  # a host kills a process that takes longer than two seconds to go
ATTEMPTS = 3  # a daemon may just be stopping
INPUT_BYTES = 1 << 16
CALL = "tools/call"
REOPENING = "memory-sidecar reopens"  # the id under which `initialize` is said again

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603


class Ended(Exception):
    """The daemon will hold no such conversation, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Pump:
    """One conversation, held with one daemon after the other.

    `connect` gives a daemon that has greeted back, started if need be; `request` asks it for the
    conversation. The link is changed and written to under `_sending`, by the thread that reads what
    the host says or, when a daemon was lost, by the one that listened to it.
    """

    def __init__(self, connect: Callable[[], Link | None], request: Frame) -> None:
        self._connect = connect
        self._request = request
        self._link: Link | None = None
        self._sending = threading.Lock()
        self._printing = threading.Lock()
        self._waiting: dict[str | int, _Request] = {}
        self._all_answered = threading.Event()
        self._opening: list[bytes] = []  # `initialize` and `initialized`, once they were said
        self._is_open = False  # `initialize` was answered
        self._repeatable: frozenset[str] = frozenset()  # tools that may be called again

    def run(self) -> int:
        """Carry until the host closes standard input; returns the exit status.

        Raises SidecarError and OSError where there is no daemon to begin with.
        """
        try:
            with self._sending:
                self._reopen()
            for line in _lines(0):
                self._hear(line)
        except Ended as ended:
            return ended.status
        except _OutputClosed:
            return 0
        if self._waiting:
            self._all_answered.wait(LAST_ANSWERS_S)
        return 0

    # From the host

    def _hear(self, line: bytes) -> None:
        try:
            message = from_json(line)
        except (ValueError, RecursionError):
            self._fail(None, PARSE_ERROR, "that line is not JSON")
            return
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "a message is a JSON object, one a line")
            return
        asked = message.get("id") if "method" in message else None
        if len(line) > MAX_FRAME_BYTES:
            self._fail(asked, INVALID_REQUEST, f"longer than {MAX_FRAME_BYTES >> 20} MiB")
            return
        if asked is not None and not isinstance(asked, str | int):
            self._fail(None, INVALID_REQUEST, "an id is a string or an integer")
            return
        with self._sending:
            if self._link is None:
                try:
                    self._reopen()
                except Exception as error:  # a named one, or a disk that refuses
                    if asked is not None:
                        self._fail(asked, INTERNAL_ERROR, _words(error))
                    return
            self._note(message, asked, line)
            self._send(line)

    def _note(self, message: dict[str, Any], asked: str | int | None, line: bytes) -> None:
        """Remember what has to be known when the daemon is lost."""
        method = message.get("method")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if asked is not None:
            tool = str(params.get("name")) if method == CALL else ""
            self._all_answered.clear()
            self._waiting[asked] = _Request(line, str(method), tool)
        if method == "initialize":
            self._opening = [line]
        elif method == "notifications/initialized":
            self._opening.append(line)
        elif method == "notifications/cancelled":  # which is never answered
            self._answered(params.get("requestId"))

    # From the daemon

    def _listen(self, link: Link) -> None:
        """Pass on what the daemon on `link` says, until it ends; then see to what it left."""
        try:
            while (line := link.receive_line()) is not None:
                self._pass_on(line)
        except (OSError, ProtocolError):
            pass
        except _OutputClosed:
            os._exit(0)  # the host is gone, which standard input may not tell
        link.close()
        with self._sending:
            if self._link is link:
                self._link = None
                self._recover()

    def _pass_on(self, line: bytes) -> None:
        message = from_json(line)
        answered = message.get("id") if "method" not in message else None
        if answered == REOPENING:
            return
        request = self._waiting.get(answered) if answered is not None else None
        self._print(line + b"\n")
        if request is not None:
            self._is_open = self._is_open or request.method == "initialize"
            self._answered(answered)

    def _answered(self, asked: str | int | None) -> None:
        if asked is not None:
            self._waiting.pop(asked, None)
        if not self._waiting:
            self._all_answered.set()

    # When a daemon is lost

    def _recover(self) -> None:
        """Ask the next daemon what the lost one left unanswered, where that does no harm."""
        again: dict[str | int, _Request] = {}
        for asked, request in list(self._waiting.items()):
            if request.is_repeated:
                self._fail(asked, INTERNAL_ERROR, "the daemon ended twice while it ran this")
            elif request.method == CALL and request.tool not in self._repeatable:
                self._fail(
                    asked,
                    INTERNAL_ERROR,
                    f"the daemon was replaced while it ran {request.tool}, which may be done or "
                    "not: look before you call it again",
                )
            else:
                request.is_repeated = True
                again[asked] = request
        if not again:
            return
        try:
            self._reopen()
        except Exception as error:  # a named one, or a disk that refuses
            for asked in again:
                self._fail(asked, INTERNAL_ERROR, _words(error))
            return
        for request in again.values():
            self._send(request.line)
            if request.method == "initialize":
                self._send(b"".join(self._opening[1:]))

    def _reopen(self) -> None:
        """Agree with a daemon, and say again what opened the conversation.

        Raises SidecarError, Ended, OSError.
        """
        for _ in range(ATTEMPTS):
            link = self._connect()
            if link is None:
                raise ConnectionRefusedError("no daemon can be started any more")
            try:
                self._agree(link)
                break
            except _Refused:
                continue
        else:
            raise ConnectionRefusedError("the daemon is stopping: try again")
        if self._is_open:
            initialize = from_json(self._opening[0])
            self._send(encode({**initialize, "id": REOPENING}))
            self._send(b"".join(self._opening[1:]))

    def _agree(self, link: Link) -> None:
        link.send(self._request)
        while (frame := link.receive()) is not None:
            match frame.get("type"):
                case "out":
                    self._print(frame["text"].encode())
                case "err":
                    with suppress(OSError):
                        os.write(2, frame["text"].encode())
                case "exit":
                    raise Ended(int(frame["status"]))
                case "conversing":
                    self._repeatable = frozenset(frame.get("repeatable", ()))
                    self._link = link
                    threading.Thread(target=self._listen, args=(link,), daemon=True).start()
                    return
                case "refused":
                    break
        link.close()
        raise _Refused

    # Both ends

    def _send(self, line: bytes) -> None:
        try:
            if self._link is not None:
                self._link.send_line(line)
        except OSError:
            pass  # whoever listens sees the end, too, and recovers

    def _fail(self, asked: str | int | None, code: int, message: str) -> None:
        """Answer the request `asked` with an error."""
        error = {"code": code, "message": f"memory-sidecar: {message}"}
        self._print(encode({"jsonrpc": "2.0", "id": asked, "error": error}))
        self._answered(asked)

    def _print(self, data: bytes) -> None:
        """Raises _OutputClosed."""
        rest = memoryview(data)
        with self._printing:
            while rest:
                try:
                    rest = rest[os.write(1, rest) :]
                except BlockingIOError:
                    import select

                    select.select([], [1], [])
                except OSError as error:
                    raise _OutputClosed from error


class _Request:
    """What the host waits for."""

    __slots__ = ("is_repeated", "line", "method", "tool")

    def __init__(self, line: bytes, method: str, tool: str) -> None:
        self.line = line
        self.method = method
        self.tool = tool  # of a call, else ""
        self.is_repeated = False


class _Refused(Exception):
    """The daemon is stopping."""


class _OutputClosed(Exception):
    """The host reads no more."""


def _lines(fd: int) -> Iterator[bytes]:
    """The lines of `fd` that hold anything, each with its end."""
    rest = bytearray()
    while data := _read(fd):
        rest += data
        if b"\n" not in data:
            continue
        *lines, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in lines:
            if line.strip():
                yield line + b"\n"
    if rest.strip():
        yield bytes(rest) + b"\n"


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, INPUT_BYTES)
    except OSError:
        return b""


def _words(error: Exception) -> str:
    """What `error` says, in one line."""
    if isinstance(error, Ended):
        return "it does not accept its own options any more: start it again"
    hint = getattr(error, "hint", "")
    return f"{error}; {hint}" if hint else str(error)
