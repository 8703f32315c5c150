"""Every tool, by name."""

from __future__ import annotations

from memory_sidecar.mcp.caller import Toolset
from memory_sidecar.mcp.code import list_sources, read_file, search_code
from memory_sidecar.mcp.context import (
    check_context,
    count_reads,
    list_atoms,
    list_tasks,
    regenerate_context,
    write_atom,
)
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
from memory_sidecar.mcp.names import callees, callers, define, outline, refs, show_map
from memory_sidecar.mcp.project import index_project
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
        Tool(search_code, Effect.READS, Toolset.CODE),
        Tool(read_file, Effect.READS, Toolset.CODE),
        Tool(list_sources, Effect.READS, Toolset.CODE),
        Tool(index_project, Effect.ADDS, Toolset.CODE),
        Tool(search_memories, Effect.READS, Toolset.MEMORIES),
        Tool(query_memories, Effect.READS, Toolset.MEMORIES),
        Tool(get_recent_memories, Effect.READS, Toolset.MEMORIES),
        Tool(list_memories, Effect.READS, Toolset.MEMORIES),
        Tool(get_memory, Effect.READS, Toolset.MEMORIES),
        Tool(store_memory, Effect.ADDS, Toolset.MEMORIES),
        Tool(update_memory, Effect.CHANGES, Toolset.MEMORIES),
        Tool(remove_memory, Effect.REMOVES, Toolset.MEMORIES),
        Tool(move_memory, Effect.CHANGES, Toolset.MEMORIES),
        Tool(prune_memories, Effect.REMOVES, Toolset.MEMORIES),
        Tool(save_session, Effect.ADDS, Toolset.SESSIONS),
        Tool(search_sessions, Effect.READS, Toolset.SESSIONS),
        Tool(get_session, Effect.READS, Toolset.SESSIONS),
        Tool(promote_session, Effect.ADDS, Toolset.SESSIONS),
        Tool(list_atoms, Effect.READS, Toolset.CONTEXT),
        Tool(write_atom, Effect.APPENDS, Toolset.CONTEXT),
        Tool(check_context, Effect.READS, Toolset.CONTEXT),
        Tool(regenerate_context, Effect.CHANGES, Toolset.CONTEXT),
        Tool(list_tasks, Effect.READS, Toolset.CONTEXT),
        Tool(count_reads, Effect.APPENDS, Toolset.CONTEXT),
        Tool(define, Effect.READS, Toolset.NAMES, "def"),
        Tool(refs, Effect.READS, Toolset.NAMES),
        Tool(callers, Effect.READS, Toolset.NAMES),
        Tool(callees, Effect.READS, Toolset.NAMES),
        Tool(outline, Effect.READS, Toolset.NAMES),
        Tool(show_map, Effect.READS, Toolset.NAMES, "map"),
        Tool(status, Effect.READS),
    )
}
