"""Carries JSON-RPC lines between standard streams and the daemon, and outlives the daemon.

A host starts one such process per agent, so it imports next to nothing. It only knows how the host
opened the conversation, which it repeats to the next daemon, and which requests await an answer:
if their daemon is lost they get an error, as they may or may not have been carried out.
A stopped daemon stays stopped until the next request.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

from memory_sidecar.daemon.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    IncomingLine,
    error_line,
    find_id,
    valid_id,
)
from memory_sidecar.daemon.link import Link, OutputClosed, read_part, write_whole
from memory_sidecar.daemon.protocol import ProtocolError, encode, from_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from memory_sidecar.daemon.protocol import Frame

LAST_ANSWERS_S = 60.0  # a host that does not wait for them kills the process, which loses nothing
LOOK_S = 0.01
ATTEMPTS = 200  # a daemon may just be stopping
ATTEMPT_PAUSE_S = 0.1
REOPENING = "memory-sidecar reopens"  # the id of the repeated `initialize`

LOST = (
    "the daemon ended during this call, which may have happened: if it changes anything, look "
    "before you call it again"
)


class Refused(Exception):
    """The daemon does not grant the conversation, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__("the daemon no longer takes this server's options: start it again")
        self.status = status


class Pump:
    """One conversation of a host, continued with the next daemon when one is lost.

    `connect` links to a daemon, starting one if needed; `request` asks it for the conversation. The
    link is changed and written to under `_sending`.
    """

    def __init__(self, connect: Callable[[], Link | None], request: Frame) -> None:
        self._connect = connect
        self._request = request
        self._link: Link | None = None
        self._sending = threading.Lock()
        self._printing = threading.RLock()  # also held until an answered request is noted
        self._waiting: set[str | int | None] = set()  # ids of requests without an answer
        self._opening: list[bytes] = []  # the lines `initialize` and `initialized`, once received
        self._opened_by: str | int | None = None  # the id of `initialize`
        self._is_open = False  # whether `initialize` was answered

    def run(self) -> int:
        """Carry lines until the host closes standard input; returns the exit status.

        Raises SidecarError or OSError if the first daemon cannot be reached.
        """
        try:
            with self._sending:
                self._reopen()
            for line in _lines(0):
                self._handle_line(line)
        except Refused as ended:
            return ended.status
        except OutputClosed:
            return 0
        ends_s = time.monotonic() + LAST_ANSWERS_S
        while self._waiting and time.monotonic() < ends_s:
            time.sleep(LOOK_S)
        return 0

    # From the host

    def _handle_line(self, heard: IncomingLine) -> None:
        if heard.is_too_long:
            self._print(heard.refusal)
            return
        line = heard.kept + b"\n"
        try:
            message = from_json(line)
        except ValueError:
            self._fail(find_id(line), PARSE_ERROR, "that line is not readable JSON")
            return
        if isinstance(message, list) and message:  # a batch, which older clients send
            for each in message:
                self._handle_message(each, encode(each))
        else:
            self._handle_message(message, line)

    def _handle_message(self, message: Any, line: bytes) -> None:  # noqa: ANN401  whatever JSON has
        """Forward one message, whose line is `line`."""
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "each line must be one JSON object")
            return
        request_id = valid_id(message.get("id")) if "method" in message else None
        if request_id is None and "method" in message and "id" in message:
            self._fail(None, INVALID_REQUEST, "an id is a string or an integer")
            return
        with self._sending:
            try:
                self._forward(message, request_id, line)
            except Exception as error:  # a SidecarError, or an error of the disk
                if request_id is not None:
                    words = (str(error), getattr(error, "hint", ""))
                    self._fail(request_id, INTERNAL_ERROR, "; ".join(filter(None, words)))

    def _forward(self, message: dict[str, Any], request_id: str | int | None, line: bytes) -> None:
        """Send `line` to the daemon, or to the next one if the connection is lost.

        No daemon is started for a message that needs no answer from one.
        """
        for _ in range(2):
            if self._link is None and (request_id is None or message["method"] == "ping"):
                self._remember(message, None, line)
                if request_id is not None:
                    self._print(encode({"jsonrpc": "2.0", "id": request_id, "result": {}}))
                return
            link = self._link or self._reopen()
            self._remember(message, request_id, line)
            try:
                link.send_line(line)
            except OSError:
                self._waiting.discard(request_id)  # no daemon has received all of it
                self._drop_link()
            else:
                return
        raise ConnectionResetError("the daemon ended twice")

    def _remember(self, message: dict[str, Any], request_id: str | int | None, line: bytes) -> None:
        """Remember what a lost daemon will make necessary: ids to answer, lines to repeat."""
        method, params = message.get("method"), message.get("params")
        if request_id is not None:
            self._waiting.add(request_id)
        if method == "initialize":
            self._opening, self._opened_by = [line], request_id
        elif method == "notifications/initialized":
            self._opening[1:] = [line]
        elif method == "notifications/cancelled" and isinstance(params, dict):
            self._waiting.discard(valid_id(params.get("requestId")))  # it is never answered

    # From the daemon

    def _listen(self, link: Link) -> None:
        """Print what the daemon on `link` says until it ends; then fail the waiting requests."""
        try:
            try:
                while (line := link.receive_line()) is not None:
                    self._handle_answer(line)
            except (OSError, ProtocolError, ValueError, AttributeError):
                pass  # it ended, or sends nonsense: it is lost
            with self._sending:
                if self._link is link:
                    self._drop_link()
        except OutputClosed:
            os._exit(0)  # the host is gone, though standard input may still be open

    def _drop_link(self) -> None:
        assert self._link is not None
        self._link.close()
        self._link = None
        with self._printing:
            for request_id in tuple(self._waiting):
                self._fail(request_id, INTERNAL_ERROR, LOST)

    def _handle_answer(self, line: bytes) -> None:
        message = from_json(line)
        answered = None if "method" in message else valid_id(message.get("id"))
        if answered == REOPENING:
            return
        with self._printing:
            self._print(line + b"\n")
            if answered is not None:
                self._is_open = self._is_open or answered == self._opened_by
                self._waiting.discard(answered)

    def _reopen(self) -> Link:
        """Link to a daemon that grants the conversation, and repeat what opened it.

        Raises SidecarError, Refused, OSError.
        """
        for _ in range(ATTEMPTS):
            link = self._connect()
            if link is None:
                raise ConnectionRefusedError("no daemon can be started now")
            if self._request_conversation(link):
                break
            link.close()
            time.sleep(ATTEMPT_PAUSE_S)
        else:
            raise ConnectionRefusedError("the daemon is stopping: try again")
        if self._is_open:
            initialize = from_json(self._opening[0])
            link.send({**initialize, "id": REOPENING})
            link.send_line(b"".join(self._opening[1:]))
        self._link = link
        threading.Thread(target=self._listen, args=(link,), daemon=True).start()
        return link

    def _request_conversation(self, link: Link) -> bool:
        """Ask for the conversation; False if the daemon is stopping. Raises Refused."""
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

    def _fail(self, request_id: str | int | None, code: int, message: str) -> None:
        """Answer the request with the id `request_id` with an error."""
        self._print(error_line(request_id, code, message))
        self._waiting.discard(request_id)

    def _print(self, data: bytes) -> None:
        """Write to standard output. Raises OutputClosed if the host no longer reads."""
        with self._printing:
            write_whole(1, data)


def _lines(fd: int) -> Iterator[IncomingLine]:
    """Yield the lines of `fd` that are not blank, without their ends."""
    line = IncomingLine()
    while data := _read(fd):
        *ends, last = data.split(b"\n")
        for end in ends:
            line.add(end)
            if line.kept.strip():
                yield line
            line = IncomingLine()
        line.add(last)
    if line.kept.strip():
        yield line


def _read(fd: int) -> bytes:
    try:
        return read_part(fd)
    except OSError:
        return b""
