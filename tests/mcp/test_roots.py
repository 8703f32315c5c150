"""The folders that a client has open decide which project is meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write_other_project
from tests.mcp.host import INITIALIZE, INITIALIZED, Host


def shake_hands(host: Host) -> None:
    params = INITIALIZE["params"] | {"capabilities": {"roots": {"listChanged": True}}}
    host.ask(INITIALIZE["method"], params)
    host.say(INITIALIZED)


def tell(host: Host, *roots: Path) -> None:
    """Answer the server's question for the roots, which has to come next."""
    tell_raw(host, [{"uri": root.as_uri()} for root in roots])


def tell_raw(host: Host, listed: object) -> None:
    asked = host.hear()
    assert asked["method"] == "roots/list"
    host.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": listed}})


def result_of(host: Host, asked: int) -> dict[str, Any]:
    result: dict[str, Any] = host.answer(asked)["result"]
    return result


def test_roots_decide_the_project_until_they_change(indexed, start, tmp_path):
    other = write_other_project(tmp_path / "my #1? other")
    host = start()
    shake_hands(host)
    asked = host.begin_call("search_code", query="switch_on", mode="keyword")
    tell_raw(host, [{"uri": f"file://{other}"}])  # as clients write it that escape too little
    refused = result_of(host, asked)
    assert refused["isError"]
    assert refused["content"][0]["text"].startswith(f"no_index: {other} is not indexed — index_pro")
    assert not host.call("index_project").get("isError")
    found = host.call("search_code", query="switch_on", mode="keyword")
    assert found["structuredContent"]["hits"][0]["filename"] == "lamp.py"
    host.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    asked = host.begin_call("index_project", path=str(other))
    tell(host, indexed)
    assert "only these may be indexed" in result_of(host, asked)["content"][0]["text"]


def test_calls_that_come_while_the_roots_are_asked_for_are_answered_for_them(
    indexed, start, tmp_path
):
    host = start(cwd=tmp_path)
    shake_hands(host)
    asked = {host.begin_call("search_code", query="add_item", mode="keyword") for _ in range(3)}
    host.wait_until_handed_on()
    tell(host, indexed)
    answers = [host.hear() for _ in asked]
    assert {answer["id"] for answer in answers} == asked
    assert all(answer["result"]["structuredContent"]["hits"] for answer in answers)


def test_a_call_that_is_cancelled_takes_no_roots_with_it(indexed, start, tmp_path):
    host = start(cwd=tmp_path)
    shake_hands(host)
    cancelled = host.begin_call("search_code", query="add_item", mode="keyword")
    assert host.hear()["method"] == "roots/list"
    gone = {"method": "notifications/cancelled", "params": {"requestId": cancelled}}
    host.say({"jsonrpc": "2.0"} | gone)
    asked = host.begin_call("search_code", query="add_item", mode="keyword")
    while (said := host.hear()).get("method") != "roots/list":
        assert said.get("id") != asked
    host.say({"jsonrpc": "2.0", "id": said["id"], "result": {"roots": [{"uri": indexed.as_uri()}]}})
    assert result_of(host, asked)["structuredContent"]["hits"]


ODD = [
    {"uri": "https://example.com/project"},
    {"uri": "vscode-remote://ssh/project"},
    {"uri": "file://elsewhere/project"},
    {"uri": "file:///a%00b"},
    {"uri": "http://[::1"},
    {"uri": "no uri at all"},
    {"uri": 7},
    {},
    "file:///",
    None,
]


def test_roots_that_are_no_folder_here_cost_the_others_nothing(start, indexed, tmp_path):
    host = start(cwd=tmp_path)
    shake_hands(host)
    asked = host.begin_call("search_code", query="add_item", mode="keyword")
    tell_raw(host, [*ODD, {"uri": indexed.as_uri()}, *ODD])
    assert result_of(host, asked)["structuredContent"]["hits"]


@pytest.mark.parametrize("listed", [ODD, {"uri": "file:///"}, None])
def test_a_client_without_a_folder_works_where_it_was_started(start, listed):
    host = start()
    shake_hands(host)
    asked = host.begin_call("search_code", query="add_item", mode="keyword")
    tell_raw(host, listed)
    assert result_of(host, asked)["structuredContent"]["hits"]


def test_a_client_that_tells_no_roots_works_where_it_was_started(start):
    host = start()
    shake_hands(host)
    asked = host.begin_call("search_code", query="add_item", mode="keyword")
    question = host.hear()
    refusal = {"code": -32603, "message": "not now"}
    host.say({"jsonrpc": "2.0", "id": question["id"], "error": refusal})
    assert result_of(host, asked)["structuredContent"]["hits"]
