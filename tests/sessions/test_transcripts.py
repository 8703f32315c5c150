"""What other programs keep of a session."""

from __future__ import annotations

import json
import time

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.transcripts import read_sessions
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
    (document,) = read_sessions(data, name=name).documents
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
    found = read_sessions(lines(first, second, first), name="t.jsonl").documents
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
    (document,) = read_sessions(json.dumps(whole).encode(), name="s.json").documents
    assert document == (whole[0] if isinstance(whole, list) else whole)


def test_a_list_of_messages_is_one_session():
    _, session = the_session(json.dumps(said("a", "b")).encode(), "s.json")
    assert [m.content for m in session.messages] == ["a", "b"]


def test_half_a_last_line_is_left_out_and_told():
    found = read_sessions(lines(*said("a", "b")) + b'{"role": "us', name="t.jsonl")
    assert len(found.documents[0]["messages"]) == 2
    assert found.problems == ("line 3 is not JSON",)


@pytest.mark.parametrize("data", [b"", b"hello\n", b"{}", b"[1, 2]", b"\xff", b'{"role": "user"}'])
def test_a_file_without_a_session_is_refused(data):
    with pytest.raises(SessionInvalid):
        read_sessions(data, name="t.jsonl")


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b'{"role": "user", "content": "a', "line 2 is not JSON"),
        (b"\0\0\0\0", "line 2 is not JSON"),
        (b'{"role": "user", "content": "caf\xe9"}', "bytes of line 2 are not UTF-8"),
        (b'{"role": "user", "content": "caf\xed\xa0\x80"}', "bytes of line 2 are not UTF-8"),
        (b'{"content": NaN}\n[\n[\n[', "4 lines, the first of them line 2, are not JSON"),
        (b"x\ny", "lines 2, 3 are not JSON"),
    ],
    ids=["half", "zeros", "latin 1", "half a pair", "many", "two"],
)  # fmt: skip
def test_a_bad_line_keeps_no_other_from_being_read(bad, problem):
    first, last = lines(*said("a")), lines(*said("b"))
    found = read_sessions(first + bad + b"\n" + last, name="t.jsonl")
    contents = [each["content"] for each in found.documents[0]["messages"]]
    assert (contents[0], contents[-1]) == ("a", "b")
    assert found.problems == (problem,)


def test_halves_of_characters_are_read_as_unknown_ones():
    found = read_sessions(lines(*said("a")) + b'{"role": "user", "content": "x\\ud83d"}', name="t")
    assert found.documents[0]["messages"][1]["content"] == "x\ufffd"


def test_a_transcript_that_names_no_session_stays_the_same_as_it_goes_on():
    (first,) = read_sessions(lines(*said("a", "b")), name="my chat.jsonl").documents
    (later,) = read_sessions(lines(*said("a", "b", "c")), name="my chat.jsonl").documents
    assert first["session_id"] == later["session_id"]
    assert first["session_id"].startswith("my-chat-")
    (other,) = read_sessions(lines(*said("x", "b")), name="my chat.jsonl").documents
    (elsewhere,) = read_sessions(lines(*said("a", "b")), name="other.jsonl").documents
    assert len({each["session_id"] for each in (first, other, elsewhere)}) == 3


@pytest.mark.parametrize("messages", [7, {"a": 1}])
def test_messages_that_are_no_list_are_refused_as_such(messages):
    data = json.dumps({"messages": messages, "summary": {"brief": "Locked"}}).encode()
    (document,) = read_sessions(data, name="a.json").documents
    with pytest.raises(SessionInvalid, match="messages: must be a list"):
        read_session({"created_at": "2026-03-01T09:12:00Z", **document})


def test_sessions_without_ids_in_one_file_stay_apart_though_they_begin_alike():
    whole = [{"messages": said("hi", "a")}, {"messages": said("hi", "b")}]
    found = read_sessions(json.dumps(whole).encode(), name="日本.json").documents
    assert len({each["session_id"] for each in found}) == 2


@pytest.mark.parametrize(
    "line",
    [
        {"type": "user", "isSidechain": True, "sessionId": "s", "message": {"content": "x"}},
        {"type": "permission-mode", "permissionMode": "default", "sessionId": "s"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/src"}},
    ],
    ids=["side conversation", "left at once", "snapshot", "codex"],
)
def test_a_transcript_in_which_nothing_was_said_holds_no_session(line):
    assert read_sessions(lines(line), name="t.jsonl").documents == ()


def in_rollout(text):
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"type": "response_item", "payload": payload}


def test_a_fork_of_codex_is_its_own_session():
    metas = [{"type": "session_meta", "payload": {"id": each}} for each in ("child", "parent")]
    (found,) = read_sessions(lines(*metas, in_rollout("Fix it")), name="r.jsonl").documents
    assert found["session_id"] == "child"


def test_what_a_subagent_of_codex_did_is_left_out():
    meta = {"id": "s", "source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}
    data = lines({"type": "session_meta", "payload": meta}, in_rollout("Fix it"))
    assert read_sessions(data, name="r.jsonl").documents == ()


def test_an_old_rollout_of_codex_names_its_session():
    header = {"id": "5973b6c0", "timestamp": "2025-05-07T17:24:21Z", "instructions": None}
    message = {"type": "message", **said("Fix it")[0]}
    (found,) = read_sessions(lines(header, message), name="r.jsonl").documents
    assert found["session_id"] == "5973b6c0"


def test_a_title_of_the_users_counts_most_and_the_latest_of_a_kind():
    titles = [
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "s"},
        {"type": "ai-title", "aiTitle": "Its", "sessionId": "s"},
        {"type": "custom-title", "customTitle": "Mine now", "sessionId": "s"},
    ]
    (found,) = read_sessions(lines(*titles, {"sessionId": "s", **said("a")[0]}), name="t").documents
    assert found["metadata"]["title"] == "Mine now"


def test_parts_of_an_answer_are_one_message_also_around_what_is_said_meanwhile():
    def line(uuid, role, content, **message):
        message = {"role": role, "content": content, **message}
        return {"type": role, "uuid": uuid, "sessionId": "s", "message": message}

    written = [
        line("u1", "assistant", "I see.", id="m"),
        line("u2", "user", "Quick!"),
        line("u1", "assistant", "I see.", id="m"),
        line("u3", "assistant", "Done.", id="m"),
    ]
    (found,) = read_sessions(lines(*written), name="t.jsonl").documents
    assert [(each["id"], each["content"]) for each in found["messages"]] == [
        ("m", "I see.\n\nDone."),
        ("u2", "Quick!"),
    ]


def test_an_id_that_all_lines_share_is_no_messages_id():
    (found,) = read_sessions(
        lines(*({**each, "id": "chat"} for each in said("a", "b", "c"))), name="t.jsonl"
    ).documents
    assert [each["content"] for each in found["messages"]] == ["a", "b", "c"]


def test_a_chat_of_gemini_is_its_words():
    said_by_both = [
        {"id": "1", "timestamp": "2026-03-01T09:12:00Z", "type": "user", "content": "Why so slow?"},
        {"id": "2", "type": "info", "content": "Request cancelled."},
        {
            "id": "3",
            "timestamp": "2026-03-01T09:12:09Z",
            "type": "gemini",
            "model": "gemini-2.5-pro",
            "content": [{"text": "I wonder", "thought": True}, {"text": "It waits for a lock."}],
            "toolCalls": [{"id": "x", "name": "read_file"}],
        },
    ]
    chat = {"sessionId": "a1-b2", "projectHash": "f0", "messages": said_by_both}
    (document,) = read_sessions(json.dumps(chat).encode(), name="session-a1.json").documents
    assert document["metadata"]["model"] == "gemini-2.5-pro"
    session = read_session(document)
    assert session.session_id == "a1-b2"
    assert [(m.role, m.content) for m in session.messages] == [
        ("user", "Why so slow?"),
        ("assistant", "It waits for a lock."),
    ]


def test_a_checkpoint_of_gemini_is_its_words():
    history = [
        {"role": "user", "parts": [{"text": "Why so slow?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "grep"}}, {"text": "A lock."}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "grep", "response": {}}}]},
    ]
    (document,) = read_sessions(json.dumps(history).encode(), name="checkpoint.json").documents
    assert [m["content"] for m in document["messages"]] == ["Why so slow?", "A lock."]


def test_a_transcript_of_cursor_is_its_words():
    def line(role: str, text: str) -> bytes:
        told = {"role": role, "message": {"content": [{"type": "text", "text": text}]}}
        return json.dumps(told).encode()

    asked = "<attached_files>\na.py\n</attached_files>\n<user_query>\nWhy so slow?\n</user_query>"
    data = line("user", asked) + b"\n" + line("assistant", "It waits for a lock.")
    (document,) = read_sessions(data, name="chat.jsonl").documents
    assert [(m["role"], m["content"]) for m in document["messages"]] == [
        ("user", "Why so slow?"),
        ("assistant", "It waits for a lock."),
    ]


def test_an_answer_of_many_parts_is_read_in_linear_time():
    message = {"id": "m", "role": "assistant", "content": "x" * 1_998}
    line = json.dumps({"type": "assistant", "sessionId": "s1", "message": message})
    began = time.thread_time()
    (document,) = read_sessions(f"{line}\n".encode() * 15_000, name="a.jsonl").documents
    assert len(document["messages"][0]["content"]) == 15_000 * 2_000 - 2
    assert time.thread_time() - began < 10


def test_a_transcript_in_utf_16_is_read():
    """Windows PowerShell writes it where a program's output goes into a file by `>`."""
    text = "\r\n".join(map(json.dumps, said("Warum schlägt das fehl?", "Die Sperre fehlt.")))
    for encoding in ("utf-16", "utf-8-sig"):
        found = read_sessions(text.encode(encoding), name="a.jsonl")
        (document,) = found.documents
        assert [each["content"] for each in document["messages"]][1] == "Die Sperre fehlt."
        assert found.problems == ()
