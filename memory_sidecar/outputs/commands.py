"""Which command prints what, by its words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memory_sidecar.outputs import code, context, memories, sessions, upkeep

OUTPUTS: Mapping[str, object] = MappingProxyType(
    {
        "index": code.IndexReport,
        "reindex": code.IndexReport | code.AgentReport | code.AllReports | code.AgentReports,
        "search": list[code.CodeHit],
        "grep": list[code.FoundCode],
        "status": code.Status,
        "source add": code.Source,
        "source list": list[code.Source],
        "source remove": code.Source,
        "embed": upkeep.Vector,
        "doctor": list[upkeep.Finding],
        "model list": upkeep.Model,
        "model fetch": upkeep.Model,
        "model verify": upkeep.Model,
        "stop": upkeep.Stopped,
        "trust": upkeep.Trusted,
        "skills list": list[upkeep.Skill],
        "skills install": list[upkeep.Skill],
        "store": memories.Remembered,
        "update": memories.Remembered,
        "share": memories.Remembered,
        "move": memories.Moved,
        "get": memories.Memory,
        "list": list[memories.Listed],
        "recent": list[memories.Memory],
        "query": list[memories.MemoryHit],
        "remove": memories.Removed,
        "prune": memories.Pruned,
        "restore": memories.Restored | list[memories.Archived],
        "category list": list[memories.Category],
        "category create": memories.Described,
        "category describe": memories.Described,
        "category delete": memories.CategoryDeleted,
        "session save": sessions.Saved,
        "session search": list[sessions.SessionHit],
        "session list": list[sessions.Head],
        "session show": sessions.Session,
        "session delete": sessions.SessionDeleted,
        "session prune": sessions.SessionsPruned,
        "session import": sessions.Imported,
        "session promote": sessions.Promotion,
        "episodic-put": sessions.Put,
        "episodic-search": sessions.JournalHits,
        "episodic-commit": sessions.Committed,
        "context init": context.Initialised,
        "context new": context.NewAtom,
        "context regen": context.Regenerated,
        "context check": list[context.ContextFinding],
        "context tasks": list[context.Task],
        "context access": list[context.Access],
        "context refs": list[context.Refs],
    }
)

WITHOUT_JSON = frozenset({"mcp", "serve", "service install", "service status", "service uninstall"})
"""One is a protocol, the others talk to whoever runs the machine."""
