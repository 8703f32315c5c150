"""Which sessions have had their time: by age and by count. Pure, so that it can be previewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_sidecar.sessions.model import SessionHead

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long sessions are kept; `None` sets no limit. Pinned ones are kept in any case."""

    keep_days: int | None = None  # since it was last updated
    keep_count: int | None = None  # of the latest ones


@dataclass(frozen=True, slots=True)
class Expired:
    """A session to let go, and why."""

    session: SessionHead
    reason: str


def expired(sessions: Sequence[SessionHead], keep: Retention, *, now: int) -> list[Expired]:
    """Those of `sessions` that `keep` lets go, the latest first."""
    latest = sorted(sessions, key=lambda s: (-s.updated_at, s.session_id))
    found = []
    for place, session in enumerate(latest):
        if session.is_pinned:
            continue
        if keep.keep_count is not None and place >= keep.keep_count:
            found.append(Expired(session, f"older than the latest {keep.keep_count}"))
        elif keep.keep_days is not None and now - session.updated_at > keep.keep_days * DAY_MS:
            found.append(Expired(session, f"not updated for {keep.keep_days} days"))
    return found
