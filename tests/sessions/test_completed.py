"""A document is completed for its file, and the same again is the same session."""

from __future__ import annotations

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import complete_document, session_id_of
from tests.sessions.conftest import DAY_MS, NOW, said


def complete(document, known=None, *, now=NOW):
    return complete_document(document, known, session_id=session_id_of(document, now=now), now=now)


def test_an_id_and_a_beginning_are_added():
    document, _ = complete({"messages": said("hello")})
    assert document["session_id"].startswith("2026-03-01-")
    assert document["created_at"] == "2026-03-01T09:12:00.000Z"


def test_a_session_begins_with_its_first_message():
    message = {"role": "user", "content": "x", "created_at": "2025-01-02T03:04:05Z"}
    assert complete({"messages": [message]})[0]["created_at"].startswith("2025-01-02")


def test_the_same_content_on_the_same_day_has_the_same_id():
    first, later = (session_id_of({"messages": said("a")}, now=now) for now in (NOW, NOW + 1000))
    assert first == later
    assert first != session_id_of({"messages": said("b")}, now=NOW)
    assert first != session_id_of({"messages": said("a")}, now=NOW + DAY_MS)


def test_saving_again_changes_nothing():
    first, _ = complete({"messages": said("a")})
    again, _ = complete({"messages": said("a")}, first, now=NOW + 1000)
    assert again == first


def test_a_change_moves_the_update_and_keeps_the_beginning():
    first, _ = complete({"session_id": "s", "messages": said("a")})
    changed, session = complete({"session_id": "s", "messages": said("b")}, first, now=NOW + 5000)
    assert changed != first
    assert session.created_at == NOW
    assert session.updated_at == NOW + 5000


def test_what_this_version_does_not_know_is_kept():
    document, _ = complete({"messages": said("a"), "future": {"x": 1}})
    assert document["future"] == {"x": 1}


def test_an_id_of_another_kind_is_refused():
    with pytest.raises(SessionInvalid, match="session_id: must be a string"):
        session_id_of({"session_id": 7}, now=NOW)
