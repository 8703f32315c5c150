"""How a daemon comes to be, goes, and is replaced."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from memory_sidecar.cli.daemon import EXIT_HANDED_OVER
from memory_sidecar.daemon.address import socket_paths
from memory_sidecar.daemon.own_code import PACKAGE
from tests.e2e.home import Home
from tests.waiting import eventually

OTHER_BUILD = """
import sys
import memory_sidecar
memory_sidecar.__version__ = sys.argv[2]
from memory_sidecar.cli.daemon import main
main()
"""

NEWER_CLIENT = """
import sys
import memory_sidecar
memory_sidecar.__version__ = "99.0.0"
from memory_sidecar.client import main
sys.exit(main())
"""

NEXT_PROTOCOL = """
import sys
from memory_sidecar.daemon import protocol
protocol.PROTOCOL = 2
from memory_sidecar.cli.daemon import main
from tests.waiting import eventually
main()
"""

BY_SYSTEMD = """
import os, socket, sys
data_dir, path, state = sys.argv[1:]
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen(5)
os.dup2(listening.fileno(), 3)
os.set_inheritable(3, True)
if state != "in place":
    os.unlink(path)  # as a daemon that is started by hand does
if state == "left behind":
    socket.socket(socket.AF_UNIX).bind(path)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.executable, [sys.executable, "-m", "memory_sidecar.cli.daemon", data_dir])
"""

# A daemon that gives memory back as soon as it is unused for a moment, however little it is.
FORGETFUL = """
import os, sys
from memory_sidecar.agents import watching
from memory_sidecar.agents.services import Services
from memory_sidecar.cli import daemon
data_dir, started_by = sys.argv[1:]
watching.CHECK_IDLE_S = 0.5
unload = Services.unload
Services.unload = lambda services, unused_for_s: unload(services, unused_for_s=0.5)
daemon.WORN_BYTES = 0
if started_by == "a client":
    del sys.argv[2]
    daemon.main()
if started_by == "systemd":
    os.environ["WATCHDOG_PID"] = str(os.getpid())
from memory_sidecar.client import main
sys.argv[1:] = ["serve", "--data-dir", data_dir]
sys.exit(main())
"""


def serve_as(home: Home, code: str, version: str) -> subprocess.Popen[str]:
    """A daemon of another build, ready to answer."""
    home.data_dir.mkdir(exist_ok=True)
    daemon = home.run_python(code, str(home.data_dir), version)
    home.wait_until_served(daemon)
    return daemon


def test_first_call_starts_the_daemon_and_the_next_finds_it(home):
    home.add_source()
    assert home.is_served
    pid = home.pid
    assert home.sources() == ["shop"]
    assert home.pid == pid


def test_twelve_racing_clients_start_one_daemon_and_get_twelve_answers(home):
    clients = [home.start("source", "list", "--json") for _ in range(12)]
    answers = [client.communicate(timeout=60) for client in clients]
    assert [client.returncode for client in clients] == [0] * 12
    assert [out for out, _ in answers] == ["[]\n"] * 12
    assert all(line.startswith("note: waiting") for _, err in answers for line in err.splitlines())
    assert home.log.count("serves") == 1


def test_killed_daemon_is_replaced_by_the_next_call(home):
    home.add_source()
    home.signal(signal.SIGKILL)
    assert (home.data_dir / "state" / "daemon.json").exists()  # stale, like the socket
    assert home.sources() == ["shop"]


def test_two_data_directories_have_two_daemons(home, tmp_path):
    (tmp_path / "b").mkdir()
    other = Home(tmp_path / "b", home.runtime_dir)
    try:
        home.add_source("one")
        other.add_source("two")
        assert (home.sources(), other.sources()) == (["one"], ["two"])
        assert home.pid != other.pid
        listed = home.call("source", "list", "--json", "--data-dir", other.data_dir)
        assert [source["name"] for source in json.loads(listed.stdout)] == ["two"]
    finally:
        other.end()


def test_stop_ends_it_and_says_when_there_is_none(home):
    home.add_source()
    pid = home.pid
    stopped = home.call("stop", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)) == (0, {"stopped": True, "pid": pid})
    assert not home.is_served
    assert list((home.runtime_dir / "memory-sidecar").iterdir()) == []
    again = home.call("stop")
    assert (again.returncode, again.stdout) == (0, f"no daemon runs for {home.data_dir}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_stops_it_in_order(home, number):
    home.add_source()
    with home.connect():  # a client that says nothing, and that nothing is said to
        home.signal(number)
    assert f"stopping: {number.name}" in home.log
    assert not (home.data_dir / "state" / "daemon.json").exists()
    assert "Traceback" not in home.log


def test_stopping_waits_for_what_runs_and_refuses_what_is_new(home):
    root = home.add_source()
    assert home.call("index", root, "--wait", "keyword").returncode == 0
    running = home.start(
        "search", "--all", "-", "--mode", "keyword", "--json", stdin=subprocess.PIPE
    )
    home.wait_for_requests(1)
    stopping = home.start("stop")
    eventually(lambda: "asked to stop" in home.log)
    out, err = running.communicate("total", timeout=60)
    assert (running.returncode, err) == (0, "")
    assert [hit["filename"] for hit in json.loads(out)] == ["cart.py"]
    stopping.communicate(timeout=60)
    assert (stopping.returncode, home.is_served) == (0, False)


def test_log_survives_restarts(home):
    home.add_source()
    first = home.pid
    assert home.call("stop").returncode == 0
    home.sources()
    assert f"process {first}," in home.log
    assert f"process {home.pid}," in home.log


def test_older_daemon_is_replaced(home):
    old = serve_as(home, OTHER_BUILD, "0.0.1")
    assert home.sources() == []
    assert old.wait(timeout=60) == 0
    assert home.pid != old.pid


def test_daemon_whose_code_was_replaced_on_disk_is_replaced(home):
    ours = home.folder / "ours" / "memory_sidecar"
    shutil.copytree(PACKAGE, ours)
    pulled = Home(home.folder, home.runtime_dir, PYTHONPATH=str(ours.parent))
    assert pulled.sources() == []
    first = pulled.pid
    assert pulled.sources() == []
    assert pulled.pid == first
    with (ours / "core" / "clock.py").open("a") as module:
        module.write("# of the next version\n")
    deadline = time.monotonic() + 60
    while pulled.pid == first:
        assert time.monotonic() < deadline
        assert pulled.sources() == []


@pytest.mark.parametrize("is_unseen", [True, False])
def test_daemon_whose_code_is_replaced_on_disk_makes_room_for_the_next(home, is_unseen):
    ours = home.folder / "ours" / "memory_sidecar"
    shutil.copytree(PACKAGE, ours)
    pulled = Home(home.folder, home.runtime_dir, PYTHONPATH=str(ours.parent))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    serving = None if is_unseen else pulled.start("serve", **quiet)
    if serving is not None:
        pulled.wait_until_served(serving)
    assert pulled.sources() == []
    first = pulled.pid
    (ours / "core" / "new.py").write_text("# of the next version\n")
    eventually(lambda: not _lives(first) if serving is None else serving.poll() is not None)
    if serving is None:
        eventually((pulled.data_dir / "state" / "daemon.json").exists)
        assert pulled.pid != first
        assert "its code was replaced" in pulled.log
    else:
        assert serving.wait() == EXIT_HANDED_OVER  # systemd starts it again
        assert not pulled.is_served


@pytest.mark.parametrize("started_by", ["a client", "systemd"])
def test_daemon_that_has_used_the_model_makes_room_for_a_fresh_process(home, started_by):
    home.add_source()
    home.signal(signal.SIGTERM)
    served = serve_as(home, FORGETFUL, started_by)
    assert home.call("embed", "text", "--json").returncode == 0
    assert served.wait(timeout=60) == (EXIT_HANDED_OVER if started_by == "systemd" else 0)
    if started_by == "a client":
        eventually((home.data_dir / "state" / "daemon.json").exists)
        assert home.pid != served.pid
        (home.folder / "shop" / "cart.py").write_text("def basket(): ...\n")
        found = home.call("search", "basket", "--all", "--wait-fresh", 9000, "--json")
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout)[0]["symbols"] == ["basket"]


def test_a_process_that_lives_on_after_an_older_version_was_installed_takes_that_daemon(home):
    home.add_source()
    pid = home.pid
    client = home.run_python(NEWER_CLIENT, "source", "list")
    assert client.wait(timeout=60) == 0
    assert home.pid == pid


def test_newer_daemon_serves_an_older_client(home):
    new = serve_as(home, OTHER_BUILD, "99.0.0")
    assert home.sources() == []
    assert home.pid == new.pid
    assert new.poll() is None
    home.signal(signal.SIGTERM)
    assert new.wait(timeout=60) == 0


def test_daemon_of_another_protocol_is_named(home):
    daemon = serve_as(home, NEXT_PROTOCOL, "")
    done = home.call("source", "list", "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, error["code"]) == (5, "", "daemon_unreachable")
    assert "upgrade" in error["hint"]
    daemon.kill()
    daemon.wait(timeout=60)


def test_daemon_ends_when_its_data_directory_is_deleted(home):
    home.add_source()
    pid = home.pid
    (home.data_dir / "state" / "daemon.lock").unlink()
    eventually(lambda: not _lives(pid))


def test_a_daemon_whose_data_directory_is_moved_makes_nothing_in_its_old_place(home):
    root = home.add_source()
    assert home.call("store", "--agent", "a", "--category", "pattern", "text").returncode == 0
    pid = home.pid
    home.data_dir.rename(home.folder / "elsewhere")
    deadline = time.monotonic() + 60
    while _lives(pid):
        (root / "cart.py").write_text(f"at = {time.monotonic()}\n")  # gives it something to do
        assert not home.data_dir.exists()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not home.data_dir.exists()


def test_a_deleted_data_directory_is_made_anew_by_the_next_call(home):
    root = home.add_source()
    pid = home.pid
    home.data_dir.rename(home.folder / "gone")  # at once: the daemon goes on writing
    done = home.call("index", root, "--wait", "keyword")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files_total"] == 1
    assert home.pid != pid


def test_without_autostart_there_is_exit_5_and_a_hint(home):
    done = home.call("source", "list", "--json", MEMORY_SIDECAR_NO_AUTOSTART="1")
    assert (done.returncode, done.stdout) == (5, "")
    assert json.loads(done.stderr)["error"]["code"] == "daemon_unreachable"
    assert not home.is_served


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--all", "-h"], ["--version"], []])
def test_help_starts_no_daemon(home, arguments):
    home.call(*arguments)
    assert not home.is_served


def test_no_daemon_runs_the_same_command_here(home):
    root = home.add_source()
    assert home.call("stop").returncode == 0
    for arguments, environment in (
        (["source", "list", "--no-daemon"], {}),
        (["source", "list"], {"MEMORY_SIDECAR_NO_DAEMON": "1"}),
    ):
        done = home.call(*arguments, **environment)
        assert (done.returncode, done.stdout) == (0, f"shop: {root}\n")
    assert not home.is_served


@pytest.mark.parametrize("option", ["--data-dir {}", "--data-dir={}"])
def test_data_directory_may_be_named_before_the_command(home, option):
    root = home.add_source()
    before = [*option.format(home.data_dir).split(), "source", "list"]
    for arguments in (before, [*before, "--no-daemon"]):
        done = home.call(*arguments, MEMORY_SIDECAR_DATA_DIR="/nowhere")
        assert (done.returncode, done.stdout) == (0, f"shop: {root}\n"), done.stderr


@pytest.mark.parametrize("arguments", ["search x", "status", "list", "get x", "source list"])
def test_mistyped_data_directory_is_not_made(home, arguments):
    mistyped = home.folder / "typo"
    for more in ([], ["--no-daemon"]):
        done = home.call(*arguments.split(), "--data-dir", mistyped, *more)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"memory-sidecar: there is no data directory {mistyped}")
        assert done.stderr.count("\n") == 1
        assert not mistyped.exists()


@pytest.mark.parametrize(
    ("arguments", "status", "out"),
    [
        ("search x --all --json", 3, ""),
        ("status", 3, ""),
        ("query x --agent a --json", 0, "[]\n"),
        ("session search x --json", 0, "[]\n"),
        ("source list --json", 0, "[]\n"),
    ],
)
def test_reading_makes_no_data_directory_that_the_environment_names(home, arguments, status, out):
    home.data_dir.rmdir()
    done = home.call(*arguments.split())
    assert (done.returncode, done.stdout) == (status, out)
    assert f"there is no data directory {home.data_dir}" in done.stderr.splitlines()[-1]
    assert not home.data_dir.exists()
    assert not home.is_served


def test_what_needs_no_data_says_nothing_of_the_directory(home):
    home.data_dir.rmdir()
    done = home.call("embed", "text")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_model_is_loaded_once_for_who_embeds_before_there_is_data(home):
    home.data_dir.rmdir()
    assert home.call("embed", "text").returncode == 0
    assert home.is_served
    done = home.call("embed", "--data-dir", home.folder / "typo", "text")
    assert (done.returncode, (home.folder / "typo").exists()) == (3, False)


def test_new_data_directory_is_said(home):
    new = Home(home.folder / "new", home.runtime_dir)
    try:
        done = home.call("store", "x", "--category", "pattern", "--data-dir", new.data_dir)
        assert done.returncode == 0
        assert f"note: {new.data_dir} is a new data directory\n" in done.stderr
    finally:
        new.end()


@pytest.mark.parametrize("before", ["--no-daemon --data-dir {}", "--data-dir={} --no-daemon"])
def test_new_data_directory_may_be_named_before_the_command(home, before):
    new = home.folder / "new"
    done = home.call(*before.format(new).split(), *"store x --category pattern".split())
    assert (done.returncode, done.stderr) == (0, f"note: {new} is a new data directory\n")
    assert list(new.rglob("*.md"))


def test_failed_start_shows_the_end_of_the_log(home):
    package = home.folder / "broken" / "asyncio"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('no loop today')")
    done = home.call("source", "list", PYTHONPATH=str(package.parent))
    assert done.returncode == 5
    assert "no loop today" in done.stderr


def test_data_directory_that_cannot_be_written_is_used_without_a_daemon(home):
    state = home.data_dir / "state"
    state.write_text("a file where the folder of the daemon should be")
    done = home.call("source", "list")
    assert done.returncode in (0, 1)
    assert state.is_file()


def test_log_level_can_be_changed_while_it_runs(home):
    home.add_source()
    assert home.call("serve", "--log-level", "error").returncode == 0
    with home.connect() as garbage:
        garbage.sendall(b"{}\n")
        assert garbage.recv(10) == b""
    assert "refused" not in home.log


def test_second_serve_says_who_serves(home):
    home.add_source()
    done = home.call("serve")
    assert done.returncode == 4
    assert str(home.pid) in done.stderr


def test_serve_replaces_on_demand_and_logs_to_standard_error(home):
    home.add_source()
    old = home.pid
    serving = home.start("serve", "--replace")
    assert serving.stderr is not None
    assert f"process {serving.pid}" in serving.stderr.readline()
    assert home.sources() == ["shop"]
    assert home.pid == serving.pid != old
    serving.send_signal(signal.SIGTERM)
    assert serving.wait(timeout=60) == 0
    serving.communicate()


@pytest.mark.parametrize("state", ["in place", "removed", "left behind"])
def test_a_service_is_reached_even_if_the_socket_of_systemd_is_not(home, state):
    home.data_dir.mkdir(exist_ok=True)
    path = next(socket_paths(str(home.data_dir), home.environ))
    Path(path).parent.mkdir(mode=0o700)
    service = home.run_python(BY_SYSTEMD, str(home.data_dir), path, state)
    home.wait_until_served(service)
    assert home.sources() == []
    assert home.pid == service.pid
    assert home.call("stop").returncode == 0
    assert service.wait(timeout=60) == 0
    assert Path(path).exists() == (state == "in place")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


def test_a_call_with_another_root_than_the_one_kept_up_to_date_says_so(home):
    roots = [home.folder / name for name in ("one", "two")]
    for root in roots:
        assert home.call("context", "init", root).returncode == 0
    config = home.folder / "config" / "memory-sidecar" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'context_regen = true\ncontext_root = "{roots[0]}"\n')
    assert home.call("stop").returncode == 0
    told = "the daemon was started with another context_root"
    assert told not in home.call("source", "list").stderr
    assert told in home.call("source", "list", MEMORY_SIDECAR_CONTEXT=str(roots[1])).stderr
    config.write_text(f'context_regen = true\ncontext_root = "{roots[1]}"\n')
    assert told in home.call("source", "list").stderr


def test_a_root_that_is_made_after_the_daemon_was_started_is_kept_up_to_date(home):
    root = home.folder / "late"
    config = home.folder / "config" / "memory-sidecar" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'context_regen = true\ncontext_root = "{root}"\n')
    assert home.call("embed", "start").returncode == 0
    assert home.call("context", "init", root, "--project", "p").returncode == 0
    assert home.call("context", "new", "experiment", "Pool sizes").returncode == 0
    index = root / "projects" / "p" / "experiments" / "index.md"
    eventually(lambda: "Pool sizes" in index.read_text())
