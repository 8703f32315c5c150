"""Talks to any number of clients at once, and has each request answered in a thread.

Garbage, silence and slowness cost whoever causes them a connection, and nobody else anything.
Requests of each kind take turns of their own, so that a burst of them does not outrun the machine,
and one that waits or goes on for ever holds up none that is quick. A request that has no turn yet
has no thread either, and a thread ends with its request. A conversation keeps its connection, and
runs in the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.daemon import log
from memory_sidecar.daemon.conversation import Conversation
from memory_sidecar.daemon.exchange import Exchange, Request, Turn
from memory_sidecar.daemon.listener import BACKLOG, Listener
from memory_sidecar.daemon.protocol import (
    MAX_FRAME_BYTES,
    ProtocolError,
    decode,
    encode,
    greeted,
    greeting,
)
from memory_sidecar.daemon.requests import key_of
from memory_sidecar.daemon.streams import routed_to

if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

HANDSHAKE_TIMEOUT_S = 5.0
LINGER_S = 30.0  # for a client that is slow to read the end of its answer
FINISH_TIMEOUT_S = 5.0  # for what runs when the daemon is asked to stop
CANCEL_TIMEOUT_S = 1.0
MAX_CLIENTS = 512
EXIT_FAILED = 1
EXIT_INTERRUPTED = 130

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Kind(Enum):
    """How long a request takes to answer."""

    QUICK = "a fraction of a second"
    WORKING = "seconds"
    WAITING = "minutes"
    ENDLESS = "until it is cancelled, as it is when the daemon stops"


# Requests of each kind that are answered at a time: the threads for requests are no more than
# these, and those that wait for a slow client.
TURNS = {
    Kind.QUICK: min(max(2 * (os.cpu_count() or 1), 4), 8),
    Kind.WORKING: 4,
    Kind.WAITING: 8,
    Kind.ENDLESS: 8,
}


class Application(Protocol):
    """What the daemon is for."""

    def start(self) -> None:
        """Get ready, in a thread. Clients are greeted already, and `answer` may be called."""

    def kind_of(self, request: Request) -> Kind:
        """Known from the arguments alone."""

    def may_end(self, *, idle_s: float) -> bool:
        """Whether nobody misses a daemon that had no client for so long."""

    def answer(self, exchange: Exchange) -> int:
        """Run one request to its end, in a thread of its own; returns its exit status."""

    def agree(self, exchange: Exchange) -> Conversation | int:
        """What to say to a client that asks for a conversation; an exit status for a no."""

    def close(self) -> None:
        """Finish, once nothing is being answered any more."""


class Server:
    """Answers on `listener` by asking `application`, from `run` until `stop`."""

    def __init__(
        self,
        listener: Listener,
        application: Application,
        *,
        data_dir: str,
        journal: CrashLog,
        on_stop: Callable[[], None],
    ) -> None:
        self._listener = listener
        self._application = application
        self._data_dir = data_dir
        self._journal = journal
        self._on_stop = on_stop
        self._turns = {kind: asyncio.Semaphore(count) for kind, count in TURNS.items()}
        self._running: set[Exchange] = set()
        self._clients: set[asyncio.Task[None]] = set()
        self._conversing: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._owed = 0  # answers to clients that were greeted
        self._idle = asyncio.Event()
        self._idle.set()

    def stop(self) -> None:
        """Refuse what is new and finish what runs; `run` returns after that."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether no client is connected."""
        return not self._clients

    async def run(self) -> None:
        """Serve until `stop`; what runs then has some seconds to finish, and is then cancelled."""
        # Given a socket, this serves Unix ones as well, and does not remove their files.
        server = await asyncio.start_server(
            self._accept, sock=self._listener.socket, limit=MAX_FRAME_BYTES, backlog=BACKLOG
        )
        await self._stopping.wait()
        self._on_stop()
        server.close()
        await self._finish()

    async def _finish(self) -> None:
        for exchange in self._running:
            if self._application.kind_of(exchange.request) is Kind.ENDLESS:
                exchange.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FINISH_TIMEOUT_S):
                await self._idle.wait()
                if self._conversing:
                    await asyncio.wait(self._conversing)
        for task in self._conversing:
            task.cancel()
        for exchange in self._running:
            _log.warning("cancelled to stop: %s", " ".join(exchange.request.arguments))
            exchange.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), CANCEL_TIMEOUT_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            if len(self._clients) <= MAX_CLIENTS:
                await self._serve(reader, writer)
        except (ProtocolError, TimeoutError, ValueError) as error:
            # ValueError: the stream's word for a line that is too long.
            _log.info("a client was refused: %s", str(error) or type(error).__name__)
        except OSError as error:
            _log.info("a client is gone: %s", error)
        except asyncio.CancelledError:
            pass  # the end of the daemon, which this client waited for; asyncio would log it
        finally:
            self._clients.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
            hello = await _receive(reader)
            if hello is None:
                return
            greeted(hello)
            if not hmac.compare_digest(
                str(hello.get("token", "")).encode(), self._listener.token.encode()
            ):
                raise ProtocolError("wrong token")
        with self._owing():
            await _send(writer, greeting(pid=os.getpid(), data_dir=self._data_dir))
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                frame = await _receive(reader)
            lasting = await self._answer(frame, reader, writer) if frame else None
        if lasting is not None:
            await lasting

    @contextlib.contextmanager
    def _owing(self) -> Iterator[None]:
        """Around what the daemon does not end without: a client that was greeted gets an answer."""
        self._owed += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._owed -= 1
            if not self._owed:
                self._idle.set()

    async def _answer(
        self, frame: Frame, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Awaitable[object] | None:
        """Do what `frame` asks for; returns what the connection is kept for after that."""
        match frame.get("type"):
            case "run" | "converse" if self.is_stopping:
                await _send(writer, {"type": "refused"})
            case "run":
                await self._run(Request.of(frame), reader, writer)
            case "converse":
                return await self._converse(Request.of(frame), reader, writer)
            case "stop":
                _log.info("asked to stop")
                await _send(writer, {"type": "done"})
                self.stop()
                return reader.read()  # it waits for us to hang up, when everything is done
            case "log_level" if frame.get("level") in log.LEVELS:
                log.set_level(frame["level"])
                await _send(writer, {"type": "done"})
            case other:
                raise ProtocolError(f"unknown request {other!r}")
        return None

    async def _run(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._journal.is_barred(key_of(request)):
            _log.warning("killed the daemon before, not run here: %s", " ".join(request.arguments))
            await _send(writer, {"type": "alone"})
            return
        exchange = Exchange(request, asyncio.get_running_loop(), writer)
        self._running.add(exchange)
        listening = asyncio.create_task(_listen(reader, exchange))
        try:
            status = await self._in_turn(exchange, self._run_command)
        except RuntimeError as error:
            _log.warning("not run here: %s", error)
            await _send(writer, {"type": "alone"})
            return
        finally:
            listening.cancel()
            self._running.discard(exchange)
        async with asyncio.timeout(LINGER_S):
            await _send(writer, {"type": "exit", "status": status})

    async def _converse(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Awaitable[object] | None:
        exchange = Exchange(request, asyncio.get_running_loop(), writer)
        agreed = await self._in_turn(exchange, self._agree)
        if isinstance(agreed, int):
            await _send(writer, {"type": "exit", "status": agreed})
            return None
        await _send(writer, {"type": "conversing"})
        holding = asyncio.create_task(agreed.hold(reader, writer, self._stopping))
        self._conversing.add(holding)
        holding.add_done_callback(self._conversing.discard)
        return holding

    async def _in_turn(self, exchange: Exchange, work: Callable[[Exchange], T]) -> T | int:
        """What `work` returns in a thread of its own; 130 if cancelled before it had its turn."""
        turns = self._turns[self._application.kind_of(exchange.request)]
        async with turns:
            if exchange.cancelled.is_set():
                return EXIT_INTERRUPTED
            exchange.turn = Turn(turns, asyncio.get_running_loop())
            return await _in_thread(lambda: work(exchange))

    def _agree(self, exchange: Exchange) -> Conversation | int:
        try:
            with routed_to(exchange.stdout, exchange.stderr):
                return self._application.agree(exchange)
        except Exception as error:
            _log.exception("failed: %s", " ".join(exchange.request.arguments))
            exchange.stderr.write(f"memory-sidecar: internal error: {error!r}\n")
            return EXIT_FAILED

    def _run_command(self, exchange: Exchange) -> int:
        request = exchange.request
        is_quick = self._application.kind_of(request) is Kind.QUICK
        try:
            with (
                routed_to(exchange.stdout, exchange.stderr),
                self._journal.under_way(key_of(request)) if is_quick else contextlib.nullcontext(),
            ):
                return self._application.answer(exchange)
        except Exception:
            _log.exception("failed: %s", " ".join(request.arguments))
            return EXIT_FAILED


async def _in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises, in a thread that ends with it and never keeps the process.

    Raises RuntimeError where the system gives no thread.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="request", daemon=True).start()
    return await asyncio.wrap_future(done)


async def _listen(reader: asyncio.StreamReader, exchange: Exchange) -> None:
    """Pass on what the client sends while its command runs; cancels it when the client goes."""
    try:
        while (frame := await _receive(reader)) is not None:
            exchange.hear(frame)
    except (ProtocolError, OSError, ValueError) as error:
        _log.info("a client broke off: %s", error)
    exchange.cancel(is_gone=True)


async def _receive(reader: asyncio.StreamReader) -> Frame | None:
    line = await reader.readline()
    return decode(line) if line.endswith(b"\n") else None


async def _send(writer: asyncio.StreamWriter, frame: Frame) -> None:
    writer.write(encode(frame))
    await writer.drain()
