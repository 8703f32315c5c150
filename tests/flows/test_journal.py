"""A file that crashes the process is tried three times, and left alone until it changes."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from memory_sidecar.flows.journal import CrashJournal
from memory_sidecar.model import SourceFile

FATAL = SourceFile("pkg/fatal.py", 10, 1, 1)
GOOD = SourceFile("pkg/good.py", 10, 1, 1)

DIE_WHILE_BUILDING = """
import os, signal, sys
from pathlib import Path
from memory_sidecar.flows.journal import CrashJournal
from memory_sidecar.model import SourceFile
journal = CrashJournal(Path(sys.argv[1]))
with journal.building(SourceFile("pkg/good.py", 10, 1, 1)):
    pass
with journal.building(SourceFile("pkg/fatal.py", 10, 1, 1)):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def crash(state: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DIE_WHILE_BUILDING, str(state)], check=False)
    assert died.returncode == -signal.SIGKILL


def barred(state: Path, file: SourceFile) -> bool:
    journal = CrashJournal(state)
    try:
        return journal.is_barred(file)
    finally:
        journal.close()


def test_third_crash_in_a_row_bars_the_file_and_no_other(tmp_path):
    for _ in range(2):
        crash(tmp_path)
    crash(tmp_path)
    assert barred(tmp_path, FATAL)
    assert barred(tmp_path, FATAL)  # still, after a start without a crash
    assert not barred(tmp_path, GOOD)


def test_two_crashes_do_not_bar(tmp_path):
    crash(tmp_path)
    crash(tmp_path)
    assert not barred(tmp_path, FATAL)


def test_a_changed_file_gets_another_chance(tmp_path):
    for _ in range(3):
        crash(tmp_path)
    assert not barred(tmp_path, replace(FATAL, size=11))


def test_success_in_between_starts_the_count_again(tmp_path):
    crash(tmp_path)
    crash(tmp_path)
    journal = CrashJournal(tmp_path)
    with journal.building(FATAL):
        pass
    journal.close()
    crash(tmp_path)
    assert not barred(tmp_path, FATAL)


def test_slots_are_used_again(tmp_path):
    journal = CrashJournal(tmp_path)
    for number in range(200):
        with journal.building(replace(GOOD, path=f"pkg/{number}.py")):
            pass
    journal.close()
    assert (tmp_path / "in_flight").stat().st_size <= 8192 * 64
