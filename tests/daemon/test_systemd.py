"""The units, and the protocols between a service and systemd."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memory_sidecar.cli.service import UNITS, render_units
from memory_sidecar.daemon.systemd import is_service, notify, passed_socket, watchdog_period_s
from tests.conftest import PROGRAM

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="systemd is Linux's")


def test_units_pass_systemds_own_check(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    data_dir = tmp_path / 'a "data" dir, 100% ours'
    data_dir.mkdir()
    for unit, text in render_units(data_dir, {"XDG_RUNTIME_DIR": "/run/user/1000"}).items():
        (tmp_path / unit).write_text(text)
    done = subprocess.run(
        [analyze, "--user", "verify", *(tmp_path / unit for unit in UNITS)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "memory-sidecar" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_units_of_an_indexer_do_too(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    folder = Path(__file__).resolve().parents[2] / "systemd"
    for unit in folder.glob("memory-sidecar-indexer.*"):
        text = unit.read_text("utf-8").replace("%S/memory-sidecar/venv/bin", str(PROGRAM.parent))
        (tmp_path / unit.name).write_text(text)
    done = subprocess.run(
        [analyze, "verify", *tmp_path.iterdir()], capture_output=True, text=True, check=False
    )
    ours = [line for line in done.stderr.splitlines() if "memory-sidecar" in line]
    assert (done.returncode, ours) == (0, [])


def test_no_name_is_left_to_fill_in(tmp_path):
    for text in render_units(tmp_path, {}).values():
        assert "@" not in text
        assert str(tmp_path) in text


@pytest.mark.parametrize("variable", ["LISTEN_PID", "WATCHDOG_PID"])
def test_only_the_process_that_systemd_started_is_a_service(variable):
    assert is_service({variable: str(os.getpid())})
    assert not is_service({variable: str(os.getppid()), "NOTIFY_SOCKET": "/run/notify"})


def test_notification_arrives(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = str(Path(folder, "notify"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
            listening.bind(path)
            notify("READY=1", {"NOTIFY_SOCKET": path})
            assert listening.recv(100) == b"READY=1"
    notify("READY=1", {"NOTIFY_SOCKET": path})  # gone: nobody minds
    notify("READY=1", {})


def test_watchdog_is_fed_three_times_a_period():
    assert watchdog_period_s({"WATCHDOG_USEC": "60000000"}) == 20
    assert watchdog_period_s({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}) is None
    assert watchdog_period_s({}) is None


def test_socket_meant_for_another_process_is_left_alone():
    assert passed_socket({"LISTEN_PID": "1", "LISTEN_FDS": "1"}) is None
    assert passed_socket({}) is None
