"""What crashes the process is tried three times, and barred then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory_sidecar.core.crash_log import CrashLog

DIE = """
import os, signal, sys
from pathlib import Path
from memory_sidecar.core.crash_log import CrashLog
folder, *keys = sys.argv[1:]
log = CrashLog(Path(folder), "work")
with log.under_way("harmless"):
    pass
kept = [log.under_way(key) for key in keys]
for each in kept:
    each.__enter__()
os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(folder: Path, *keys: str) -> None:
    died = subprocess.run([sys.executable, "-c", DIE, str(folder), *keys], check=False)
    assert died.returncode == -signal.SIGKILL


def barred(folder: Path, *keys: str) -> list[str]:
    log = CrashLog(folder, "work")
    try:
        return [key for key in (*keys, "harmless") if log.is_barred(key)]
    finally:
        log.close()


def test_third_crash_in_a_row_bars_what_was_under_way_and_nothing_else(tmp_path):
    for count in range(3):
        crash(tmp_path, f"bystander {count}", "deadly")
    for _ in range(2):  # and stays so, after a start without a crash
        assert barred(tmp_path, "deadly", "bystander 2") == ["deadly"]


def test_two_crashes_do_not_bar(tmp_path):
    crash(tmp_path, "deadly")
    crash(tmp_path, "deadly")
    assert barred(tmp_path, "deadly") == []


def test_success_in_between_starts_the_count_again(tmp_path):
    for _ in range(2):
        crash(tmp_path, "unlucky")
    log = CrashLog(tmp_path, "work")
    assert log.suspects == 1
    with log.under_way("unlucky"):
        pass
    log.close()
    crash(tmp_path, "unlucky")
    assert barred(tmp_path, "unlucky") == []


def test_a_crash_of_a_worker_is_remembered_until_its_work_is_done(tmp_path):
    for _ in range(2):
        log = CrashLog(tmp_path, "work")
        log.count_crash("deadly")
        log.count_crash("unlucky")
        log.close()
    log = CrashLog(tmp_path, "work")
    log.reset("unlucky")
    for key in ("deadly", "unlucky"):
        log.count_crash(key)
    log.close()
    assert barred(tmp_path, "deadly", "unlucky") == ["deadly"]


def test_a_proper_end_leaves_no_suspect(tmp_path):
    log = CrashLog(tmp_path, "work")
    kept = log.under_way("slow")
    kept.__enter__()
    log.close()
    log = CrashLog(tmp_path, "work")
    assert log.suspects == 0


def test_slots_are_used_again(tmp_path):
    log = CrashLog(tmp_path, "work")
    for number in range(200):
        with log.under_way(str(number)):
            pass
    assert (tmp_path / "work").stat().st_size == 16


@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"a": "b"}', b"\xff\xfe", b"[" * 100_000])
def test_broken_counts_are_begun_anew(tmp_path, content):
    for _ in range(3):
        (tmp_path / "work-crashes.json").write_bytes(content)
        crash(tmp_path, "once")
    assert barred(tmp_path, "once") == []


def test_a_truncated_log_counts_what_is_left(tmp_path):
    for _ in range(3):
        crash(tmp_path, "first", "second")
        os.truncate(tmp_path / "work", 16 + 7)
    assert barred(tmp_path, "first", "second") == ["first"]


def test_a_disk_that_refuses_is_said_and_done_without(tmp_path, caplog):
    (tmp_path / "work").mkdir()
    log = CrashLog(tmp_path, "work")
    with log.under_way("anything"):
        log.count_crash("anything")
    log.close()
    assert "crashes are not counted" in caplog.text
