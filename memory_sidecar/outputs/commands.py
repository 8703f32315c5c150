"""Which command prints what, by its words."""

from __future__ import annotations

from memory_sidecar.outputs import sessions

OUTPUTS: dict[str, object] = {
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
