"""One request as the thread that answers it sees it: what was asked, and the client's streams."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import queue
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from memory_sidecar.daemon.protocol import ProtocolError, encode

if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

FLUSH_CHARACTERS = 1 << 16
BYTES_AHEAD = 1 << 16  # of output that no reader need have taken: what asyncio buffers, too
DEFAULT_COLUMNS = 80


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a client wants to have run, and what it says of itself."""

    arguments: tuple[str, ...]
    cwd: str
    environ: Mapping[str, str] = field(default_factory=dict)
    is_terminal: bool = False
    shows_progress: bool = False
    columns: int = DEFAULT_COLUMNS
    rows: int = 0  # of its terminal; 0: none, or a client that cannot show pages

    @property
    def key(self) -> str:
        """The same for the same command line in the same folder: what a crash log goes by."""
        return json.dumps([self.cwd, self.arguments])

    def __str__(self) -> str:
        return " ".join(self.arguments)

    @classmethod
    def of(cls, frame: Frame) -> Invocation:
        """Raises ProtocolError where something has the wrong type."""
        import msgspec  # after the client was greeted

        from memory_sidecar.core.results import convert

        try:
            return convert(frame, cls)
        except msgspec.ValidationError as error:
            raise ProtocolError("not a request") from error


class Exchange:
    """A request with the streams of the client that made it.

    Reading and writing wait for the client, however slow it is, and let others have the turn of
    this request meanwhile. Once the client cancels or is gone, reading and writing standard output
    raise KeyboardInterrupt, however often, so that the command ends as it would in a terminal.
    """

    def __init__(
        self,
        request: Invocation,
        loop: asyncio.AbstractEventLoop,
        writer: asyncio.StreamWriter,
        turns: asyncio.Semaphore,
    ) -> None:
        """`turns` is what the event loop took a turn of, for the thread that answers."""
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

    def hear(self, frame: Frame) -> None:
        """Take a frame that came in while the command runs."""
        match frame.get("type"):
            case "cancel":
                self.cancel()
            case "stdin":
                try:
                    self._input.put(base64.b64decode(frame.get("data", ""), validate=True))
                except (ValueError, TypeError) as error:
                    raise ProtocolError("not base64") from error

    def cancel(self, *, is_gone: bool = False) -> None:
        """Have the command end at its next step. `is_gone`: its output has no reader any more."""
        self._is_gone |= is_gone
        self.cancelled.set()
        self._input.put(None)

    def send(self, frame: Frame) -> None:
        """Called by the command's thread; returns when the client has taken nearly all of it."""
        if self._is_gone:
            return
        data = encode(frame)
        self._sent_ahead += len(data)
        if self._sent_ahead <= BYTES_AHEAD:
            self._loop.call_soon_threadsafe(self._writer.write, data)
            return
        with self._turn_given_up():
            asyncio.run_coroutine_threadsafe(self._send(data), self._loop).result()
        self._sent_ahead = 0

    def page(self, text: str) -> None:
        """Have the client show `text` through its pager. Only for one that has said its rows."""
        self.stdout.flush()
        self.send({"type": "page", "text": text})

    def receive_input(self) -> bytes:
        """Some of the client's standard input; nothing at its end."""
        self.stdout.flush()
        self.send({"type": "need_stdin"})
        with self._turn_given_up():
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
    def _turn_given_up(self) -> Iterator[None]:
        """Let another request go on during the block, which waits for a client."""
        self._loop.call_soon_threadsafe(self._turns.release)
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(self._turns.acquire(), self._loop).result()


class Conversation(Protocol):
    """What the application says to one client on a connection that the two keep.

    The daemon only finds out whether there is to be one; it understands nothing of what is said.
    """

    async def hold(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        """Talk until the client hangs up, or, once `stopping` is set, until nothing is under way.

        Raises nothing of its own: what goes wrong is said to the client or logged.
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
    """Gathers text and sends it on: by the line to a terminal, in large pieces elsewhere."""

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
            raise TypeError("text is written here, not bytes")  # which is how click asks
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
