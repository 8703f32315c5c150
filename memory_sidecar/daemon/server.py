"""Serves any number of clients at once, answering each request in a thread.

Garbage, silence and slowness cost only the client that causes them its connection. Each kind of
request has a limited number of turns, so that a burst does not overload the machine and long
requests do not delay quick ones. A request gets its thread with its turn, and the thread ends with
the request. A conversation keeps its connection and runs in the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol, TypeVar

from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.core.process import available_cores
from memory_sidecar.core.settings import LOG_LEVELS
from memory_sidecar.daemon.exchange import Conversation, Exchange, Invocation, Kind
from memory_sidecar.daemon.listener import BACKLOG, Listener
from memory_sidecar.daemon.log import routed_to, set_level
from memory_sidecar.daemon.own_code import OwnCode
from memory_sidecar.daemon.protocol import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    MAX_FRAME_BYTES,
    ProtocolError,
    decode,
    encode,
    greeting,
    read_greeting,
)

if TYPE_CHECKING:
    from memory_sidecar.daemon.protocol import Frame

HANDSHAKE_TIMEOUT_S = 5.0
LINGER_S = 30.0  # for a client that is slow to read the end of its answer
FINISH_TIMEOUT_S = 5.0  # for requests that run when the daemon is asked to stop
CANCEL_TIMEOUT_S = 1.0
MAX_CLIENTS = 512

_REFUSED: Frame = {"type": "refused"}  # sent while stopping: the next daemon answers

T = TypeVar("T")

_log = logging.getLogger(__name__)


# How many requests of each kind are answered at a time. Only those that wait for a slow client have
# threads beyond these.
TURNS = {
    Kind.QUICK: min(max(2 * available_cores(), 4), 8),
    Kind.WORKING: 4,
    Kind.WAITING: 8,
    Kind.ENDLESS: 8,
}


class Application(Protocol):
    """What the daemon runs: the commands' side, which this package does not know."""

    def start(self) -> None:
        """Get ready, in a thread of its own, while clients are greeted and `answer` is called."""

    def kind_of(self, request: Invocation) -> Kind:
        """Return how long `request` takes, judging by its arguments alone."""

    def may_end(self, *, idle_s: float) -> bool:
        """Whether the daemon may end after `idle_s` without a client."""

    @property
    def is_worn(self) -> bool:
        """Whether a fresh process would take less memory, and replacing this one loses nothing."""

    def answer(self, exchange: Exchange) -> Conversation | int:
        """Run one request in a thread of its own; returns its exit status.

        For a client that asks for a conversation, returns that if it is granted.
        """

    def close(self) -> None:
        """Release everything, once no request is being answered."""


class Server:
    """Accepts clients on `listener` and lets `application` answer, from `run` until `stop`."""

    def __init__(
        self,
        listener: Listener,
        application: Application,
        *,
        data_dir: str,
        crashes: CrashLog,
        is_in_place: Callable[[], bool],
        on_stop: Callable[[], None],
    ) -> None:
        self._listener = listener
        self._application = application
        self._data_dir = data_dir
        self._crashes = crashes
        self._is_in_place = is_in_place
        self._on_stop = on_stop
        self._code = OwnCode()
        self._turns = {kind: asyncio.Semaphore(count) for kind, count in TURNS.items()}
        self._running: set[Exchange] = set()
        self._clients: set[asyncio.Task[None]] = set()
        self._owed: set[asyncio.Task[None]] = set()  # clients that were greeted: owed an answer
        self._conversing: set[asyncio.Task[None]] = set()  # those of `_owed` in a conversation
        self._not_begun: set[asyncio.StreamWriter] = set()  # clients that can ask the next daemon
        self._kept_open: set[asyncio.StreamWriter] = set()  # clients that asked to stop
        self._left_at_s = time.monotonic()  # when the last client hung up
        self._stopping = asyncio.Event()
        self.is_handing_over = False  # whether a new daemon is to take over

    def stop(self) -> None:
        """Refuse new requests and finish the running ones; `run` returns after that."""
        self._stopping.set()

    def check_place(self) -> bool:
        """Return whether clients can still find the daemon; if not, stop."""
        if not (is_in_place := self._is_in_place()):
            _log.warning("the data directory or the socket was removed")
            self.stop()
        return is_in_place

    @property
    def reason_to_hand_over(self) -> str:
        """Why a new daemon should take over, "" if none should.

        None should while a client waits for an answer; nor, only to save memory, while a client is
        connected: a fresh process answers its first MCP request in 3 s instead of 0.5.
        """
        kinds = {self._application.kind_of(exchange.request) for exchange in self._running}
        if self.is_stopping:
            return ""
        if self._code.is_replaced_whole and kinds <= {Kind.ENDLESS}:
            return "its code was replaced on disk"
        return "grown by its use" if not self._clients and self._application.is_worn else ""

    def hang_up(self) -> None:
        """Close the connections of clients that asked to stop: everything is released now."""
        for writer in self._kept_open:
            writer.close()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def idle_s(self) -> float:
        """How long no client has been connected."""
        return 0.0 if self._clients else time.monotonic() - self._left_at_s

    async def run(self) -> None:
        """Serve until `stop`; requests still running then have seconds until they are cancelled."""
        # Given a socket, asyncio serves Unix sockets too and does not remove their files. `backlog`
        # is also how often it tries to accept, and logs, when no more files can be opened.
        server = await asyncio.start_server(
            self._accept, sock=self._listener.socket, limit=MAX_FRAME_BYTES, backlog=1
        )
        self._listener.socket.listen(BACKLOG)
        await self._stopping.wait()
        self._on_stop()
        server.close()
        await self._finish()

    async def _finish(self) -> None:
        for exchange in self._running:
            if self._application.kind_of(exchange.request) is Kind.ENDLESS:
                exchange.cancel()
        await self._wait_for_answers(FINISH_TIMEOUT_S)
        for task in self._conversing:
            task.cancel()
        for exchange in self._running:
            _log.warning("cancelled to stop: %s", exchange.request)
            exchange.cancel()
        await self._wait_for_answers(CANCEL_TIMEOUT_S)
        for writer in self._not_begun:  # clearer to them than a closed connection
            writer.write(encode(_REFUSED))

    async def _wait_for_answers(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for requests and conversations to finish."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._owed:
                    await asyncio.wait(self._owed, return_when=asyncio.FIRST_COMPLETED)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            if len(self._clients) <= MAX_CLIENTS and await self._has_greeted(reader):
                self._owed.add(task)
                self._not_begun.add(writer)
                more = {"replaced": True} if self._code.is_replaced else {}
                await _send(writer, greeting(pid=os.getpid(), data_dir=self._data_dir, **more))
                async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                    frame = await _receive(reader)
                if frame is not None:
                    await self._answer(frame, reader, writer)
        except (ProtocolError, ValueError) as error:
            # ValueError: asyncio's error for a line that is too long.
            _log.info("a client was refused: %s", error)
        except TimeoutError:
            _log.info("a client was too slow")
            if writer in self._not_begun:  # or this process was too slow, on a busy machine
                writer.write(encode(_REFUSED))
        except OSError as error:
            _log.info("a client is gone: %s", error)
        except asyncio.CancelledError:
            pass  # the daemon ends, as this client asked; asyncio would log it
        finally:
            for tasks in (self._clients, self._owed, self._conversing):
                tasks.discard(task)
            self._left_at_s = time.monotonic()
            self._not_begun.discard(writer)
            if writer not in self._kept_open:
                writer.close()

    async def _has_greeted(self, reader: asyncio.StreamReader) -> bool:
        """Whether the client greets before it hangs up. Raises ProtocolError for a bad greeting."""
        async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
            hello = await _receive(reader)
        if hello is None:
            return False
        read_greeting(hello)
        token = str(hello.get("token", "")).encode()
        if not hmac.compare_digest(token, self._listener.token.encode()):
            raise ProtocolError("wrong token")
        return True

    async def _answer(
        self, frame: Frame, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        match frame.get("type"):
            case "run" | "converse" if self.is_stopping or not self.check_place():
                await _send(writer, _REFUSED)
            case "run" | "converse":
                await self._run(Invocation.of(frame), reader, writer)
            case "stop":
                _log.info("asked to stop")
                await _send(writer, {"type": "done"})
                self._kept_open.add(writer)
                self.is_handing_over = False
                self.stop()
            case "log_level" if frame.get("level") in LOG_LEVELS:
                set_level(frame["level"])
                await _send(writer, {"type": "done"})
            case other:
                raise ProtocolError(f"unknown request {other!r}")

    async def _run(
        self, request: Invocation, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._crashes.is_barred(request.key):
            _log.warning("killed the daemon before, not run here: %s", request)
            await _send(writer, {"type": "alone"})
            return
        kind = self._application.kind_of(request)
        exchange = Exchange(request, asyncio.get_running_loop(), writer, self._turns[kind])
        self._running.add(exchange)
        listening = asyncio.create_task(_listen(reader, exchange))
        answer: Conversation | int = EXIT_INTERRUPTED
        try:
            async with self._turns[kind]:
                if not exchange.cancelled.is_set():
                    self._not_begun.discard(writer)
                    answer = await _in_thread(lambda: self._answer_in_thread(exchange, kind))
        except RuntimeError as error:
            _log.warning("not run here: %s", error)
            await _send(writer, {"type": "alone"})
            return
        finally:
            listening.cancel()
            self._running.discard(exchange)
        if self.is_stopping and writer in self._not_begun:
            await _send(writer, _REFUSED)
        elif isinstance(answer, int):
            async with asyncio.timeout(LINGER_S):
                begun = {"has_begun": False} if writer in self._not_begun else {}
                await _send(writer, {"type": "exit", "status": answer} | begun)
        else:
            await asyncio.wait([listening])  # two tasks must not read at once
            await _send(writer, {"type": "conversing"})
            if (task := asyncio.current_task()) is not None:
                self._conversing.add(task)
            await answer.hold(reader, writer, self._stopping)

    def _answer_in_thread(self, exchange: Exchange, kind: Kind) -> Conversation | int:
        request = exchange.request
        is_quick = kind is Kind.QUICK
        try:
            with (
                routed_to(exchange.stdout, exchange.stderr),
                self._crashes.under_way(request.key) if is_quick else contextlib.nullcontext(),
            ):
                return self._application.answer(exchange)
        except Exception:
            _log.exception("failed: %s", request)
            return EXIT_FAILED


async def _in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread of its own, and return or raise what it does.

    Raises RuntimeError if no thread can be started.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="request", daemon=True).start()
    result = await asyncio.wrap_future(done)
    # Python 3.14 returns at once if the work is done already: what it sent is still to be written.
    await asyncio.sleep(0)
    return result


async def _listen(reader: asyncio.StreamReader, exchange: Exchange) -> None:
    """Hand over what the client sends while its command runs; cancel the command when it goes."""
    try:
        while (frame := await _receive(reader)) is not None:
            exchange.handle_frame(frame)
    except (ProtocolError, OSError, ValueError) as error:
        _log.info("a client broke off: %s", error)
    exchange.cancel(is_gone=True)


async def _receive(reader: asyncio.StreamReader) -> Frame | None:
    line = await reader.readline()
    return decode(line) if line.endswith(b"\n") else None


async def _send(writer: asyncio.StreamWriter, frame: Frame) -> None:
    writer.write(encode(frame))
    await writer.drain()
