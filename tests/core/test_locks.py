"""Who holds the writer's lock, in this process and in others."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memory_sidecar.agents.checks import check_data_dir
from memory_sidecar.core.atomic import TEMPORARY_PREFIX
from memory_sidecar.core.errors import CannotWrite
from memory_sidecar.core.locks import WriterLock, hold_lock
from memory_sidecar.core.opening import Tree

HOLD = """
import sys
from pathlib import Path
from memory_sidecar.core.locks import WriterLock
lock = WriterLock(Path(sys.argv[1]), data_dir=Path("/their/data"))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "writer.lock"


def test_one_holds_it_and_others_are_told_who(path):
    ours, theirs = (WriterLock(path, data_dir=Path(f"/data{n}")) for n in range(2))
    assert ours.acquire()
    assert not theirs.acquire()
    assert theirs.holder() == f"process {os.getpid()}, data directory /data0"
    ours.release()
    assert theirs.acquire()
    theirs.release()
    assert ours.holder() == "another process"


def test_a_thread_that_comes_while_another_gives_it_back_holds_it(path, monkeypatch):
    lock = WriterLock(path, data_dir=Path("/ours"))
    came: list[bool] = []
    second = threading.Thread(target=lambda: came.append(lock.acquire()))
    give_back = lock._file._release

    def given_back() -> None:
        monkeypatch.undo()
        second.start()
        second.join(0.2)  # it ends at once, or waits for this thread
        give_back()

    assert lock.acquire()
    monkeypatch.setattr(lock._file, "_release", given_back)
    lock.release()
    second.join()
    assert came == [True]
    assert not WriterLock(path, data_dir=Path("/theirs")).acquire()
    lock.release()


def test_a_killed_holder_holds_it_no_longer(path):
    lock = WriterLock(path, data_dir=Path("/ours"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"True\n"
        assert not lock.acquire()
        assert lock.holder() == f"process {holder.pid}, data directory /their/data"
        holder.kill()
        holder.wait()
    assert lock.acquire()
    lock.release()


def test_what_a_killed_process_left_beside_it_is_swept_once_it_is_old(path):
    for name in ("old", "new"):
        for folder in (path.parent, path.parent / "project"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{TEMPORARY_PREFIX}{name}").touch()
    for old in path.parent.rglob("*old"):
        os.utime(old, (1, 1))
    lock = WriterLock(path, data_dir=Path("/data"))
    assert lock.acquire()
    lock.release()
    left = sorted(file.name for file in path.parent.rglob(f"{TEMPORARY_PREFIX}*"))
    assert left == [f"{TEMPORARY_PREFIX}new"] * 2


def test_a_link_in_its_place_is_not_written_through(path, tmp_path):
    other = tmp_path / "other"
    other.write_text("precious")
    path.parent.mkdir()
    path.symlink_to(other)
    lock = WriterLock(path, data_dir=tmp_path)
    with pytest.raises(Exception, match=r"writer\.lock"):
        lock.acquire()
    assert other.read_text() == "precious"


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named_and_waited_for_by_none(tmp_path, monkeypatch, number):
    def no_locks(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", no_locks)
    file = tmp_path / "one.lock"
    with pytest.raises(CannotWrite, match="without locks") as refused:
        WriterLock(file, data_dir=tmp_path).acquire()
    assert "--data-dir" in refused.value.hint
    with (
        pytest.raises(CannotWrite, match="without locks"),
        hold_lock(Tree(tmp_path, is_own=True), file, what="it is"),
    ):
        raise AssertionError


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
@pytest.mark.parametrize("kind", ["flock", "lockf"])  # ours, and those of SQLite
def test_the_doctor_names_a_file_system_without_locks(tmp_path, monkeypatch, kind):
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(f"fcntl.{kind}", no_locks)
    check = check_data_dir(tmp_path)
    assert not check.ok
    assert "without locks" in check.text


@pytest.mark.skipif(sys.platform != "linux", reason="locks of an open file")
def test_the_doctor_is_content_where_one_kind_of_lock_excludes_the_other(tmp_path, monkeypatch):
    import fcntl

    def lock_open_file(file: int, how: int) -> None:  # on macOS and NFS, flock() is like this
        kind = fcntl.F_UNLCK if how & fcntl.LOCK_UN else fcntl.F_WRLCK
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0))

    monkeypatch.setattr("fcntl.flock", lock_open_file)
    check = check_data_dir(tmp_path)
    assert check.ok, check.text
