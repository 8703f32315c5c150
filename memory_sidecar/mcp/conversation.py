"""The conversation with one client, over the daemon's connection or over standard streams."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from functools import partial

from mcp.server.runner import serve_dual_era_loop

from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES
from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.server import SERVER
from memory_sidecar.mcp.status import instructions
from memory_sidecar.mcp.wire import Wire, read_line

_log = logging.getLogger(__name__)


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
        wire = Wire(partial(read_line, reader), write_line)
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
        # Not a thread of the loop's own, for which the loop would wait while it waits for input.
        threading.Thread(target=_feed, args=(stdin, reader, loop), daemon=True).start()
        writing = asyncio.Lock()

        async def write_line(line: bytes) -> None:
            async with writing:
                await loop.run_in_executor(None, _write, stdout, line)

        await self._serve(Wire(partial(read_line, reader), write_line))

    async def _serve(self, wire: Wire) -> None:
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(None, instructions, self._caller)
        options = SERVER.create_initialization_options()
        async with wire.streams() as (hear, say):
            await serve_dual_era_loop(
                SERVER,
                hear,
                say,
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
        while data := os.read(fd, 1 << 16):
            loop.call_soon_threadsafe(reader.feed_data, data)
        loop.call_soon_threadsafe(reader.feed_eof)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
