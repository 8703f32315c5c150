from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memory_sidecar.daemon.lock import FileLock

HOLD = """
import subprocess, sys
from memory_sidecar.daemon.lock import FileLock
lock = FileLock(sys.argv[1])
assert lock.acquire()
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=0, close_fds=False)
print(child.pid, flush=True)
input()
"""


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    one, other = FileLock(str(tmp_path / "lock")), FileLock(str(tmp_path / "lock"))
    assert one.acquire()
    assert not other.acquire()
    one.release()
    assert other.acquire()
    other.release()


def test_lock_of_a_killed_process_is_free_although_its_child_lives(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline()
    lock = FileLock(path)
    assert not lock.acquire()
    holder.kill()
    holder.wait()
    assert lock.acquire()
    lock.release()
    holder.communicate()


def test_lock_on_a_deleted_file_is_not_in_place(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock(str(path))
    assert not lock.is_in_place
    assert lock.acquire()
    assert lock.is_in_place
    path.unlink()
    assert not lock.is_in_place
    path.touch()
    assert not lock.is_in_place
    lock.release()
