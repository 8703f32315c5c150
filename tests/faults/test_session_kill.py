"""SIGKILL in the middle of saving: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

# Saves one session after the other and says which; kills itself before or after a commit, or
# where a file is moved into its place.
SAVING = """
import os, signal, sys, apsw
from pathlib import Path
from memory_sidecar.clock import system_clock
from memory_sidecar.handlers.reporter import Silent
from memory_sidecar.handlers.services import Services
from memory_sidecar.handlers.sessions import Sessions
from memory_sidecar.paths import DataDir
from memory_sidecar.settings import Settings

data_dir, when, left = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

def count(*_):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return 0

def watch(connection):
    if when == "before commit":
        connection.set_commit_hook(count)
    elif when == "after commit":
        connection.set_wal_hook(count)

apsw.connection_hooks.append(watch)
if when == "before move":
    def audit(event, arguments):
        if event == "os.rename" and str(arguments[1]).endswith(".json"):
            count()
    sys.addaudithook(audit)

services = Services(DataDir(data_dir), Settings(model_dir="/nowhere"))
sessions = Sessions(services.agent("architect"), clock=system_clock, reporter=Silent())
for number in range(100):
    messages = [{"role": "user", "content": f"token {number}"}] * 3
    sessions.save({"session_id": f"s{number}", "messages": messages})
    print(number, flush=True)
"""


@pytest.mark.parametrize(
    ("when", "nth"),
    [
        ("before move", 1),
        ("before move", 3),
        ("before commit", 7),
        ("after commit", 7),
        ("before commit", 12),
        ("after commit", 15),
    ],
)
def test_no_acknowledged_session_is_lost(run, data_dir, when, nth):
    saving = subprocess.run(
        [sys.executable, "-c", SAVING, data_dir, when, str(nth)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert saving.returncode == -signal.SIGKILL, saving.stderr
    acknowledged = {f"s{number}" for number in saving.stdout.split()}

    root = data_dir / "episodic" / "architect"
    on_disk = {path.stem for path in root.rglob("*.json")}
    assert acknowledged <= on_disk
    for path in root.rglob("*.json"):
        assert len(json.loads(path.read_text("utf-8"))["messages"]) == 3

    if not on_disk:
        return  # it was killed before the first file was in its place
    listed = run("session", "list", "--agent", "architect", "--limit", "200", "--json").json
    assert {head["session_id"] for head in listed} == on_disk
    found = run(
        *("session", "search", "token", "--agent", "architect", "--tier", "2"),
        *("--mode", "keyword", "--top-k", "900", "--json"),
    ).json
    assert len(found) == 3 * len(on_disk)


def test_what_a_kill_left_behind_is_nobodys(run, data_dir):
    subprocess.run(
        [sys.executable, "-c", SAVING, data_dir, "before move", "1"],
        capture_output=True,
        check=False,
        env=os.environ,
    )
    (left,) = (data_dir / "episodic" / "architect").rglob("*tmp*")
    assert left.name.startswith(".")
    saved = run("session", "save", "--agent", "architect", "--json", stdin=b'{"messages": []}')
    assert saved.error["code"] == "session_invalid"
    document = {"session_id": "s0", "messages": [{"role": "user", "content": "again"}]}
    saved = run(
        "session", "save", "--agent", "architect", "--json", stdin=json.dumps(document).encode()
    )
    assert saved.json["created"] is True
