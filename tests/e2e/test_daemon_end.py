"""A daemon ends when it is asked to, and nobody is turned away while it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon import start
from memory_sidecar.daemon.link import find
from memory_sidecar.daemon.lock import ProcessLock
from tests.e2e.home import Home
from tests.waiting import eventually

HANGS = """
import threading
from memory_sidecar.cli import daemon
from memory_sidecar.daemon import host
host.ENDS_WITHIN_S = 0.2
daemon.Commands.close = lambda _: threading.Event().wait()
daemon.main()
"""

LINGERS = """
import logging, time
from memory_sidecar.cli import daemon
logging.shutdown = lambda: time.sleep(60)  # all is released before
daemon.main()
"""

OLDER_BUILD = "import memory_sidecar\nmemory_sidecar.__version__ = '0.0.1'\n"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "END_TIMEOUT_S", 0.5)
    monkeypatch.setattr(start, "_KILL_S", 30.0)


@pytest.mark.usefixtures("impatient")
def test_suspended_daemon_is_killed(home):
    home.add_source()
    pid = home.pid
    os.kill(pid, signal.SIGSTOP)
    assert start.end_daemon(str(home.data_dir), home.environ) == start.Ended(pid, was_killed=True)
    assert not home.is_served
    assert home.sources() == ["shop"]


@pytest.mark.usefixtures("impatient")
def test_process_that_only_has_the_number_of_a_daemon_is_left_alone(home):
    (home.data_dir / "state").mkdir(parents=True)
    bystander = subprocess.Popen(["sleep", "60"])
    lock = home.data_dir / "state" / "daemon.lock"
    lock.write_text(f" {bystander.pid} 1000000000.0\n")
    assert start.end_daemon(str(home.data_dir), home.environ) is None
    with home.locked():  # by a process that did not sign
        lock.write_text(f" {bystander.pid} 1000000000.0\n")
        with pytest.raises(DaemonUnreachable, match="still runs"):
            start.end_daemon(str(home.data_dir), home.environ)
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


def test_daemon_leaves_behind_what_does_not_end(home):
    home.data_dir.mkdir(exist_ok=True)
    daemon = home.run_python(HANGS, str(home.data_dir))
    home.wait_until_served(daemon)
    home.add_source()
    stopped = home.call("stop", "--json")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert json.loads(stopped.stdout) == {"stopped": True, "pid": daemon.pid}
    assert daemon.wait(timeout=60) == 0
    assert "left behind" in home.log
    assert list((home.runtime_dir / "memory-sidecar").iterdir()) == []
    assert home.sources() == ["shop"]


def test_being_asked_twice_does_not_hurry_it(home):
    root = home.add_source()
    assert home.call("index", root, "--wait", "keyword").returncode == 0
    running = home.start(
        "search", "--all", "-", "--mode", "keyword", "--json", stdin=subprocess.PIPE
    )
    home.wait_for_requests(1)
    stopping = [home.start("stop", "--json") for _ in range(3)]
    eventually(lambda: "asked to stop" in home.log)
    out, err = running.communicate("total", timeout=60)
    assert (running.returncode, err) == (0, "")
    assert [hit["filename"] for hit in json.loads(out)] == ["cart.py"]
    for each in stopping:
        _, err = each.communicate(timeout=60)
        assert (each.returncode, err) == (0, "")


@pytest.mark.parametrize("running", ["nothing", "the older one"])
def test_clients_of_two_versions_at_once_are_all_answered(home, tmp_path, running):
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "sitecustomize.py").write_text(OLDER_BUILD)
    older = Home(home.folder, home.runtime_dir, PYTHONPATH=str(tmp_path / "older"))
    if running == "the older one":
        assert older.sources() == []
    clients = [each.start("source", "list", "--json") for _ in range(15) for each in (older, home)]
    answers = [client.communicate(timeout=120) for client in clients]
    assert [out for out, _ in answers] == ["[]\n"] * 30, answers
    assert [client.returncode for client in clients] == [0] * 30
    assert home.sources() == []
    assert "version 0.0.1" not in home.log.splitlines()[-1]


def test_who_starts_an_older_daemon_meets_it_before_a_newer_client_ends_it(home, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(OLDER_BUILD)
    older = Home(home.folder, home.runtime_dir, PYTHONPATH=str(tmp_path))
    older.sources()
    started, turn = home.pid, ProcessLock(str(home.data_dir / "state" / "starting.lock"))
    assert turn.acquire()  # as the client that started it has until it is connected
    newer = home.start("source", "list", "--json")
    assert newer.stderr is not None
    assert "waiting for another daemon" in newer.stderr.readline()
    assert (home.is_served, home.pid) == (True, started)
    turn.release()
    assert newer.communicate(timeout=60) == ("[]\n", "")
    assert home.pid != started


@pytest.mark.parametrize("running", ["nothing", "an older daemon"])
def test_the_turn_of_a_suspended_client_passes_on(home, tmp_path, monkeypatch, running):
    (tmp_path / "sitecustomize.py").write_text(OLDER_BUILD)
    older = Home(home.folder, home.runtime_dir, PYTHONPATH=str(tmp_path))
    older.sources()
    if running == "nothing":
        assert home.call("stop").returncode == 0
    turn = ProcessLock(str(home.data_dir / "state" / "starting.lock"))
    assert turn.acquire()
    os.utime(turn.path, (0, 0))  # as after a while in which the client that has it does nothing
    monkeypatch.setattr(start, "TURN_S", 0.2)
    data_dir, environ = str(home.data_dir), home.environ
    link = start.start_daemon(data_dir, environ, say=lambda _: None, says_starting=False)
    assert link is not None
    assert not link.is_outdated
    link.close()
    turn.release()


def test_a_client_ends_the_older_daemon_that_it_met_and_no_other(home, tmp_path):
    home.sources()
    met = find(str(home.data_dir), home.environ)
    assert met is not None
    home.signal(signal.SIGKILL)  # another client was faster,
    home.sources()  # and has the daemon of this version there
    running = home.pid
    assert start.end_daemon(str(home.data_dir), home.environ, which=met) == start.Ended(met.pid)
    assert (home.is_served, home.pid) == (True, running)


def test_stop_ends_no_daemon_that_was_started_while_the_process_of_another_ended(home):
    home.data_dir.mkdir(exist_ok=True)
    ending = home.run_python(LINGERS, str(home.data_dir))
    home.wait_until_served(ending)
    stopping = home.start("stop", "--json")
    eventually(lambda: "INFO memory_sidecar.daemon.host: stopped" in home.log)
    assert home.sources() == []
    started = home.pid
    out, err = stopping.communicate(timeout=60)
    assert (json.loads(out), err) == ({"stopped": True, "pid": ending.pid}, "")
    assert (home.is_served, home.pid) == (True, started)
    ending.kill()
    ending.wait()


def test_command_that_waits_for_another_daemon_says_so(home):
    (home.data_dir / "state").mkdir(parents=True)
    with home.locked():
        waiting = home.start("source", "list", "--json")
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == (
            f"note: waiting for another daemon of {home.data_dir} to start or to stop\n"
        )
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out, err) == (0, "[]\n", "")


EAGER_TO_END = """
from memory_sidecar.cli import daemon
from memory_sidecar.daemon import host
host.IN_PLACE_CHECK_S = 0.05
may_end = daemon.Commands.may_end
daemon.Commands.may_end = lambda self, *, idle_s: may_end(self, idle_s=idle_s * 600)
daemon.main()
"""


def test_daemon_that_keeps_nothing_ends_by_itself(home):
    home.data_dir.mkdir(exist_ok=True)
    daemon = home.run_python(EAGER_TO_END, str(home.data_dir))
    assert daemon.wait(timeout=60) == 0
    assert "nothing to keep" in home.log


def test_daemon_that_keeps_anything_stays(home):
    home.add_source()
    assert home.call("stop").returncode == 0
    daemon = home.run_python(EAGER_TO_END, str(home.data_dir))
    home.wait_until_served(daemon)
    assert home.call("source", "list").returncode == 0
    with pytest.raises(subprocess.TimeoutExpired):
        daemon.wait(timeout=2)
    daemon.kill()
    daemon.wait()
