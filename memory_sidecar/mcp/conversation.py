"""The conversation with one client, over the daemon's connection or over standard streams.

Messages are one JSON object a line. A conversation knows which requests wait for an answer, so that
it can end between two requests.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memory_sidecar.core.json_text import BrokenJson, read_json
from memory_sidecar.daemon.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    IncomingLine,
    error_line,
    find_id,
    valid_id,
)
from memory_sidecar.daemon.link import read_part
from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES
from memory_sidecar.daemon.pump import LAST_ANSWERS_S
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.server import SERVER
from memory_sidecar.mcp.status import instructions

GONE_S = 1.5  # for calls to finish after their client has hung up on the daemon

WriteLine = Callable[[bytes], Awaitable[None]]

Inbound = SessionMessage | Exception
Streams = tuple[ObjectReceiveStream[Inbound], ObjectSendStream[SessionMessage]]

_log = logging.getLogger(__name__)


class Wire:
    """The connection to one client."""

    def __init__(
        self, reader: asyncio.StreamReader, write_line: WriteLine, *, patience_s: float = GONE_S
    ) -> None:
        """`patience_s`: how long, after the end of the input, answers are waited for."""
        self._reader = reader
        self._write_line = write_line
        self._patience_s = patience_s
        self._unanswered: set[str | int] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Return when every request that was read is answered."""
        await self._idle.wait()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Open the streams from and to the client; the first ends with the connection."""
        inbound, received = anyio.create_memory_object_stream[Inbound](0)
        to_client, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, inbound)
            tasks.start_soon(self._write, outbound)
            yield received, to_client

    async def _read(self, inbound: ObjectSendStream[Inbound]) -> None:
        async with inbound:
            try:
                while line := await self._next_line():
                    if line.strip():
                        await self._pass_on_line(line, inbound)
            except OSError as error:
                _log.info("a client broke off: %s", error)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            with anyio.move_on_after(self._patience_s):
                await self.idle()

    async def _next_line(self) -> bytes:
        """Return the next line with its end, or the rest of the input, empty at its end.

        Refuses and skips lines that are too long.
        """
        line = IncomingLine()
        while True:
            try:
                line.add(await self._reader.readuntil())
            except asyncio.IncompleteReadError as ended:
                line.add(ended.partial)
            except asyncio.LimitOverrunError as error:
                line.add(await self._reader.readexactly(error.consumed))
                continue
            if not line.is_too_long:
                return line.kept
            await self._write_line(line.refusal)
            line = IncomingLine()

    async def _write(self, outbound: ObjectReceiveStream[SessionMessage]) -> None:
        async with outbound:
            async for each in outbound:
                message = each.message
                line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await self._write_line(line)
                except OSError:
                    self._unanswered.clear()  # the client is gone: the end of its input follows
                    self._idle.set()
                    return
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle(message.id)

    async def _pass_on_line(self, line: bytes, inbound: ObjectSendStream[Inbound]) -> None:
        try:
            value = read_json(line)
        except BrokenJson as broken:
            await self._write_line(error_line(find_id(line), PARSE_ERROR, str(broken)))
            return
        for each in value if isinstance(value, list) and value else [value]:  # a batch
            await self._pass_on(each, inbound)

    async def _pass_on(self, value: Any, inbound: ObjectSendStream[Inbound]) -> None:  # noqa: ANN401
        has_id = isinstance(value, dict) and "id" in value
        try:
            message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValidationError:
            message = None
        asked = valid_id(value["id"]) if has_id else None
        is_asking = isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification)
        if message is None or (has_id and is_asking and asked is None):
            # A message with an invalid id is no notification: its client waits for an answer.
            text = "not a JSON-RPC 2.0 message"
            await self._write_line(error_line(asked, INVALID_REQUEST, text))
            return
        if isinstance(message, types.JSONRPCRequest):
            self._unanswered.add(message.id)
            self._idle.clear()
        elif isinstance(message, types.JSONRPCNotification) and message.method == (
            "notifications/cancelled"  # whose request is never answered
        ):
            self._settle((message.params or {}).get("requestId"))
        await inbound.send(SessionMessage(message))

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._unanswered.discard(request_id)
        if not self._unanswered:
            self._idle.set()


class McpConversation:
    """The MCP session of one client, which the command `mcp` starts, in the daemon or without."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def hold(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        """Serve the client until it hangs up or, once `stopping` is set, between two requests."""

        async def write_line(line: bytes) -> None:
            writer.write(line)
            await writer.drain()

        _log.info("a client of agent %s came", self._caller.agent)
        wire = Wire(reader, write_line)
        serving = asyncio.create_task(self._serve(wire))
        ending = asyncio.create_task(_wait_until_idle(stopping, wire))
        try:
            await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            serving.cancel()
        await asyncio.wait([serving])
        _log.info("a client of agent %s left", self._caller.agent)

    def hold_on_stdio(self) -> None:
        """Serve the client at this process's standard streams, until it closes its end."""
        asyncio.run(self._hold_on_stdio())

    async def _hold_on_stdio(self) -> None:
        loop = asyncio.get_running_loop()
        stdin = _replace_fd(0, instead=os.open(os.devnull, os.O_RDONLY))
        stdout = _replace_fd(1, instead=2)  # whatever a library prints must not reach the client
        reader = asyncio.StreamReader(MAX_FRAME_BYTES)
        # Not a thread of the loop's executor: at its end, the loop would wait until input comes.
        threading.Thread(target=_feed, args=(stdin, reader, loop), daemon=True).start()
        writing = asyncio.Lock()

        async def write_line(line: bytes) -> None:
            async with writing:
                await loop.run_in_executor(None, _write, stdout, line)

        await self._serve(Wire(reader, write_line, patience_s=LAST_ANSWERS_S))

    async def _serve(self, wire: Wire) -> None:
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(None, instructions, self._caller)
        options = SERVER.create_initialization_options()
        async with wire.streams() as (received, to_client):
            await serve_dual_era_loop(
                SERVER,
                received,
                to_client,
                lifespan_state=self._caller,
                init_options=options.model_copy(update={"instructions": text}),
            )


async def _wait_until_idle(stopping: asyncio.Event, wire: Wire) -> None:
    """Wait until the daemon stops and no request is under way."""
    await stopping.wait()
    await wire.idle()


def _replace_fd(fd: int, *, instead: int) -> int:
    """Make `fd` a duplicate of `instead`, and return a descriptor of what `fd` was."""
    original = os.dup(fd)
    os.dup2(instead, fd)
    return original


def _feed(fd: int, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
    """Pass what is read from `fd` to `reader` until it ends; blocks."""
    with suppress(RuntimeError):  # the loop was closed by an interrupt
        while data := read_part(fd):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
