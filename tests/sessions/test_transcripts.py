"""What other programs keep of a session."""

from __future__ import annotations

import json

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.transcripts import sessions_in
from tests.sessions.conftest import said

CLAUDE_CODE = [
    {"type": "summary", "summary": "Payment token refresh", "leafUuid": "u4"},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
    {
        "type": "user",
        "isMeta": True,
        "sessionId": "0b1e-5f",
        "message": {"role": "user", "content": "Caveat: made by local commands"},
    },
    {
        "type": "user",
        "sessionId": "0b1e-5f",
        "cwd": "/src/shop",
        "gitBranch": "main",
        "timestamp": "2026-03-01T09:12:00.123Z",
        "uuid": "u1",
        "message": {
            "role": "user",
            "content": "The refresh fails<system-reminder>be nice</system-reminder>",
        },
    },
    {
        "type": "assistant",
        "sessionId": "0b1e-5f",
        "timestamp": "2026-03-01T09:12:05Z",
        "message": {
            "id": "msg_1",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I see."}],
        },
    },
    {
        "type": "assistant",
        "sessionId": "0b1e-5f",
        "timestamp": "2026-03-01T09:12:06Z",
        "message": {
            "id": "msg_1",
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Reading the file."},
                {"type": "tool_use", "name": "Read", "input": {"file_path": "Token.cs"}},
            ],
        },
    },
    {
        "type": "user",
        "sessionId": "0b1e-5f",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "content": "class Token {}"}],
        },
    },
    {
        "type": "assistant",
        "sessionId": "0b1e-5f",
        "isSidechain": True,
        "message": {"role": "assistant", "content": "from a helper"},
    },
]


def lines(*items):
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def the_session(data, name="t.jsonl"):
    (document,) = sessions_in(data, name=name).documents
    full = {"session_id": "s", "created_at": "2026-03-01T00:00:00Z"} | document
    return document, read_session(full)


def test_a_transcript_of_claude_code_is_its_words():
    document, session = the_session(lines(*CLAUDE_CODE))
    assert document["session_id"] == "0b1e-5f"
    assert [(m.role.value, m.content) for m in session.messages] == [
        ("user", "The refresh fails"),
        ("assistant", "I see.\n\nReading the file."),
    ]
    assert document["created_at"] == "2026-03-01T09:12:00.123Z"
    assert session.project_path == "/src/shop"
    assert session.title == "Payment token refresh"
    assert session.metadata["git_branch"] == "main"
    assert session.metadata["model"] == "claude"
    assert session.metadata["imported_from"] == "t.jsonl"


def test_a_transcript_of_codex_is_its_words():
    document, session = the_session(
        lines(
            {"type": "session_meta", "payload": {"id": "019a-7", "cwd": "/src/shop"}},
            {
                "timestamp": "2026-03-01T09:12:00Z",
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Fix it"}],
                },
            },
            {"type": "response_item", "payload": {"type": "function_call", "name": "shell"}},
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Done"}],
                },
            },
        )
    )
    assert document["session_id"] == "019a-7"
    assert [m.content for m in session.messages] == ["Fix it", "Done"]
    assert session.project_path == "/src/shop"


def test_plain_lines_are_a_session():
    seconds, milliseconds = 1_772_356_320, 1_772_356_321_000
    _, session = the_session(
        lines(
            {"role": "user", "content": "Hi", "timestamp": seconds, "name": "Ada"},
            {"role": "human", "content": "Ho", "time": milliseconds},
            {"role": "tool", "content": "left out"},
        )
    )
    assert [(m.said_by, m.created_at) for m in session.messages] == [
        ("Ada", 1_772_356_320_000),
        ("user", 1_772_356_321_000),
    ]


def test_several_sessions_in_one_file_stay_apart():
    first, second = (
        {"sessionId": name, "message": {"role": "user", "content": name}} for name in ("a", "b")
    )
    found = sessions_in(lines(first, second, first), name="t.jsonl").documents
    assert [(d["session_id"], len(d["messages"])) for d in found] == [("a", 2), ("b", 1)]


@pytest.mark.parametrize(
    "whole",
    [
        {"session_id": "x", "messages": said("a")},
        [{"session_id": "x", "messages": said("a")}],
        {"session_id": "x", "summary": {"brief": "b"}},
    ],
    ids=["one", "list", "summary alone"],
)
def test_our_own_documents_stay_as_they_are(whole):
    (document,) = sessions_in(json.dumps(whole).encode(), name="s.json").documents
    assert document == (whole[0] if isinstance(whole, list) else whole)


def test_a_list_of_messages_is_one_session():
    _, session = the_session(json.dumps(said("a", "b")).encode(), "s.json")
    assert [m.content for m in session.messages] == ["a", "b"]


def test_half_a_last_line_is_left_out_and_told():
    found = sessions_in(lines(*said("a", "b")) + b'{"role": "us', name="t.jsonl")
    assert len(found.documents[0]["messages"]) == 2
    assert found.problems == ("line 3 is not JSON",)


@pytest.mark.parametrize("data", [b"", b"hello\n", b"{}", b"[1, 2]", b"\xff", b'{"role": "user"}'])
def test_a_file_without_a_session_is_refused(data):
    with pytest.raises(SessionInvalid):
        sessions_in(data, name="t.jsonl")
