"""What the exports of chats in the browser become."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.transcripts import read_sessions


def node(name: str, parent: str | None, text: str, **message: Any) -> dict[str, Any]:
    role = "user" if name.startswith("q") else "assistant"
    content = {"content_type": "text", "parts": [text]}
    said = {"id": name, "author": {"role": role}, "create_time": 1_772_400_000.5}
    return {"id": name, "parent": parent, "message": {**said, "content": content, **message}}


CHATGPT: dict[str, Any] = {
    "title": "Wombat pipeline",
    "conversation_id": "0d-1",
    "current_node": "a2",
    "mapping": {
        "root": {"id": "root", "parent": None, "message": None},
        "q1": node("q1", "root", "What is a wombat pipeline?"),
        "a1": node("a1", "q1", "The answer that was discarded."),
        "t": node("t", "q1", "print(1)", recipient="python"),
        "thought": node("thought", "t", "", content={"content_type": "thoughts", "thoughts": []}),
        "a2": node("a2", "thought", "A pipeline of cubes."),
    },
}
CLAUDE: dict[str, Any] = {
    "uuid": "c-1",
    "name": "Bilby burrows",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Where?", "created_at": "2026-03-01T09:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "content": [{"type": "text", "text": "Below."}]},
    ],
}


@pytest.mark.parametrize(
    ("chat", "session_id", "title", "said"),
    [
        (
            CHATGPT,
            "0d-1",
            "Wombat pipeline",
            ["What is a wombat pipeline?", "A pipeline of cubes."],
        ),
        (CLAUDE, "c-1", "Bilby burrows", ["Where?", "Below."]),
    ],
)
def test_a_chat_is_a_session_of_what_was_shown_last(chat, session_id, title, said):
    (document,) = read_sessions(json.dumps([chat]).encode(), name="conversations.json").documents
    session = read_session(document)
    assert (session.session_id, session.title) == (session_id, title)
    assert [(m.role, m.content) for m in session.messages] == [
        *zip(("user", "assistant"), said, strict=True)
    ]
    assert session.created_at > 0


@pytest.mark.parametrize("ids", [{}, {"conversation_id": "WEB:1"}, {"id": "a-1"}])
def test_a_chat_without_an_id_that_can_name_a_file_does_not_continue_another(ids):
    old = {key: value for key, value in CHATGPT.items() if key != "conversation_id"} | ids
    sides = [{**old, "title": "Two", "id": "a-2", "current_node": "a1"}, old, CLAUDE]
    documents = read_sessions(json.dumps(sides).encode(), name="conversations.json").documents
    assert [each["metadata"]["title"] for each in documents] == [
        *("Two", "Wombat pipeline", "Bilby burrows")
    ]
    found = [read_session({**each, "created_at": "2026-03-01"}) for each in documents]
    assert len({each.session_id for each in found}) == 3
    assert [len(each.messages) for each in found] == [2, 2, 2]


def test_chats_whose_parts_are_missing_or_go_round_harm_nothing():
    odd = [
        {"mapping": {}, "current_node": ["x"]},
        {"mapping": {"q": node("q", "q", "Why?")}, "current_node": "q"},
        {"mapping": {"q": {"message": {"author": 1, "content": []}, "parent": ["q"]}}},
        {"chat_messages": [1, {}]},
        {"chat_messages": [{"sender": "human", "content": [{"type": [], "text": "?"}]}]},
        {"chat_messages": [], "mapping": None},
        {"mapping": {"q": {"message": {"content": {"content_type": {}}}}}},
    ]
    (document,) = read_sessions(json.dumps(odd).encode(), name="c.json").documents
    assert [each["content"] for each in document["messages"]] == ["Why?"]
    with pytest.raises(SessionInvalid):
        read_sessions(json.dumps(odd[:1]).encode(), name="c.json")
