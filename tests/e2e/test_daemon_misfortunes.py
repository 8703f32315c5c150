"""What befalls a daemon from outside: the next call works, whatever it was."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from memory_sidecar.core.process import MAX_DATA_BYTES
from memory_sidecar.daemon.address import read_announcement
from memory_sidecar.daemon.protocol import encode, greeting
from tests.e2e.home import PROGRAM, Home
from tests.waiting import eventually

CLOCK_AHEAD = """
import time
now = time.time
time.time = lambda: now() + 400 * 24 * 3600
from memory_sidecar.cli.daemon import main
main()
"""


def test_pid_that_belongs_to_somebody_else_now_is_left_alone(home):
    home.add_source()
    home.signal(signal.SIGKILL)
    announced = home.data_dir / "state" / "daemon.json"
    announced.write_text(json.dumps(json.loads(announced.read_text()) | {"pid": os.getpid()}))
    stopped = home.call("stop")
    assert (stopped.returncode, stopped.stdout) == (0, f"no daemon runs for {home.data_dir}\n")
    assert home.sources() == ["shop"]
    assert home.pid != os.getpid()


def test_clock_that_jumps_back_costs_nothing(home):
    home.data_dir.mkdir(exist_ok=True)
    ahead = home.run_python(CLOCK_AHEAD, str(home.data_dir))
    home.wait_until_served(ahead)
    root = home.add_source()
    assert home.call("index", root, "--wait", "keyword").returncode == 0
    store = ("--agent", "a", "--category", "pitfall")
    assert home.call("store", "Written in the future", *store).returncode == 0
    assert home.call("stop").returncode == 0
    assert ahead.wait(timeout=60) == 0
    (root / "cart.py").write_text("def okapi():\n    return 1\n")
    found = home.call(
        "search", "--all", "okapi", "--mode", "keyword", "--wait-fresh", 60_000, "--json"
    )
    assert [hit["filename"] for hit in json.loads(found.stdout)] == ["cart.py"]
    assert home.call("store", "Written now", *store).returncode == 0
    recent = json.loads(home.call("recent", "--agent", "a", "--json").stdout)
    assert len(recent) == 2


def test_data_directory_with_a_very_long_name_is_served(home, tmp_path):
    deep = tmp_path / ("long" * 40) / ("name" * 40)
    deep.mkdir(parents=True)
    other = Home(deep, home.runtime_dir)
    try:
        other.add_source()
        assert other.is_served
        assert other.sources() == ["shop"]
    finally:
        other.end()


def test_call_that_killed_three_daemons_is_run_by_its_client(home):
    root = home.add_source()
    home.call("index", root, "--wait", "keyword")
    for _ in range(3):
        suspect = home.start("search", "--all", "-", "--mode", "keyword", stdin=subprocess.PIPE)
        home.wait_for_requests(1)
        home.signal(signal.SIGKILL)
        _, err = suspect.communicate(timeout=60)
        assert (suspect.returncode, "try again" in err) == (5, True)
        assert home.sources() == ["shop"]
    done = home.call("search", "--all", "-", "--mode", "keyword", stdin="total\n")
    assert (done.returncode, "cart.py" in done.stdout) == (0, True)
    assert "killed the daemon before, not run here: search --all … --mode …" in home.log


def test_host_that_kills_its_client_with_all_descendants_spares_the_daemon(home):
    # As .NET does for CliWrap, and `tree-kill` of npm: both look for children of the process.
    client = home.start("mcp", stdin=subprocess.PIPE)
    home.wait_until_served(client)
    doomed = psutil.Process(client.pid).children(recursive=True)
    for process in [*doomed, client]:
        process.kill()
    client.communicate()
    served = home.pid
    assert home.sources() == []
    assert home.pid == served
    assert home.log.count("serves") == 1


def test_clients_that_do_not_read_their_answer_block_nobody(home):
    root = home.add_source()
    names = [f"{'n' * 200}{number}.py" for number in range(1500)]
    for name in names:
        (root / name).touch()  # an empty file is skipped, and `status` can list it: 350 KB
    home.call("index", root, "--wait", "keyword")
    request = {
        "type": "run",
        "arguments": ["status", "--skipped", "--json"],
        "cwd": str(home.folder),
        "environ": {"MEMORY_SIDECAR_DATA_DIR": str(home.data_dir)},
    }
    silent = [home.connect() for _ in range(20)]
    for client in silent:
        client.sendall(encode(greeting()) + encode(request))
    home.wait_for_requests(20)
    for _ in range(3):
        assert home.sources() == ["shop"]
        found = home.call("search", "--all", "total", "--mode", "keyword", "--json")
        assert [hit["filename"] for hit in json.loads(found.stdout)] == ["cart.py"]
    for client in silent:
        client.close()
    home.wait_for_requests(0)
    assert home.call("stop").returncode == 0
    assert "Traceback" not in home.log


def test_address_that_somebody_else_wrote_receives_nothing(home):
    """On Windows a port of this machine would be one; elsewhere it is a trap."""
    with socket.create_server(("127.0.0.1", 0)) as trap:
        (home.data_dir / "state").mkdir(parents=True)
        address = f"tcp:{trap.getsockname()[1]}:token"
        for content in ({"address": address, "pid": 1}, "{"):
            announced = home.data_dir / "state" / "daemon.json"
            announced.write_text(content if isinstance(content, str) else json.dumps(content))
            assert home.sources() == []
            assert home.call("stop").returncode == 0
        trap.setblocking(False)
        with pytest.raises(BlockingIOError):
            trap.accept()


@pytest.mark.parametrize("happening", ["removed", "restored"])
def test_an_address_that_is_lost_is_written_again(home, tmp_path, happening):
    home.add_source()
    announced, file = read_announcement(str(home.data_dir)), home.data_dir / "state" / "daemon.json"
    if happening == "removed":
        file.unlink()
    else:  # from a copy of the data directory
        file.write_text('{"address": "unix:/gone/0123456789abcdef.sock", "pid": 1}')
    eventually(lambda: read_announcement(str(home.data_dir)) == announced)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    assert Home(home.folder, tmp_path / "elsewhere").sources() == ["shop"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there memory has a limit")
def test_a_file_that_takes_all_memory_is_given_up_and_the_others_are_indexed(home):
    (home.folder / "src").mkdir()
    (home.folder / "src" / "Hostile.java").write_text(
        "class A {\n" + "+aasync =>~\n" * 5_500 + "}\n"
    )
    (home.folder / "src" / "Cart.java").write_text("class Cart { int total() { return 0; } }\n")
    endings = []
    for _ in range(5):
        home.sources()  # starts a daemon
        limit = resource.prlimit(home.pid, resource.RLIMIT_DATA)
        assert limit[0] == MAX_DATA_BYTES
        resource.prlimit(home.pid, resource.RLIMIT_DATA, (1_500 << 20, limit[1]))  # sooner reached
        done = home.call("index", "src", "--wait", "keyword", "--json")
        endings.append(done.returncode)
        if done.returncode == 0:
            break
    assert endings == [5, 5, 5, 0]
    skipped = json.loads(done.stdout)["files_skipped"]
    assert [(file["path"], file["reason"]) for file in skipped] == [
        ("Hostile.java", "crashed the indexer three times")
    ]
    found = home.call("search", "--all", "total", "--mode", "keyword", "--files")
    assert found.stdout.splitlines() == ["src/Cart.java"]


def test_a_daemon_outside_of_this_container_is_done_without(home):
    home.add_source()
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare")
    hidden = f'mount -t tmpfs none "{home.runtime_dir}" || exit 77; exec "$@"'
    inside = ("unshare", "-Urmpf", "sh", "-c", hidden, "sh", str(PROGRAM), "source", "list")
    done = subprocess.run(
        inside, env=home.environ, cwd=home.folder, capture_output=True, text=True, check=False
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("namespaces are not allowed")
    assert (done.returncode, done.stdout.split()[0]) == (0, "shop:"), done.stderr
    assert "runs out of reach" in done.stderr
    assert home.is_served
