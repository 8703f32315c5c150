"""A disk without room, or that may not be written: the daemon goes on, or is done without."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest

from tests.e2e.home import Home
from tests.waiting import eventually

FOUND = ("search", "--all", "total", "--mode", "keyword", "--json")


@pytest.fixture
def home(tmp_path: Path, runtime_dir: Path) -> Iterator[Home]:
    """A data directory on a small disk of its own, with an index."""
    disk = tmp_path / "home" / "data"
    disk.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs more rights")
    home = Home(tmp_path / "home", runtime_dir)
    assert home.call("index", home.add_source(), "--wait", "keyword").returncode == 0
    yield home
    home.end()
    subprocess.run(["umount", "--lazy", disk], check=True)


def ask(home: Home) -> None:
    done = home.call(*FOUND)
    assert done.returncode == 0, done.stderr
    assert [hit["filename"] for hit in json.loads(done.stdout)] == ["cart.py"]


def fill(home: Home) -> Path:
    """A file that takes all room, also what the daemon takes at the same time."""
    ballast = home.data_dir / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        file.writelines(repeat(bytes(1 << 16)))
    return ballast


def remount(home: Home, how: str) -> None:
    """The system refuses as long as the last threads of a process are being taken down."""
    command = ["mount", "-o", f"remount,{how}", str(home.data_dir)]
    eventually(lambda: not subprocess.run(command, capture_output=True, check=False).returncode)


def test_full_disk_costs_log_lines_and_nothing_else(home):
    ballast = fill(home)
    pid = home.pid
    for _ in range(3):
        ask(home)
        home.call("serve", "--log-level", "debug")
    assert home.pid == pid
    assert home.call("stop").returncode == 0
    assert home.sources() == ["shop"]
    assert home.is_served
    ballast.unlink()
    ask(home)
    home.call("serve", "--log-level", "info")
    assert home.call("stop").returncode == 0
    assert "stopped" in home.log.splitlines()[-1]  # it writes again, the same daemon


def test_disk_that_may_not_be_written_needs_no_daemon(home):
    assert home.call("stop").returncode == 0
    remount(home, "ro")
    assert home.sources() == ["shop"]
    stopped = home.call("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert home.call("serve").returncode == 1
    remount(home, "rw")
    ask(home)
    assert home.is_served
