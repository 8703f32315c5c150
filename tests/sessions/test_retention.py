"""Retention is decided before anything is touched."""

from __future__ import annotations

import pytest

from memory_sidecar.core.times import iso_utc
from memory_sidecar.sessions.results import Head
from memory_sidecar.sessions.retention import Retention, expired_sessions
from tests.sessions.conftest import DAY_MS, NOW


def head(session_id, *, days_ago, pinned=False):
    return Head(
        session_id=session_id,
        title="",
        brief="",
        project_path="",
        created_at=iso_utc(0),
        updated_at=iso_utc(NOW - days_ago * DAY_MS),
        ended_at=iso_utc(0),
        message_count=0,
        topics=(),
        outcome=None,
        pinned=pinned,
    )


SESSIONS = [
    head("old", days_ago=100),
    head("new", days_ago=1),
    head("pinned", days_ago=200, pinned=True),
    head("middle", days_ago=30),
]


@pytest.mark.parametrize(
    ("keep", "gone"),
    [
        (Retention(), []),
        (Retention(keep_days=30), ["old"]),
        (Retention(keep_days=0), ["new", "middle", "old"]),
        (Retention(keep_count=1), ["middle", "old"]),
        (Retention(keep_count=0), ["new", "middle", "old"]),
        (Retention(keep_days=365, keep_count=2), ["old"]),
    ],
)
def test_the_old_and_the_many_go_and_pinned_ones_stay(keep, gone):
    assert [each.session_id for each in expired_sessions(SESSIONS, keep, now=NOW)] == gone


def test_every_one_has_a_reason():
    for days, named in ((30, "30 days"), (1, "1 day")):
        *_, one = expired_sessions(SESSIONS, Retention(keep_days=days), now=NOW)
        assert one.reason == f"not updated for {named}"
