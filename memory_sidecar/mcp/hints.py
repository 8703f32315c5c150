"""Says the commands that a hint names as tools. What only a person can do is left to the user."""

from __future__ import annotations

import re

from memory_sidecar.mcp.caller import Caller
from memory_sidecar.mcp.tools import TOOLS

_COMMAND = re.compile(r"`memory-sidecar ((?:session |context )?[\w-]+)[^`]*`")
_TOOL_FOR = {
    "context check": "check_context",
    "context new": "write_atom",
    "context refs": "list_atoms",
    "context regen": "regenerate_context",
    "context tasks": "list_tasks",
    "get": "get_memory",
    "list": "list_memories",
    "move": "move_memory",
    "prune": "prune_memories",
    "recent": "get_recent_memories",
    "remove": "remove_memory",
    "search": "search_code",
    "session list": "search_sessions",
    "session save": "save_session",
    "session search": "search_sessions",
    "session show": "get_session",
    "status": "status",
    "store": "store_memory",
    "update": "update_memory",
}


def for_agent(text: str, caller: Caller) -> str:
    """`text` as it helps who can call only the tools that `caller` is offered."""

    def as_tool(found: re.Match[str]) -> str:
        tool = TOOLS.get(_TOOL_FOR.get(found[1], ""))
        return tool.name if tool and tool.is_offered(caller) else found[0]

    told = _COMMAND.sub(as_tool, text)
    is_for_user = "`memory-sidecar " in told and "the user" not in told
    return f"tell the user: {told}" if is_for_user else told
