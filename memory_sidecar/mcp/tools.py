"""Every tool, by name, and how a hint that names commands and options names tools and arguments.

A hint that only a person can follow tells the agent to pass it on to the user.
"""

from __future__ import annotations

import re

from memory_sidecar.mcp import (
    by_example,
    code,
    context,
    memories,
    memory_changes,
    names,
    outline,
    project,
    sessions,
    status,
)
from memory_sidecar.mcp.caller import Caller, Toolset
from memory_sidecar.mcp.tool import Effect, Tool

TOOLS = {
    tool.name: tool
    for tool in (
        Tool(code.search_code, Effect.READS, Toolset.CODE),
        Tool(code.read_file, Effect.READS, Toolset.CODE),
        Tool(code.list_sources, Effect.READS, Toolset.CODE),
        Tool(project.index_project, Effect.ADDS, Toolset.CODE),
        Tool(memories.search_memories, Effect.READS, Toolset.MEMORIES),
        Tool(memories.query_memories, Effect.READS, Toolset.MEMORIES),
        Tool(memories.get_recent_memories, Effect.READS, Toolset.MEMORIES),
        Tool(memories.list_memories, Effect.READS, Toolset.MEMORIES),
        Tool(memories.get_memory, Effect.READS, Toolset.MEMORIES),
        Tool(memory_changes.store_memory, Effect.ADDS, Toolset.MEMORIES),
        Tool(memory_changes.update_memory, Effect.CHANGES, Toolset.MEMORIES),
        Tool(memory_changes.remove_memory, Effect.REMOVES, Toolset.MEMORIES),
        Tool(memory_changes.move_memory, Effect.CHANGES, Toolset.MEMORIES),
        Tool(memory_changes.prune_memories, Effect.REMOVES, Toolset.MEMORIES),
        Tool(sessions.save_session, Effect.ADDS, Toolset.SESSIONS),
        Tool(sessions.search_sessions, Effect.READS, Toolset.SESSIONS),
        Tool(sessions.get_session, Effect.READS, Toolset.SESSIONS),
        Tool(sessions.promote_session, Effect.ADDS, Toolset.SESSIONS),
        Tool(context.list_atoms, Effect.READS, Toolset.CONTEXT),
        Tool(context.write_atom, Effect.APPENDS, Toolset.CONTEXT),
        Tool(context.check_context, Effect.READS, Toolset.CONTEXT),
        Tool(context.regenerate_context, Effect.CHANGES, Toolset.CONTEXT),
        Tool(context.list_tasks, Effect.READS, Toolset.CONTEXT),
        Tool(context.count_reads, Effect.APPENDS, Toolset.CONTEXT),
        Tool(names.define, Effect.READS, Toolset.NAMES, "def"),
        Tool(names.refs, Effect.READS, Toolset.NAMES),
        Tool(names.callers, Effect.READS, Toolset.NAMES),
        Tool(names.callees, Effect.READS, Toolset.NAMES),
        Tool(names.impact, Effect.READS, Toolset.NAMES),
        Tool(outline.outline, Effect.READS, Toolset.NAMES),
        Tool(names.show_map, Effect.READS, Toolset.NAMES, "map"),
        Tool(by_example.grep, Effect.READS, Toolset.NAMES),
        Tool(by_example.related, Effect.READS, Toolset.NAMES),
        Tool(status.status, Effect.READS),
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
