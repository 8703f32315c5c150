"""Every tool, by name."""

from __future__ import annotations

from memory_sidecar.mcp.caller import Toolset
from memory_sidecar.mcp.code import list_sources, read_file, search_code
from memory_sidecar.mcp.memories import (
    get_memory,
    get_recent_memories,
    list_memories,
    query_memories,
    search_memories,
)
from memory_sidecar.mcp.memory_changes import (
    move_memory,
    prune_memories,
    remove_memory,
    store_memory,
    update_memory,
)
from memory_sidecar.mcp.sessions import (
    get_session,
    promote_session,
    save_session,
    search_sessions,
)
from memory_sidecar.mcp.status import status
from memory_sidecar.mcp.tool import Effect, Tool

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(search_code, "Search code", Effect.READS, Toolset.CODE),
        Tool(read_file, "Read a file", Effect.READS, Toolset.CODE),
        Tool(list_sources, "List sources", Effect.READS, Toolset.CODE),
        Tool(search_memories, "Search memories", Effect.READS, Toolset.MEMORIES),
        Tool(query_memories, "Query memories", Effect.READS, Toolset.MEMORIES),
        Tool(get_recent_memories, "Recent memories", Effect.READS, Toolset.MEMORIES),
        Tool(list_memories, "List memories", Effect.READS, Toolset.MEMORIES),
        Tool(get_memory, "Read a memory", Effect.READS, Toolset.MEMORIES),
        Tool(store_memory, "Store a memory", Effect.ADDS, Toolset.MEMORIES),
        Tool(update_memory, "Update a memory", Effect.CHANGES, Toolset.MEMORIES),
        Tool(remove_memory, "Remove a memory", Effect.REMOVES, Toolset.MEMORIES),
        Tool(move_memory, "Move a memory", Effect.CHANGES, Toolset.MEMORIES),
        Tool(prune_memories, "Prune memories", Effect.REMOVES, Toolset.MEMORIES),
        Tool(save_session, "Save a session", Effect.ADDS, Toolset.SESSIONS),
        Tool(search_sessions, "Search sessions", Effect.READS, Toolset.SESSIONS),
        Tool(get_session, "Read a session", Effect.READS, Toolset.SESSIONS),
        Tool(promote_session, "Promote a session", Effect.ADDS, Toolset.SESSIONS),
        Tool(status, "Status", Effect.READS),
    )
}
