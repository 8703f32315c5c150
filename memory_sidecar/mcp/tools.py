"""Every tool, by name, and what a hint in words of the command line is in tools and arguments.

What only a person can do is left to the user.
"""

from __future__ import annotations

import re

from memory_sidecar.mcp.by_example import grep, related
from memory_sidecar.mcp.caller import Caller, Toolset
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
from memory_sidecar.mcp.sessions import get_session, promote_session, save_session, search_sessions
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
        Tool(grep, Effect.READS, Toolset.NAMES),
        Tool(related, Effect.READS, Toolset.NAMES),
        Tool(status, Effect.READS),
    )
}


_WORDS = re.compile(
    r"`memory-sidecar ([\w-]+)(?: ([\w-]+))?[^`]*`|(?<!\S)(?P<tick>`?)--([a-z][\w-]*)"
)
_TOOL_FOR = {
    "category create": "store_memory",
    "category list": "list_memories",
    "context check": "check_context",
    "context new": "write_atom",
    "context refs": "list_atoms",
    "context regen": "regenerate_context",
    "context tasks": "list_tasks",
    "get": "get_memory",
    "list": "list_memories",
    "move": "move_memory",
    "prune": "prune_memories",
    "query": "search_memories",
    "recent": "get_recent_memories",
    "remove": "remove_memory",
    "search": "search_code",
    "session list": "search_sessions",
    "session promote": "promote_session",
    "session save": "save_session",
    "session search": "search_sessions",
    "session show": "get_session",
    "source list": "list_sources",
    "store": "store_memory",
    "update": "update_memory",
    "why": "read_file",
}
"""The tools whose names differ from their commands, by command."""


def for_agent(text: str, caller: Caller) -> str:
    """Rewrite the hint `text` for an agent that can call only the tools offered to `caller`."""
    hint = caller.complete(in_tools(text, caller))
    is_for_user = _WORDS.search(hint) and "the user" not in hint
    return f"tell the user: {hint}" if is_for_user else hint


def in_tools(text: str, caller: Caller) -> str:
    """Replace commands in `text` by tools, and options by arguments, where these exist."""
    offered = {tool.name: tool for tool in TOOLS.values() if tool.is_offered(caller)}
    taken = {name for tool in offered.values() for name in tool.argument_names}

    def as_called(found: re.Match[str]) -> str:
        command, below, tick, option = found.groups()
        if command:
            named = (f"{command} {below}", command)
            tools = [each for name in named if (each := _TOOL_FOR.get(name, name)) in offered]
            return tools[0] if tools else found[0]
        name = option.replace("-", "_")
        arguments = [tick + each for each in (name, f"{name}s") if each in taken]
        return arguments[0] if arguments else found[0]

    return _WORDS.sub(as_called, text.replace("--agent shared", "shared: true"))
