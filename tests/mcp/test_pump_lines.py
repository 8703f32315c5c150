"""What goes through the pump between a host and a daemon that stays: lines, answers, options."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.e2e.home import Home
from tests.mcp.host import INITIALIZE, INITIALIZED, Host

Start = Callable[..., Host]


@pytest.fixture(scope="module")
def home(shared_home: Home) -> Home:
    return shared_home


def test_handshake_names_the_tools_and_what_is_indexed(start):
    host = start()
    told = host.open()
    assert told["serverInfo"]["name"] == "memory-sidecar"
    assert "project" in told["instructions"]
    names = [tool["name"] for tool in host.ask("tools/list")["result"]["tools"]]
    assert {"search_code", "read_file", "status"} <= set(names)


def test_answer_arrives_before_the_server_goes(start):
    host = start()
    host.begin(**INITIALIZE)
    host.say(INITIALIZED)
    asked = host.begin_call("status")
    out, err = host.end()
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["id"] for answer in answers] == [1, asked]
    assert "result" in answers[1]
    assert (host.process.returncode, err) == (0, "")


def test_garbage_is_answered_by_the_protocol_and_ends_nothing(host):
    for line, code in (("hello?", -32700), ("[]", -32600), ('"ping"', -32600)):
        host.say_raw(line)
        answer = host.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
    host.say({"jsonrpc": "2.0", "id": 77, "method": 7})
    answer = host.hear()
    assert (answer["id"], answer["error"]["code"]) == (77, -32600)
    host.say({"jsonrpc": "2.0", "id": None, "method": "ping"})
    answer = host.hear()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    host.say_raw("")
    assert host.ask("ping")["result"] == {}


@pytest.mark.parametrize("options", [{}, {"MEMORY_SIDECAR_NO_DAEMON": "1"}])
def test_a_request_with_an_id_that_none_may_have_is_refused_at_once(home, start, options):
    host = start(env={**home.environ, **options})
    host.open()
    for wrong in ("1.5", "true", "null", "[1]", "{}", r'"\ud83d"'):
        host.say_raw(f'{{"jsonrpc": "2.0", "id": {wrong}, "method": "ping"}}')
        answer = host.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert host.ask("ping")["result"] == {}


@pytest.mark.parametrize("options", [{}, {"MEMORY_SIDECAR_NO_DAEMON": "1"}])
def test_each_request_of_a_batch_is_answered_by_its_id(home, start, options):
    host = start(env={**home.environ, **options})
    host.open()
    asked = [{"jsonrpc": "2.0", "id": name, "method": "ping"} for name in ("a", "b")]
    host.say([*asked, {"jsonrpc": "2.0", "method": "notifications/cancelled"}, 7])
    heard = [host.hear() for _ in range(3)]
    assert {answer["id"] for answer in heard if "result" in answer} == {"a", "b"}
    assert [answer["id"] for answer in heard if "error" in answer] == [None]


HUGE = {"name": "search_code", "arguments": {"query": "x" * (9 << 20), "id": 5}}


@pytest.mark.parametrize("options", [{}, {"MEMORY_SIDECAR_NO_DAEMON": "1"}])
def test_a_line_too_long_is_answered_by_its_id(home, start, options):
    host = start(env={**home.environ, **options})
    host.open()
    whole = {"method": "tools/call", "params": HUGE, "jsonrpc": "2.0", "id": "big"}
    for places in (("jsonrpc", "id"), ("method", "params"), ("id", "params")):
        first = {name: whole[name] for name in places}
        host.say({**first, **whole})
        answer = host.hear()
        assert (answer["id"], answer["error"]["code"]) == ("big", -32600), places
        assert "bytes, more than 8,388,608" in answer["error"]["message"]
        assert host.ask("ping")["result"] == {}


def test_an_answer_too_long_is_no_request(host):
    host.say({"jsonrpc": "2.0", "id": "ours", "result": "x" * (9 << 20)})
    assert host.hear()["id"] is None
    assert host.ask("ping")["result"] == {}


@pytest.mark.parametrize("value", ["1" + "0" * 5000, "[" * 90_000 + "]" * 90_000, "{", "\x01"])
def test_a_line_that_cannot_be_read_is_answered_by_its_id(host, value):
    host.say_raw(f'{{"jsonrpc":"2.0","method":"ping","id":"odd","params":{{"a":{value}}}}}')
    answer = host.hear()
    assert (answer["id"], answer["error"]["code"]) == ("odd", -32700)
    assert host.ask("ping")["result"] == {}


def test_half_a_character_does_not_cost_the_call(host):
    result = host.call("search_code", query="the total of a cart \ud83d")
    assert result["structuredContent"]["hits"]


@pytest.mark.parametrize(
    "arguments", [("--agent", "../other"), ("--tools", "code,shell"), ("--tools", "")]
)
def test_wrong_options_end_it_with_one_line(start, arguments):
    host = start(*arguments)
    out, err = host.end()
    assert (host.process.returncode, out) == (2, "")
    assert err.startswith("memory-sidecar: ")
    assert err.count("\n") == 1


def test_option_means_the_command(home):
    done = home.call("--mcp", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == home.call("mcp", "--help").stdout
    assert "--read-only" in done.stdout
