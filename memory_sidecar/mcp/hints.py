"""Says what a hint names in words of the command line as tools and arguments.

What only a person can do is left to the user.
"""

from __future__ import annotations

import re

from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.tools import TOOLS

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
"""By command, those that are not called as it is."""


def for_agent(text: str, caller: Caller) -> str:
    """`text` as it helps who can call only the tools that `caller` is offered."""
    told = in_tools(text, caller)
    is_for_user = _WORDS.search(told) and "the user" not in told
    return f"tell the user: {told}" if is_for_user else told


def in_tools(text: str, caller: Caller) -> str:
    """`text` with the tools for commands and the arguments for options, where there are such."""
    offered = {tool.name: tool for tool in TOOLS.values() if tool.is_offered(caller)}
    taken = {name for tool in offered.values() for name in tool.takes}

    def as_called(found: re.Match[str]) -> str:
        command, below, tick, option = found.groups()
        if command:
            named = (f"{command} {below}", command)
            tools = [each for name in named if (each := _TOOL_FOR.get(name, name)) in offered]
            return tools[0] if tools else found[0]
        name = option.replace("-", "_")
        arguments = [tick + each for each in (name, f"{name}s") if each in taken]
        return arguments[0] if arguments else found[0]

    return _WORDS.sub(as_called, text)
