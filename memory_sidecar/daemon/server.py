"""Talks to any number of clients at once, and has each request answered in a thread.

Garbage, silence and slowness cost whoever causes them a connection, and nobody else anything.
Requests that are answered quickly take turns, so that a burst of them does not outrun the machine;
the others, which may take minutes, each have a thread to themselves. A conversation keeps its
connection, and runs in the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from memory_sidecar.crash_log import CrashLog
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
FINISH_TIMEOUT_S = 10.0  # for what runs when the daemon is asked to stop
CANCEL_TIMEOUT_S = 2.0
MAX_CLIENTS = 512
EXIT_FAILED = 1
TURNS = min(max(2 * (os.cpu_count() or 1), 4), 8)

_log = logging.getLogger(__name__)


class Application(Protocol):
    """What the daemon is for."""

    def start(self) -> None:
        """Get ready, in a thread. Clients are greeted already, and `answer` may be called."""

    def is_quick(self, request: Request) -> bool:
        """Whether `request` is answered in a fraction of a second."""

    def is_endless(self, request: Request) -> bool:
        """Whether `request` goes on until it is cancelled, as it is when the daemon stops."""

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
    ) -> None:
        self._listener = listener
        self._application = application
        self._data_dir = data_dir
        self._journal = journal
        self._threads = ThreadPoolExecutor(MAX_CLIENTS, thread_name_prefix="request")
        self._turns = threading.Semaphore(TURNS)
        self._running: set[Exchange] = set()
        self._clients: set[asyncio.Task[None]] = set()
        self._conversing: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def stop(self) -> None:
        """Refuse what is new and finish what runs; `run` returns after that."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> None:
        """Serve until `stop`; what runs then has some seconds to finish, and is then cancelled."""
        # Given a socket, this serves Unix ones as well, and does not remove their files.
        server = await asyncio.start_server(
            self._accept, sock=self._listener.socket, limit=MAX_FRAME_BYTES, backlog=BACKLOG
        )
        await self._stopping.wait()
        server.close()
        await self._finish()

    async def _finish(self) -> None:
        for exchange in self._running:
            if self._application.is_endless(exchange.request):
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
            await _send(writer, greeting(pid=os.getpid(), data_dir=self._data_dir))
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
            frame = await _receive(reader)
        match frame and frame.get("type"):
            case None:
                return
            case "run":
                await self._run(Request.of(frame or {}), reader, writer)
            case "converse":
                await self._converse(Request.of(frame or {}), reader, writer)
            case "stop":
                _log.info("asked to stop")
                await _send(writer, {"type": "done"})
                self.stop()
                await reader.read()  # it waits for us to hang up, when everything is done
            case "log_level" if frame and frame.get("level") in log.LEVELS:
                log.set_level(frame["level"])
                await _send(writer, {"type": "done"})
            case other:
                raise ProtocolError(f"unknown request {other!r}")

    async def _run(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self.is_stopping:
            await _send(writer, {"type": "refused"})
            return
        if self._journal.is_barred(key_of(request)):
            _log.warning("killed the daemon before, not run here: %s", " ".join(request.arguments))
            await _send(writer, {"type": "alone"})
            return
        loop = asyncio.get_running_loop()
        exchange = Exchange(request, loop, writer)
        self._running.add(exchange)
        self._idle.clear()
        listening = asyncio.create_task(_listen(reader, exchange))
        try:
            status = await loop.run_in_executor(self._threads, self._answer, exchange)
        finally:
            listening.cancel()
            self._running.discard(exchange)
            if not self._running:
                self._idle.set()
        async with asyncio.timeout(LINGER_S):
            await _send(writer, {"type": "exit", "status": status})

    async def _converse(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self.is_stopping:
            await _send(writer, {"type": "refused"})
            return
        loop = asyncio.get_running_loop()
        exchange = Exchange(request, loop, writer)
        agreed = await loop.run_in_executor(self._threads, self._agree, exchange)
        if isinstance(agreed, int):
            await _send(writer, {"type": "exit", "status": agreed})
            return
        await _send(writer, {"type": "conversing", **agreed.terms})
        holding = asyncio.create_task(agreed.hold(reader, writer, self._stopping))
        self._conversing.add(holding)
        try:
            await holding
        finally:
            self._conversing.discard(holding)

    def _agree(self, exchange: Exchange) -> Conversation | int:
        try:
            with routed_to(exchange.stdout, exchange.stderr):
                return self._application.agree(exchange)
        except Exception as error:
            _log.exception("failed: %s", " ".join(exchange.request.arguments))
            exchange.stderr.write(f"memory-sidecar: internal error: {error!r}\n")
            return EXIT_FAILED

    def _answer(self, exchange: Exchange) -> int:
        try:
            with routed_to(exchange.stdout, exchange.stderr):
                if not self._application.is_quick(exchange.request):
                    return self._application.answer(exchange)
                with (
                    Turn(self._turns) as exchange.turn,
                    self._journal.under_way(key_of(exchange.request)),
                ):
                    return self._application.answer(exchange)
        except Exception:
            _log.exception("failed: %s", " ".join(exchange.request.arguments))
            return EXIT_FAILED


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
