from __future__ import annotations

import errno
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon import link, start
from memory_sidecar.daemon.lock import ProcessLock
from memory_sidecar.daemon.start import spawn_daemon, start_daemon

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets")


@pytest.fixture
def running(tmp_path):
    """A daemon of `tmp_path`, as another process sees it: it is this one."""
    (tmp_path / "state").mkdir()
    lock = ProcessLock(str(tmp_path / "state/daemon.lock"))
    assert lock.acquire()
    lock.sign()
    yield lock
    lock.release()


@pytest.fixture
def spawned(monkeypatch):
    """Counts the daemons that are started, of which none can start."""
    folders: list[str] = []

    def spawn(folder):
        folders.append(folder)
        raise PermissionError

    monkeypatch.setattr(start, "spawn_daemon", spawn)
    return folders


def announce(data_dir, address, *, pid):
    content = {"address": address, "pid": pid, "version": "1"}
    (data_dir / "state/daemon.json").write_text(json.dumps(content))


def start_for(data_dir):
    said: list[str] = []
    assert start_daemon(str(data_dir), os.environ, say=said.append, says_starting=True) is None
    return said


def test_where_no_command_works_no_daemon_is_started(tmp_path, spawned):
    folder = tmp_path / "bad\udcff"
    assert start_for(folder) == []
    assert not spawned
    assert not folder.exists()


def test_a_daemon_behind_another_file_system_is_done_without(tmp_path, running, spawned):
    announce(tmp_path, f"unix:{tmp_path}/elsewhere.sock", pid=os.getpid())
    (said,) = start_for(tmp_path)
    assert "runs out of reach" in said
    assert not spawned


@pytest.mark.parametrize("pid", [1, None])
def test_a_daemon_that_has_not_announced_itself_yet_is_waited_for(tmp_path, running, spawned, pid):
    announce(tmp_path, f"unix:{tmp_path}/before.sock", pid=pid)
    assert start_for(tmp_path) == []
    assert spawned


def test_a_daemon_that_ends_while_it_is_looked_for_is_waited_for(
    tmp_path, running, spawned, monkeypatch
):
    address = f"unix:{tmp_path}/leaving.sock"
    announce(tmp_path, address, pid=os.getpid())

    def connect(*arguments):
        (tmp_path / "state/daemon.json").unlink()
        return link.connect(*arguments)

    monkeypatch.setattr(start, "connect", connect)
    assert start_for(tmp_path) == []
    assert spawned


def test_the_place_of_a_daemon_that_has_ended_is_taken(tmp_path, running, spawned):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead.sock"))
    for name in ("dead", "gone"):
        announce(tmp_path, f"unix:{tmp_path}/{name}.sock", pid=os.getpid())
        running.release()
        assert start_for(tmp_path) == []
    assert len(spawned) == 2


def test_a_process_whose_installation_was_removed_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/bin/python"))
    with pytest.raises(DaemonUnreachable, match="venv/bin/python was removed or moved"):
        start_for(tmp_path)


@pytest.mark.parametrize("failing", ["os.pipe", "subprocess.Popen"])
def test_a_daemon_that_cannot_be_started_leaves_nothing_open(tmp_path, monkeypatch, failing):
    def fail(*_args, **_named):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(failing, fail)
    before = len([*Path("/dev/fd").iterdir()])
    with pytest.raises(OSError, match="Too many"):
        spawn_daemon(str(tmp_path))
    assert len([*Path("/dev/fd").iterdir()]) == before
