"""What an export of claude-mem becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_sidecar.core.errors import SessionInvalid
from memory_sidecar.sessions.documents import read_session
from memory_sidecar.sessions.transcripts import read_sessions

EXPORT: dict[str, Any] = {
    "exportedAt": "2026-03-02T10:00:00.000Z",
    "query": "token",
    "totalObservations": 1,
    "observations": [
        {
            "id": 7,
            "memory_session_id": "5b1c-own",
            "project": "shop",
            "text": None,
            "type": "bugfix",
            "title": "Token refresh survives a restart",
            "subtitle": None,
            "narrative": "The refresh token was kept in memory only.",
            "facts": '["Tokens lie in redis", 7]',
            "concepts": '["problem-solution"]',
            "files_read": "[]",
            "files_modified": '["src/token.py"]',
            "created_at": "2026-03-01T09:13:00.000Z",
            "created_at_epoch": 1772356380000,
        }
    ],
    "sessions": [{"content_session_id": "0b1e", "memory_session_id": "5b1c-own"}],
    "summaries": [
        {
            "memory_session_id": "5b1c-own",
            "request": "Mend the token refresh",
            "learned": "A restart lost the token",
            "next_steps": None,
            "created_at": "2026-03-01T09:14:00.000Z",
        }
    ],
    "prompts": [
        {
            "content_session_id": "0b1e",
            "prompt_number": 1,
            "prompt_text": "The refresh fails after a restart",
            "created_at": "2026-03-01T09:12:00.000Z",
        },
        {"content_session_id": "other", "prompt_text": "And another?", "created_at": "soon"},
    ],
}


def test_prompts_observations_and_summaries_become_sessions():
    first, second = read_sessions(json.dumps(EXPORT).encode(), name="token.json").documents
    session = read_session(first)
    assert session.session_id == "claude-mem-5b1c-own"
    assert [(each.role, each.content) for each in session.messages] == [
        ("user", "The refresh fails after a restart"),
        (
            "assistant",
            "Token refresh survives a restart\nThe refresh token was kept in memory only.\n"
            "- Tokens lie in redis\nFiles: src/token.py",
        ),
    ]
    assert first["created_at"] == "2026-03-01T09:12:00.000Z"
    assert session.metadata == {"imported_from": "token.json", "project": "shop"}
    assert session.topics == ("problem-solution",)
    assert session.summary
    assert session.summary.brief == "Mend the token refresh"
    assert "learned: A restart lost the token" in session.summary.detailed
    assert session.summary.problems_solved == ("Token refresh survives a restart",)
    assert second["session_id"] == "claude-mem-other"
    assert [each["content"] for each in second["messages"]] == ["And another?"]


def test_an_older_export_has_other_names_for_its_sessions():
    old = json.dumps(EXPORT).replace("memory_session_id", "sdk_session_id")
    old = old.replace("content_session_id", "claude_session_id")
    assert read_sessions(old.encode(), name="a.json") == read_sessions(
        json.dumps(EXPORT).encode(), name="a.json"
    )


@pytest.mark.parametrize("odd", [None, 7, "x", [], [7], {"a": 1}])
def test_odd_values_in_an_export_harm_nothing(odd):
    """Each value of each row replaced by `odd`."""
    for kind in ("observations", "sessions", "summaries", "prompts"):
        for key in EXPORT[kind][0]:
            rows = [EXPORT[kind][0] | {key: odd}, odd]
            for each in read_sessions(
                json.dumps(EXPORT | {kind: rows}).encode(), name="a"
            ).documents:
                assert (
                    read_session({"created_at": "2026-03-01T09:12:00Z", **each}).messages
                    is not None
                )


def test_prompts_of_two_exports_that_name_no_session_are_two_sessions():
    ids = set()
    for text in ("The refresh fails", "And another?"):
        rows = EXPORT | {"prompts": [{"prompt_text": text}], "observations": [], "summaries": []}
        (document,) = read_sessions(json.dumps(rows).encode(), name="a.json").documents
        ids.add(document["session_id"])
    assert len(ids) == 2


def test_an_export_that_found_nothing_is_refused_with_what_would_be_right():
    empty: dict[str, list[Any]] = {
        name: [] for name in ("observations", "sessions", "summaries", "prompts")
    }
    with pytest.raises(SessionInvalid, match="holds no session"):
        read_sessions(json.dumps(empty).encode(), name="a.json")
