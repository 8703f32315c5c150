"""Messages of one client, one JSON object a line, as the streams that the SDK reads and writes.

Knows which requests wait for an answer, so that a conversation can end between two of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
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

LAST_ANSWERS_S = 1.5  # a host kills a server that takes longer than two seconds to go

ReadLine = Callable[[], Awaitable[bytes]]
"""Reads one line, as `read_line` does. Raises LineTooLong, OSError."""
WriteLine = Callable[[bytes], Awaitable[None]]

Inbound = SessionMessage | Exception
Streams = tuple[ObjectReceiveStream[Inbound], ObjectSendStream[SessionMessage]]

_log = logging.getLogger(__name__)


class LineTooLong(Exception):
    """A line longer than the reader keeps; it was read to its end."""

    def __init__(self, line: IncomingLine) -> None:
        super().__init__()
        self.line = line


async def read_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line with its end; at the end of input the rest. Raises LineTooLong."""
    line = IncomingLine()
    while True:
        try:
            line.add(await reader.readuntil())
        except asyncio.IncompleteReadError as ended:
            line.add(ended.partial)
        except asyncio.LimitOverrunError as error:
            line.add(await reader.readexactly(error.consumed))
            continue
        if line.is_too_long:
            raise LineTooLong(line)
        return line.kept


class Wire:
    """The connection to one client."""

    def __init__(self, read_line: ReadLine, write_line: WriteLine) -> None:
        self._read_line = read_line
        self._write_line = write_line
        self._unanswered: set[str | int] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Return when every request that was read is answered."""
        await self._idle.wait()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Open the streams from and to the client; the first ends with the connection."""
        heard, hear = anyio.create_memory_object_stream[Inbound](0)
        say, sent = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, heard)
            tasks.start_soon(self._write, sent)
            yield hear, say

    async def _read(self, heard: ObjectSendStream[Inbound]) -> None:
        async with heard:
            try:
                while line := await self._next_line():
                    if line.strip():
                        await self._hear(line, heard)
            except OSError as error:
                _log.info("a client broke off: %s", error)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            with anyio.move_on_after(LAST_ANSWERS_S):
                await self.idle()

    async def _next_line(self) -> bytes:
        """Return the next line, empty at the end; refuse and skip those that are too long."""
        while True:
            try:
                return await self._read_line()
            except LineTooLong as error:
                await self._write_line(error.line.refusal)

    async def _write(self, sent: ObjectReceiveStream[SessionMessage]) -> None:
        async with sent:
            async for each in sent:
                message = each.message
                line = message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await self._write_line(line)
                except OSError:
                    return  # it reads no more; that it sends no more is seen next
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                    self._settle(message.id)

    async def _hear(self, line: bytes, heard: ObjectSendStream[Inbound]) -> None:
        try:
            value = read_json(line)
        except BrokenJson as broken:
            await self._write_line(error_line(find_id(line), PARSE_ERROR, str(broken)))
            return
        for each in value if isinstance(value, list) and value else [value]:  # a batch
            await self._take(each, heard)

    async def _take(self, value: Any, heard: ObjectSendStream[Inbound]) -> None:  # noqa: ANN401
        try:
            message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValidationError:
            asked = valid_id(value.get("id")) if isinstance(value, dict) else None
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
        await heard.send(SessionMessage(message))

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._unanswered.discard(request_id)
        if not self._unanswered:
            self._idle.set()
