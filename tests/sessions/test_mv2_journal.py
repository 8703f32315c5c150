"""One text of a journal is one session."""

from __future__ import annotations

from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.journal import Entry, entry_document
from tests.sessions.conftest import DAY_MS, NOW


def entry(text="Use one lock", *, title="Locks", at=NOW, **tags):
    return Entry(text, title, tags, at)


def test_an_entry_is_a_session_of_one_message():
    session = read_session(entry_document(entry(topic="Auth", project="shop", x="y")))
    (message,) = session.messages
    assert (message.role, message.content) == ("assistant", "Use one lock")
    assert session.title == "Locks"
    assert session.topics == ("auth",)
    assert session.project == "shop"
    assert session.metadata["tags"] == {"topic": "Auth", "project": "shop", "x": "y"}


def test_the_same_text_on_the_same_day_is_the_same_session():
    first = entry_document(entry())["session_id"]
    assert entry_document(entry(at=NOW + 5000))["session_id"] == first
    assert entry_document(entry("Use  one\n\nlock"))["session_id"] == first
    assert entry_document(entry(at=NOW + DAY_MS))["session_id"] != first
    assert entry_document(entry(title=""))["session_id"] != first
