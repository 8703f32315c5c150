"""What a host notices of daemons that come and go: next to nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from memory_sidecar.core.locks import WriterLock
from memory_sidecar.core.paths import DataDir
from memory_sidecar.daemon.own_code import PACKAGE
from tests.e2e.home import Home
from tests.e2e.test_daemon_life import OTHER_BUILD
from tests.mcp.host import INITIALIZE, Host

Start = Callable[..., Host]

CANCELLED = '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": %s}'
NOT_IDS = ('{"requestId": {}}', '{"requestId": [1]}', '{"requestId": 1.5}', "{}", "[7]")
NO_JSON = ["{abc", "{", "[" * 100_000, '"' + "\\ud8"]
NONSENSE = [
    *(CANCELLED % params for params in NOT_IDS),
    *NO_JSON,
    '{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": [1], "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": ' + "9" * 5000 + ', "method": "ping"}',
]


def kill_before_it_answers(home: Home, host: Host, ask: Callable[[], int]) -> int:
    """Have the daemon die between a question and its answer."""
    pid = home.pid
    os.kill(pid, signal.SIGSTOP)
    asked = ask()
    host.wait_until_handed_on()
    os.kill(pid, signal.SIGKILL)
    return asked


def test_handshake_starts_the_daemon_and_loads_no_model(home, start):
    host = start(env={**home.environ, "MEMORY_SIDECAR_MODEL_DIR": "/nowhere"})
    assert host.open()["capabilities"]["tools"] is not None
    assert home.is_served


def test_killed_daemon_is_not_noticed_between_two_calls(home, host):
    before = home.pid
    home.signal(signal.SIGKILL)
    found = host.call("search_code", query="add_item", mode="keyword")
    assert found["structuredContent"]["hits"][0]["filename"] == "shop/cart.py"
    assert home.pid != before


def test_stopped_daemon_stays_stopped_until_something_is_asked(home, host):
    assert home.call("stop").returncode == 0
    host.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    assert host.ask("ping")["result"] == {}
    assert host.process.poll() is None
    assert not home.is_served
    assert "tools" in host.ask("tools/list")["result"]


def test_stop_does_not_wait_for_a_host_that_asks_nothing(home, host):
    stopped = home.call("stop", "--json")
    assert json.loads(stopped.stdout)["stopped"]
    assert not home.is_served
    assert host.process.poll() is None


@pytest.mark.parametrize("tool", ["search_code", "remove_memory"])
def test_call_that_is_lost_is_left_to_the_agent(home, host, tool):
    stored = host.call("store_memory", content="once was", category="codebase")
    path = stored["structuredContent"]["path"]
    arguments = {"path": path} if tool == "remove_memory" else {"query": "add_item"}
    asked = kill_before_it_answers(home, host, lambda: host.begin_call(tool, **arguments))
    assert "look before you call it again" in host.answer(asked)["error"]["message"]
    assert not host.call("get_memory", path=path)["isError"]


def test_call_into_a_daemon_that_has_gone_is_made_to_the_next(home, host):
    """However soon after its end: what nobody heard may be said again."""
    for _ in range(2):
        os.kill(home.pid, signal.SIGKILL)
        answer = host.answer(host.begin_call("status"))
        assert "result" in answer or "look before" in answer["error"]["message"]
        assert "tools" in host.ask("tools/list")["result"]


def test_handshake_that_is_lost_can_be_made_again(home, start):
    host = start()
    host.ask("ping")  # so that its conversation has begun
    asked = kill_before_it_answers(home, host, lambda: host.begin(**INITIALIZE))
    assert "error" in host.answer(asked)
    host.open()
    assert "tools" in host.ask("tools/list")["result"]


def test_newer_daemon_takes_over(home, host):
    assert home.call("stop").returncode == 0
    newer = home.run_python(OTHER_BUILD, str(home.data_dir), "99.0.0")
    while not home.is_served:
        assert newer.poll() is None
        time.sleep(0.01)
    assert "tools" in host.ask("tools/list")["result"]
    assert home.pid == newer.pid
    newer.terminate()
    newer.wait(timeout=60)
    assert "tools" in host.ask("tools/list")["result"]


def test_upgrade_under_a_server_costs_no_call(home):
    ours = shutil.copytree(PACKAGE, home.folder / "ours" / "memory_sidecar")
    upgraded = Home(home.folder, home.runtime_dir, PYTHONPATH=str(ours.parent))
    assert upgraded.sources() is not None
    host = Host(upgraded)
    host.open()
    for module in (ours / "client.py", ours / "daemon" / "start.py"):
        module.write_text(module.read_text().replace("start_daemon(", "begin_daemon("))
    assert upgraded.call("stop").returncode == 0
    assert "tools" in host.ask("tools/list")["result"]
    host.end()
    assert upgraded.call("stop").returncode == 0


def test_without_a_daemon_it_serves_in_its_own_process(home, start):
    host = start("--no-daemon")
    assert "project" in host.open()["instructions"]
    host.say_raw("hello?")
    assert host.hear()["error"]["code"] == -32700
    found = host.call("search_code", query="add_item", mode="keyword")
    assert found["structuredContent"]["hits"][0]["filename"] == "shop/cart.py"
    asked = host.begin_call("status")
    out, _ = host.end()
    assert json.loads(out)["id"] == asked
    assert not home.is_served


GOES_S = 2.0  # a server that lets no answer go has not gone by then


def test_a_slow_answer_is_waited_for_after_the_last_question(home, start):
    host = start()
    host.open()
    os.kill(home.pid, signal.SIGSTOP)
    asked = host.begin_call("status")
    with pytest.raises(subprocess.TimeoutExpired):  # this closes standard input
        host.process.communicate(timeout=GOES_S)
    os.kill(home.pid, signal.SIGCONT)
    out, _ = host.end()
    assert json.loads(out)["id"] == asked


def test_a_slow_answer_of_its_own_process_is_waited_for(home, start):
    host = start("--no-daemon")
    host.open()
    lock = WriterLock(DataDir(home.data_dir).agent("default").writer_lock, data_dir=home.data_dir)
    assert lock.acquire()
    asked = host.begin_call("store_memory", content="cents", category="pattern")
    with pytest.raises(subprocess.TimeoutExpired):  # this closes standard input
        host.process.communicate(timeout=GOES_S)
    lock.release()
    out, _ = host.end()
    assert json.loads(out.splitlines()[-1])["id"] == asked


@pytest.mark.parametrize("options", [(), ("--no-daemon",)], ids=["daemon", "here"])
def test_nothing_that_a_host_says_ends_the_server(start, options):
    host = start(*options)
    host.open()
    for line in NONSENSE:
        host.say_raw(line)
    host.say({"jsonrpc": "2.0", "id": "long", "method": "x" * (9 << 20)})
    heard = host.begin("ping")
    answers = []
    while (answer := host.hear()).get("id") != heard:
        answers.append(answer)
    assert answer["result"] == {}
    assert all("error" in each for each in answers)
    assert len(answers) >= len(NO_JSON) + 1


def test_bytes_that_are_no_text_are_answered(start):
    host = start()
    host.open()
    host.say_bytes(b'{"jsonrpc": "2.0", "id": 5, "method": "\xff\xfe"}\n')
    assert host.hear()["error"]["code"] == -32700
    assert host.ask("ping")["result"] == {}


def test_interrupt_ends_the_server_in_its_own_process(start):
    host = start("--no-daemon")
    assert host.ask("ping")["result"] == {}
    host.process.send_signal(signal.SIGINT)
    assert host.process.wait(timeout=60) == 130


def test_data_directory_that_no_daemon_can_use_is_served_here(home, start):
    (home.data_dir / "state").touch()  # a file where the folder of the daemon should be
    host = start()
    assert "tools" in host.open()["capabilities"]


def test_unreachable_daemon_is_said_in_one_line(home, start):
    host = start(env={**home.environ, "MEMORY_SIDECAR_NO_AUTOSTART": "1"})
    out, err = host.end()
    assert (host.process.returncode, out) == (5, "")
    assert "no daemon runs" in err
