"""Conversations of the official client with a server in this process, over a pair of sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import mcp_types as types
from mcp.client.session import ClientSession
from mcp_types import CallToolResult

from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.conversation import McpConversation, Wire

T = TypeVar("T")

# What clients were listed, and have compiled, by what a list depends on: that took four fifths of
# each call. A client lists what is not there.
_known: dict[tuple[frozenset[Toolset], bool], tuple[dict[str, Any], dict[str, Any]]] = {}


def talk(caller: Caller, say: Callable[[ClientSession], Awaitable[T]]) -> T:
    """What `say` returns, said by the client of a conversation with `caller`."""

    async def main() -> T:
        async with conversation(caller) as client:
            return await say(client)

    return asyncio.run(main())


def call(caller: Caller, tool: str, **arguments: Any) -> CallToolResult:
    """One call. The client itself compares what comes with the schema that is listed."""

    async def say(client: ClientSession) -> CallToolResult:
        result = await client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        return result

    return talk(caller, say)


def given(caller: Caller, tool: str, **arguments: Any) -> Any:
    """The structured content of a call that must not fail."""
    result = call(caller, tool, **arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


def refused(caller: Caller, tool: str, **arguments: Any) -> str:
    """What a call says that must fail."""
    result = call(caller, tool, **arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@asynccontextmanager
async def conversation(caller: Caller) -> AsyncIterator[ClientSession]:
    """An open conversation; several may be held at a time."""
    ours, theirs = socket.socketpair()
    server_streams = await asyncio.open_connection(sock=ours, limit=MAX_FRAME_BYTES)
    reader, writer = await asyncio.open_connection(sock=theirs, limit=1 << 24)
    holding = asyncio.create_task(McpConversation(caller).hold(*server_streams, asyncio.Event()))

    async def write_line(line: bytes) -> None:
        writer.write(line)
        await writer.drain()

    wire = Wire(reader, write_line)
    async with wire.streams() as (hear, say):
        async with ClientSession(hear, say) as client:
            await client.initialize()
            kind = caller.toolsets, caller.is_structured
            schemas, validators = _known.get(kind, ({}, {}))
            client._tool_output_schemas, client._tool_output_validators = schemas, validators
            yield client
            _known[kind] = client._tool_output_schemas, client._tool_output_validators
        writer.close()
    await holding
    server_streams[1].close()
