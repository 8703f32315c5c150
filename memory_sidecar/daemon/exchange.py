"""A request as the thread that answers it sees it: the invocation, and the client's streams."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import queue
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from memory_sidecar.daemon.protocol import ProtocolError, encode

if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

FLUSH_CHARACTERS = 1 << 16
BYTES_AHEAD = 1 << 16  # of output sent before a reader takes any: as many as asyncio buffers
DEFAULT_COLUMNS = 80
_OPTION = re.compile("--[a-z][a-z-]*(?==|$)|-[a-zA-Z]")


class Kind(Enum):
    """How long a request takes to answer."""

    QUICK = "a fraction of a second"
    WORKING = "seconds"
    WAITING = "minutes"
    ENDLESS = "until it is cancelled, as it is when the daemon stops"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command line that a client wants to have run, with its environment and terminal."""

    arguments: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str] = field(default_factory=dict)
    is_terminal: bool = False
    shows_progress: bool = False
    columns: int = DEFAULT_COLUMNS
    rows: int = 0  # of the client's terminal; 0 if it has none or cannot page

    @property
    def key(self) -> str:
        """The command line and its folder as one text: the key of the crash log."""
        return json.dumps([self.cwd, self.arguments])

    def __str__(self) -> str:
        """The command and the names of its options, for logs: their values may be private."""
        options = map(_OPTION.match, self.arguments[1:])
        return " ".join([*self.arguments[:1], *(each[0] if each else "…" for each in options)])

    @classmethod
    def of(cls, frame: Frame) -> Invocation:
        """Read an invocation from `frame`. Raises ProtocolError if a field has the wrong type."""
        import msgspec  # imported late, after the client was greeted

        from memory_sidecar.core.results import convert

        try:
            return convert(frame, cls)
        except msgspec.ValidationError as error:
            raise ProtocolError("not a request") from error


class Exchange:
    """A request with the streams of the client that made it.

    Reading and writing wait for a slow client, and give up the turn of this request while they do.
    Once the client cancels or is gone, reading and writing standard output raise KeyboardInterrupt
    every time, so that the command ends as it would in a terminal.
    """

    def __init__(
        self,
        request: Invocation,
        loop: asyncio.AbstractEventLoop,
        writer: asyncio.StreamWriter,
        turns: asyncio.Semaphore,
    ) -> None:
        """`turns`: the semaphore of which the event loop holds a turn for the answering thread."""
        self.request = request
        self.cancelled = threading.Event()
        self.stdin = io.BufferedReader(_Input(self))
        self.stdout = cast("TextIO", _Output(self, "out", request.is_terminal))
        self.stderr = cast("TextIO", _Output(self, "err", request.shows_progress, by_line=True))
        self._loop = loop
        self._writer = writer
        self._turns = turns
        self._input: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._is_gone = False
        self._sent_ahead = 0

    def handle_frame(self, frame: Frame) -> None:
        """Handle a frame that the client sends while its command runs. Raises ProtocolError."""
        match frame.get("type"):
            case "cancel":
                self.cancel()
            case "stdin":
                try:
                    self._input.put(base64.b64decode(frame.get("data", ""), validate=True))
                except (ValueError, TypeError) as error:
                    raise ProtocolError("not base64") from error

    def cancel(self, *, is_gone: bool = False) -> None:
        """Interrupt the command at its next read or write. `is_gone`: its client has gone."""
        self._is_gone |= is_gone
        self.cancelled.set()
        self._input.put(None)

    def send(self, frame: Frame) -> None:
        """Send `frame` from the command's thread; waits until the client has taken most output."""
        if self._is_gone:
            return
        data = encode(frame)
        self._sent_ahead += len(data)
        if self._sent_ahead <= BYTES_AHEAD:
            self._loop.call_soon_threadsafe(self._writer.write, data)
            return
        with self._without_turn():
            asyncio.run_coroutine_threadsafe(self._send(data), self._loop).result()
        self._sent_ahead = 0

    def page(self, text: str) -> None:
        """Let the client show `text` in its pager. Only for a client that sent its `rows`."""
        self.stdout.flush()
        self.send({"type": "page", "text": text})

    def receive_input(self) -> bytes:
        """Return the next part of the client's standard input; empty at its end."""
        self.stdout.flush()
        self.send({"type": "need_stdin"})
        with self._without_turn():
            data = None if self.cancelled.is_set() else self._input.get()
        if data is None or self.cancelled.is_set():
            raise KeyboardInterrupt
        return data

    async def _send(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            self.cancel(is_gone=True)

    @contextmanager
    def _without_turn(self) -> Iterator[None]:
        """Give up this request's turn during the block, which waits for a client."""
        self._loop.call_soon_threadsafe(self._turns.release)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._turns.acquire(), self._loop).result()


class Conversation(Protocol):
    """The application's side of a connection that stays open, such as an MCP session.

    The daemon only asks the application for one; it does not understand what is said.
    """

    async def hold(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        """Talk until the client hangs up or, once `stopping` is set, until no call is in progress.

        Raises no errors of its own: they are sent to the client or logged.
        """


class _Input(io.RawIOBase):
    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._rest = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest and not self._ended:
            self._rest = self._exchange.receive_input()
            self._ended = not self._rest
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


class _Output(io.TextIOBase):
    """Buffers text and sends it: in large pieces, or line by line to a terminal or if `by_line`."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(
        self, exchange: Exchange, kind: str, is_terminal: bool, *, by_line: bool = False
    ) -> None:
        self._exchange = exchange
        self._kind = kind
        self._is_terminal = is_terminal
        self._by_line = by_line or is_terminal
        self._lock = threading.RLock()  # a progress bar is drawn by a thread of its own
        self._parts: list[str] = []
        self._gathered = 0

    def isatty(self) -> bool:
        return self._is_terminal

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("text is written here, not bytes")  # click finds out by trying
        if self._kind == "out" and self._exchange.cancelled.is_set():
            raise KeyboardInterrupt
        with self._lock:
            self._parts.append(text)
            self._gathered += len(text)
            if self._gathered >= FLUSH_CHARACTERS or (self._by_line and "\n" in text):
                self.flush()
        return len(text)

    def flush(self) -> None:
        with self._lock:
            text = "".join(self._parts)
            self._parts.clear()
            self._gathered = 0
            for start in range(0, len(text), FLUSH_CHARACTERS):
                part = text[start : start + FLUSH_CHARACTERS]
                self._exchange.send({"type": self._kind, "text": part})
