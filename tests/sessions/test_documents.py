"""A session's document is read strictly: what is wrong with it is told with the field's name."""

from __future__ import annotations

import json

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import (
    normalise_project_path,
    parse_document,
    project_hash,
    read_session,
    read_summary,
    summary_document,
)
from memory_sidecar.sessions.model import Outcome, Role

WHOLE = {
    "session_id": "2026-03-01-payment",
    "project_path": "/src/shop/",
    "created_at": "2026-03-01T09:12:00Z",
    "metadata": {"model": "m", "title": "Payment"},
    "topics": ["Payment", " payment ", "AUTH"],
    "messages": [
        {"role": "user", "content": "It fails", "created_at": "2026-03-01T10:13:00+01:00"},
        {"role": "assistant", "content": "Fixed", "speaker": "Claude"},
    ],
    "summary": {
        "brief": "Fixed the refresh",
        "key_decisions": ["Use JWT for auth"],
        "outcome": "success",
    },
    "code_snippets": [{"language": "csharp", "code": "lock (key) {}", "file_path": "Token.cs"}],
}


def test_every_field_is_read():
    session = read_session(WHOLE)
    assert session.session_id == "2026-03-01-payment"
    assert (session.project_path, session.project) == ("/src/shop", "shop")
    assert session.topics == ("payment", "auth")
    assert session.created_at == 1_772_356_320_000
    first, second = session.messages
    assert (first.role, first.said_by, first.created_at) == (Role.USER, "user", 1_772_356_380_000)
    assert (second.said_by, second.created_at) == ("Claude", first.created_at)
    assert session.summary
    assert session.summary.outcome is Outcome.SUCCESS
    assert session.summary.key_decisions == ("Use JWT for auth",)
    assert session.code_snippets[0].file_path == "Token.cs"
    assert session.updated_at == first.created_at
    assert session.title == "Payment"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"messages": None, "summary": None, "code_snippets": None}, "messages: there is nothing"),
        ({"messages": {}}, "messages: must be a list, not an object"),
        ({"messages": ["hi"]}, "messages[0]: must be an object, not a string"),
        ({"messages": [{"content": "x"}]}, "messages[0].role: missing"),
        (
            {"messages": [{"role": "user", "content": "x"}, {"role": "robot", "content": "x"}]},
            "messages[1].role: 'robot' is none of user, assistant, system",
        ),
        ({"messages": [{"role": "user"}]}, "messages[0].content: missing"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content: must be a string"),
        (
            {"messages": [{"role": "user", "content": "", "created_at": "yesterday"}]},
            "messages[0].created_at: 'yesterday' is not a time",
        ),
        (
            {"created_at": "0001-01-01T00:00:00Z"},
            "created_at: '0001-01-01T00:00:00Z' is not a time",
        ),
        ({"created_at": 12}, "created_at: must be a string, not a number"),
        ({"session_id": "../../etc/passwd"}, "session_id: '../../etc/passwd' cannot name a file"),
        ({"session_id": ".hidden"}, "session_id: '.hidden' cannot name a file"),
        ({"session_id": "x" * 129}, "session_id: "),
        ({"metadata": []}, "metadata: must be an object, not a list"),
        ({"topics": ["a", 2]}, "topics[1]: must be a string, not a number"),
        ({"summary": {"detailed": "x"}}, "summary.brief: missing"),
        ({"summary": {"brief": "  "}}, "summary.brief: is empty"),
        (
            {"summary": {"brief": "x", "outcome": "great"}},
            "summary.outcome: 'great' is none of success, partial, abandoned",
        ),
        (
            {"summary": {"brief": "x", "key_decisions": "use JWT"}},
            "summary.key_decisions: must be a list, not a string",
        ),
        ({"code_snippets": [{"language": "c"}]}, "code_snippets[0].code: missing"),
    ],
)
def test_what_is_wrong_is_told_with_the_field(change, told):
    with pytest.raises(SessionInvalid) as caught:
        read_session(WHOLE | change)
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "not JSON"),
        (b'{"messages": [', "not JSON: Expecting value at line 1"),
        (b"[]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8 (byte 0)"),
        (b'{"metadata": {"x": NaN}}', "NaN is not a number"),
        (b"[" * 200_000, "nested too deeply"),
    ],
    ids=["empty", "truncated", "list", "bytes", "NaN", "deep"],
)
def test_what_is_no_json_object_is_told(data, told):
    with pytest.raises(SessionInvalid) as caught:
        parse_document(data)
    assert told in caught.value.message


def test_an_example_comes_only_where_it_helps():
    with pytest.raises(SessionInvalid) as caught:
        read_session(WHOLE | {"summary": {"brief": "x", "outcome": "great"}})
    assert caught.value.hint == ""
    with pytest.raises(SessionInvalid) as caught:
        read_session(WHOLE | {"messages": "hello"})
    assert "for example" in caught.value.hint


def test_the_hint_about_a_summary_shows_one():
    with pytest.raises(SessionInvalid, match="summary: must be an object") as caught:
        read_session(WHOLE | {"summary": "Fixed the refresh"})
    assert '{"summary": {"brief"' in caught.value.hint


def test_a_document_that_is_read_but_too_deep_is_told():
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"x": deep}
    with pytest.raises(SessionInvalid, match="nested too deeply"):
        read_session(WHOLE | {"metadata": deep})


def test_a_byte_order_mark_does_no_harm():
    assert parse_document(b"\xef\xbb\xbf{}") == {}


def test_what_no_text_can_hold_is_replaced():
    told = json.loads('"a\\u0000b \\ud83d\\ude00 \\ud800"')
    (message,) = read_session(WHOLE | {"messages": [{"role": "user", "content": told}]}).messages
    assert message.content == "a\ufffdb 😀 \ufffd"


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("/src/shop/", "/src/shop"),
        ("/src/./lib/../shop", "/src/shop"),
        ("C:\\src\\Shop\\", "c:/src/Shop"),
        ("/src/cafe\u0301", "/src/café"),
        ("  ", ""),
        (".", ""),
    ],
)
def test_paths_of_one_project_become_one(written, normalised):
    assert normalise_project_path(written) == normalised


def test_project_hash_is_the_beginning_of_sha256():
    assert project_hash("/src/shop") == "3cb8c763ca500a39"


def test_a_summary_survives_being_written():
    told = {
        "brief": "b",
        "detailed": "d",
        "key_decisions": ["k"],
        "problems_solved": ["p"],
        "technologies": ["t"],
        "outcome": "partial",
        "user_note": "n",
        "made_by": "extract",
    }
    assert summary_document(read_summary(told)) == told
    assert summary_document(read_summary({"brief": "b"})) == {"brief": "b"}
