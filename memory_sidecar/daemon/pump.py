"""Carries lines between standard streams and the daemon, and outlives the daemon.

A host starts one such process per agent, so it imports next to nothing and holds no library. Of
JSON-RPC it knows how the host opened the conversation, which it says again to the next daemon, and
which requests wait for an answer: when the daemon that ran them is lost they get an error, since
neither side knows what was done. While nothing is asked, a daemon that was stopped stays stopped.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from memory_sidecar.daemon.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    HeardLine,
    error_line,
    id_in,
    id_of,
)
from memory_sidecar.daemon.link import Link, OutputClosed, write_whole
from memory_sidecar.daemon.plain_json import from_json
from memory_sidecar.daemon.protocol import ProtocolError, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memory_sidecar.daemon.protocol import Frame

LAST_ANSWERS_S = 1.5  # a host kills a process that takes longer than two seconds to go
ATTEMPTS = 200  # a daemon may just be stopping
ATTEMPT_PAUSE_S = 0.1
INPUT_BYTES = 1 << 16
REOPENING = "memory-sidecar reopens"  # the id under which `initialize` is said again

LOST = (
    "the daemon ended during this call, which may have happened: if it changes anything, look "
    "before you call it again"
)


class Refused(Exception):
    """The daemon will hold no such conversation, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__("the daemon no longer takes this server's options: start it again")
        self.status = status


class Pump:
    """One conversation, held with one daemon after the other.

    `connect` gives a daemon that has greeted back, started if need be; `request` asks it for the
    conversation. The link is changed and written to under `_sending`.
    """

    def __init__(self, connect: Callable[[], Link | None], request: Frame) -> None:
        self._connect = connect
        self._request = request
        self._link: Link | None = None
        self._sending = threading.Lock()
        self._printing = threading.Lock()
        self._waiting: set[str | int] = set()  # ids of requests
        self._all_answered = threading.Event()
        self._opening: list[bytes] = []  # `initialize` and `initialized`, once they were said
        self._opened_by: str | int | None = None  # the id of `initialize`
        self._is_open = False  # it was answered

    def run(self) -> int:
        """Carry until the host closes standard input; returns the exit status.

        Raises SidecarError and OSError where there is no daemon to begin with.
        """
        try:
            with self._sending:
                self._reopen()
            for line in _lines(0):
                self._hear(line)
        except Refused as ended:
            return ended.status
        except OutputClosed:
            return 0
        if self._waiting:
            self._all_answered.wait(LAST_ANSWERS_S)
        return 0

    # From the host

    def _hear(self, heard: HeardLine) -> None:
        if heard.is_too_long:
            self._print(heard.refusal)
            return
        line = heard.kept + b"\n"
        try:
            message = from_json(line)
        except ValueError:
            self._fail(id_in(line), PARSE_ERROR, "that line is not readable JSON")
            return
        if isinstance(message, list) and message:  # a batch, which older clients send
            for each in message:
                self._take(each, encode(each))
        else:
            self._take(message, line)

    def _take(self, message: Any, line: bytes) -> None:  # noqa: ANN401  whatever JSON has
        """Pass on one message, which `line` says."""
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "each line must be one JSON object")
            return
        asked = id_of(message.get("id")) if "method" in message else None
        if asked is None and "method" in message and "id" in message:
            self._fail(None, INVALID_REQUEST, "an id is a string or an integer")
            return
        with self._sending:
            if self._link is None and (asked is None or message["method"] == "ping"):
                self._note(message, None, line)  # which asks for nothing: no daemon is started
                if asked is not None:
                    self._print(encode({"jsonrpc": "2.0", "id": asked, "result": {}}))
                return
            try:
                self._forward(message, asked, line)
            except Exception as error:  # a named one, or a disk that refuses
                if asked is not None:
                    words = (str(error), getattr(error, "hint", ""))
                    self._fail(asked, INTERNAL_ERROR, "; ".join(filter(None, words)))

    def _forward(self, message: dict[str, Any], asked: str | int | None, line: bytes) -> None:
        """Say `line` to the daemon, or to the next one where it hears no more."""
        for _ in range(2):
            link = self._link or self._reopen()
            self._note(message, asked, line)
            try:
                link.send_line(line)
            except OSError:
                self._settle(asked)  # no reader has heard all of it
                self._lose()
            else:
                return
        raise ConnectionResetError("the daemon ended twice")

    def _note(self, message: dict[str, Any], asked: str | int | None, line: bytes) -> None:
        """Remember what has to be known when the daemon is lost."""
        method, params = message.get("method"), message.get("params")
        if asked is not None:
            self._all_answered.clear()
            self._waiting.add(asked)
        if method == "initialize":
            self._opening, self._opened_by = [line], asked
        elif method == "notifications/initialized":
            self._opening[1:] = [line]
        elif method == "notifications/cancelled" and isinstance(params, dict):
            self._settle(id_of(params.get("requestId")))  # it is never answered

    # From the daemon

    def _listen(self, link: Link) -> None:
        """Pass on what the daemon on `link` says, until it ends; then say so to those who wait."""
        try:
            try:
                while (line := link.receive_line()) is not None:
                    self._pass_on(line)
            except (OSError, ProtocolError, ValueError, AttributeError):
                pass  # it ended, or talks nonsense: it is lost
            with self._sending:
                if self._link is link:
                    self._lose()
        except OutputClosed:
            os._exit(0)  # the host is gone, which standard input may not tell

    def _lose(self) -> None:
        assert self._link is not None
        self._link.close()
        self._link = None
        for asked in tuple(self._waiting):
            self._fail(asked, INTERNAL_ERROR, LOST)

    def _pass_on(self, line: bytes) -> None:
        message = from_json(line)
        answered = None if "method" in message else id_of(message.get("id"))
        if answered == REOPENING:
            return
        self._print(line + b"\n")
        if answered is not None:
            self._is_open = self._is_open or answered == self._opened_by
            self._settle(answered)

    def _settle(self, asked: str | int | None) -> None:
        if asked is not None:
            self._waiting.discard(asked)
        if not self._waiting:
            self._all_answered.set()

    def _reopen(self) -> Link:
        """A daemon that agreed to the conversation, and was told again what opened it.

        Raises SidecarError, Refused, OSError.
        """
        for _ in range(ATTEMPTS):
            link = self._connect()
            if link is None:
                raise ConnectionRefusedError("no daemon can be started now")
            if self._agree(link):
                break
            link.close()
            threading.Event().wait(ATTEMPT_PAUSE_S)
        else:
            raise ConnectionRefusedError("the daemon is stopping: try again")
        if self._is_open:
            initialize = from_json(self._opening[0])
            link.send({**initialize, "id": REOPENING})
            link.send_line(b"".join(self._opening[1:]))
        self._link = link
        threading.Thread(target=self._listen, args=(link,), daemon=True).start()
        return link

    def _agree(self, link: Link) -> bool:
        """Whether the daemon holds the conversation; not where it is stopping. Raises Refused."""
        link.send(self._request)
        while (frame := link.receive()) is not None:
            match frame.get("type"):
                case "out":
                    self._print(frame["text"].encode())
                case "err":
                    with suppress(OSError):
                        os.write(2, frame["text"].encode())
                case "exit":
                    raise Refused(int(frame["status"]))
                case "conversing":
                    return True
                case "refused":
                    break
        return False

    # Both ends

    def _fail(self, asked: str | int | None, code: int, message: str) -> None:
        """Answer the request `asked` with an error."""
        self._print(error_line(asked, code, message))
        self._settle(asked)

    def _print(self, data: bytes) -> None:
        """Raises OutputClosed where the host reads no more."""
        with self._printing:
            write_whole(1, data)


def _lines(fd: int) -> Iterator[HeardLine]:
    """The lines of `fd` that hold anything, without their ends."""
    line = HeardLine()
    while data := _read(fd):
        *ends, last = data.split(b"\n")
        for end in ends:
            line.add(end)
            if line.kept.strip():
                yield line
            line = HeardLine()
        line.add(last)
    if line.kept.strip():
        yield line


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, INPUT_BYTES)
    except OSError:
        return b""
