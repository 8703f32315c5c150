"""Which command prints what, by its words."""

from __future__ import annotations

from memory_sidecar.outputs import code, sessions, upkeep

OUTPUTS: dict[str, object] = {
    "grep": list[code.FoundCode],
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
}
