"""SIGKILL in the middle of a first run: the next one goes on, and nothing is lost or doubled.

Here at chosen commits; `benchmarks/kill9.py` does it at random moments, with the model.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rows import Rows, differences, rows_of

# Runs a command line, and kills itself right before or after its n-th commit.
KILLED_RUN = """
import os, signal, sys, apsw
from memory_sidecar.cli.main import main

when, left = sys.argv.pop(1), int(sys.argv.pop(1))

def count(*_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0

def watch(connection):
    if when == "before":
        connection.set_commit_hook(count)
    elif not connection.readonly("main"):
        connection.set_profile(lambda sql, _: sql == "COMMIT" and count())

apsw.connection_hooks.append(watch)
main()
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("source")
    for number in range(120):
        (root / f"m{number:03}.py").write_text(f"def function_{number}():\n    return {number}\n")
    (root / "empty.py").touch()
    return root


@pytest.fixture(scope="module")
def clean_rows(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """What a run makes of it that nobody kills."""
    data = tmp_path_factory.mktemp("clean")
    command = [sys.executable, "-m", "memory_sidecar.client", *index(source, data)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    return rows_of(data / "codebase.sqlite")


def index(source: Path, data: Path) -> list[str]:
    return ["index", str(source), "--wait", "keyword", "--data-dir", str(data)]


@pytest.mark.parametrize(
    ("when", "commit"), [("after", 1), ("after", 4), ("before", 6), ("after", 6), ("after", 8)]
)
def test_the_next_run_makes_what_a_run_makes_that_was_not_killed(
    run, source, clean_rows, tmp_path, when, commit
):
    data = tmp_path / "killed"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_RUN, when, str(commit), *index(source, data)],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL
    done = run(*index(source, data))
    assert (done.status, done.json["files_failed"]) == (0, [])
    assert differences(clean_rows, rows_of(data / "codebase.sqlite")) == {}
