"""Decides which sessions are expired, by age and by count. Pure, so that it can be previewed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_sidecar.core.results import build_from, pluralize
from memory_sidecar.core.times import DAY_MS, iso_utc
from memory_sidecar.sessions.results import ExpiredSession, Head


@dataclass(frozen=True, slots=True)
class Retention:
    """How long sessions are kept; `None` sets no limit. Pinned sessions are always kept."""

    keep_days: int | None = None  # days since the last update
    keep_count: int | None = None  # number of sessions, the latest by update


def expired_sessions(
    sessions: Sequence[Head], keep: Retention, *, now: int
) -> list[ExpiredSession]:
    """List the sessions that `keep` does not keep, the latest first, each with a reason."""
    kept_since = "" if keep.keep_days is None else iso_utc(max(now - keep.keep_days * DAY_MS, 0))
    found = []
    latest = sorted(sessions, key=lambda each: each.session_id)
    latest.sort(key=lambda each: each.updated_at, reverse=True)  # in UTC, of one length
    for place, session in enumerate(latest):
        if session.pinned:
            continue
        if keep.keep_count is not None and place >= keep.keep_count:
            reason = f"older than the latest {keep.keep_count}"
        elif session.updated_at < kept_since:
            reason = f"not updated for {pluralize(keep.keep_days or 0, 'day')}"
        else:
            continue
        found.append(build_from(ExpiredSession, session, reason=reason))
    return found
