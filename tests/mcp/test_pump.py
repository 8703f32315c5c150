"""What a host notices of daemons that come and go: next to nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

from tests.e2e.home import Home
from tests.e2e.test_daemon_life import OTHER_BUILD
from tests.mcp.host import INITIALIZE, INITIALIZED, Host

Start = Callable[..., Host]

DYING_DAEMON = """
import os, sys
if "memory_sidecar.cli.daemon" in sys.orig_argv:
    from memory_sidecar.mcp.tool import Tool
    Tool.read = lambda *_: os._exit(9)
"""


def kill_before_it_answers(home: Home, ask: Callable[[], int]) -> int:
    """Have the daemon die between a question and its answer."""
    pid = home.pid
    os.kill(pid, signal.SIGSTOP)
    asked = ask()
    os.kill(pid, signal.SIGKILL)
    return asked


def test_handshake_starts_the_daemon_and_loads_no_model(home: Home, start: Start) -> None:
    host = start(env={**home.environ, "MEMORY_SIDECAR_MODEL_DIR": "/nowhere"})
    assert host.open()["capabilities"]["tools"] is not None
    assert home.is_served


def test_killed_daemon_is_not_noticed_between_two_calls(home: Home, host: Host) -> None:
    before = home.pid
    home.signal(signal.SIGKILL)
    found = host.call("search_code", query="add_item", mode="keyword")
    assert found["structuredContent"]["hits"][0]["filename"] == "shop/cart.py"
    assert home.pid != before


def test_stopped_daemon_stays_stopped_until_something_is_asked(home: Home, host: Host) -> None:
    assert home.call("stop").returncode == 0
    host.say({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    assert host.process.poll() is None
    assert "tools" in host.ask("tools/list")["result"]


def test_stop_does_not_wait_for_a_host_that_asks_nothing(home: Home, host: Host) -> None:
    stopped = home.call("stop", "--json")
    assert json.loads(stopped.stdout)["stopped"]
    assert not home.is_served
    assert host.process.poll() is None


def test_reading_call_that_is_lost_is_made_again(home: Home, host: Host) -> None:
    asked = kill_before_it_answers(
        home, lambda: host.begin_call("search_code", query="add_item", mode="keyword")
    )
    assert "cart.py" in host.answer(asked)["result"]["content"][0]["text"]


def test_changing_call_that_is_lost_is_left_to_the_agent(home: Home, host: Host) -> None:
    stored = host.call("store_memory", content="once was", category="codebase")
    path = stored["structuredContent"]["path"]
    asked = kill_before_it_answers(home, lambda: host.begin_call("remove_memory", path=path))
    assert "look before you call it again" in host.answer(asked)["error"]["message"]
    assert not host.call("get_memory", path=path)["isError"]


def test_handshake_that_is_lost_is_made_again(home: Home, start: Start) -> None:
    host = start()
    host.open()
    home.signal(signal.SIGKILL)
    second = start()

    def shake() -> int:
        return second.begin(**INITIALIZE)

    while not home.is_served:
        time.sleep(0.01)
    second.ask("ping")  # so that its conversation has begun
    asked = kill_before_it_answers(home, shake)
    assert second.answer(asked)["result"]["serverInfo"]["name"] == "memory-sidecar"
    second.say(INITIALIZED)
    assert "tools" in second.ask("tools/list")["result"]


def test_call_that_kills_daemons_is_not_made_a_third_time(home: Home, start: Start) -> None:
    patch = home.folder / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(DYING_DAEMON)
    host = start(env={**home.environ, "PYTHONPATH": str(patch)})
    host.open()
    error = host.answer(host.begin_call("status"))["error"]
    assert "ended twice" in error["message"]
    assert "tools" in host.ask("tools/list")["result"]
    assert home.log.count("serves") == 3  # asked, asked again, and now


def test_newer_daemon_takes_over(home: Home, host: Host) -> None:
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


def test_without_a_daemon_it_serves_in_its_own_process(home: Home, start: Start) -> None:
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


def test_interrupt_ends_the_server_in_its_own_process(start: Start) -> None:
    host = start("--no-daemon")
    assert host.ask("ping")["result"] == {}
    host.process.send_signal(signal.SIGINT)
    assert host.process.wait(timeout=60) == 130


def test_data_directory_that_no_daemon_can_use_is_served_here(home: Home, start: Start) -> None:
    (home.folder / "a file").touch()
    host = start("--data-dir", home.folder / "a file")
    assert "tools" in host.open()["capabilities"]


def test_unreachable_daemon_is_said_in_one_line(home: Home, start: Start) -> None:
    host = start(env={**home.environ, "MEMORY_SIDECAR_NO_AUTOSTART": "1"})
    out, err = host.end()
    assert (host.process.returncode, out) == (5, "")
    assert "no daemon runs" in err
