from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from memory_sidecar.agents import status
from memory_sidecar.agents.status import daemon_here
from memory_sidecar.core.times import system_clock
from memory_sidecar.daemon.lock import Holder, ProcessLock, find_holder, is_locked

SIGN = """
import sys
from memory_sidecar.daemon.lock import ProcessLock
lock = ProcessLock(sys.argv[1])
assert lock.acquire()
lock.sign()
print(flush=True)
input()
"""

HOLD = """
import subprocess, sys
from memory_sidecar.daemon.lock import ProcessLock
lock = ProcessLock(sys.argv[1])
assert lock.acquire()
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=0, close_fds=False)
print(child.pid, flush=True)
input()
"""


def test_one_holder_at_a_time(tmp_path):
    one, other = ProcessLock(str(tmp_path / "lock")), ProcessLock(str(tmp_path / "lock"))
    assert one.acquire()
    assert not other.acquire()
    one.release()
    assert other.acquire()
    other.release()


def test_lock_of_a_killed_process_is_free_although_its_child_lives(tmp_path):
    path = str(tmp_path / "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline()
    lock = ProcessLock(path)
    assert not lock.acquire()
    holder.kill()
    holder.wait()
    assert lock.acquire()
    lock.release()
    holder.communicate()


def test_a_disk_that_fails_for_a_moment_moves_no_lock(tmp_path, monkeypatch):
    lock = ProcessLock(str(tmp_path / "lock"))
    assert lock.acquire()

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "stat", fail)
    assert lock.is_in_place
    monkeypatch.undo()
    lock.release()


def test_lock_on_a_deleted_file_is_not_in_place(tmp_path):
    path = tmp_path / "lock"
    lock = ProcessLock(str(path))
    assert not lock.is_in_place
    assert lock.acquire()
    assert lock.is_in_place
    path.unlink()
    assert not lock.is_in_place
    path.touch()
    assert not lock.is_in_place
    lock.release()


def test_holder_is_known_by_its_number_and_its_start(tmp_path):
    path = str(tmp_path / "lock")
    process = subprocess.Popen(
        [sys.executable, "-c", SIGN, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    signed = find_holder(path)
    assert signed is not None
    assert signed.pid == process.pid
    namesake = Holder(process.pid, signed.started_at_s - 60)  # had that number before
    assert not namesake.is_alive
    assert namesake.kill(wait_s=1)
    assert process.poll() is None
    assert signed.kill(wait_s=60)
    assert find_holder(path) is None
    process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the start is what was noted")
@pytest.mark.parametrize("step_s", [-86_400, 3_600])
def test_a_holder_is_known_after_the_clock_was_set(tmp_path, monkeypatch, step_s):
    path = tmp_path / "lock"
    lock = ProcessLock(str(path))
    assert lock.acquire()
    lock.sign()
    before = daemon_here("")
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")
    known = Path("/proc/stat").read_text()
    begun = re.sub(r"(?<=btime )\d+", lambda at: str(int(at[0]) + step_s), known)
    (proc / "stat").write_text(begun)
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(proc))
    monkeypatch.setattr(status, "system_clock", lambda: system_clock() + 1000 * step_s)
    found = find_holder(str(path))
    assert found is not None
    assert found.pid == os.getpid()
    assert daemon_here("").uptime_seconds == pytest.approx(before.uptime_seconds, abs=60)
    lock.release()


def test_a_daemon_that_began_after_the_clock_was_set_back_is_up_for_no_time(monkeypatch):
    monkeypatch.setattr(status, "system_clock", lambda: 0)
    assert daemon_here("").uptime_seconds == 0


@pytest.mark.parametrize(
    "content", ["", " ", " 1", " 1 2 3", " x y", " 99999999999999999999 1", "[" * 200]
)
def test_lock_that_nobody_signed_has_no_holder(tmp_path, content):
    (tmp_path / "lock").write_text(content)
    assert find_holder(str(tmp_path / "lock")) is None


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
def test_lock_that_is_no_file_of_ours_is_refused(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (tmp_path / "link").symlink_to(precious)
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(OSError, match=name):
            ProcessLock(str(tmp_path / name)).acquire()
        assert find_holder(str(tmp_path / name)) is None
    assert precious.read_text() == "kept"


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_a_file_system_without_locks_is_told_from_a_lock_that_is_held(tmp_path, monkeypatch):
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    lock = ProcessLock(str(tmp_path / "lock"))
    monkeypatch.setattr("fcntl.flock", no_locks)
    with pytest.raises(OSError, match="No locks"):
        lock.acquire()
    assert not is_locked(str(tmp_path / "lock"))
