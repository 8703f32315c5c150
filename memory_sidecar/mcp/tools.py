"""Every tool, by name."""

from __future__ import annotations

from memory_sidecar.mcp.caller import Toolset
from memory_sidecar.mcp.code import list_sources, read_file, search_code
from memory_sidecar.mcp.status import status
from memory_sidecar.mcp.tool import Effect, Tool

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(search_code, "Search code", Effect.READS, Toolset.CODE),
        Tool(read_file, "Read a file", Effect.READS, Toolset.CODE),
        Tool(list_sources, "List sources", Effect.READS, Toolset.CODE),
        Tool(status, "Status", Effect.READS),
    )
}
