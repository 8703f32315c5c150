"""The daemon's log: rotated, continued by the next daemon, and with whatever lands on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from memory_sidecar.daemon.log import OLD_FILES

MAX_BYTES = 100_000
LOG_MUCH = f"""
import logging, sys
from memory_sidecar.daemon import log
log.MAX_BYTES = {MAX_BYTES}
log.log_to_file(sys.argv[1], "info")
logging.info("begin of %s", sys.argv[2])
for number in range(int(sys.argv[3])):
    logging.info("%d %s", number, "x" * 1000)
logging.info("end of %s", sys.argv[2])
"""

LOG_OTHERWISE = """
import os, sys, threading, warnings
from memory_sidecar.daemon.log import log_to_file, set_level
import logging
log_to_file(sys.argv[1], "info")
os.write(2, b"written by a library\\n")
warnings.warn("a warning")
def fail():
    raise RuntimeError("in a thread")
thread = threading.Thread(target=fail, name="worker")
thread.start(); thread.join()
logging.debug("too early")
set_level("debug")
logging.debug("in time")
os.abort()
"""


def run(code: str, *arguments: object, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    around = os.environ | environ
    return subprocess.run(command, capture_output=True, text=True, check=False, env=around)


def test_it_is_rotated_and_goes_on_after_a_restart(tmp_path):
    path = tmp_path / "daemon.log"
    lines = 6 * MAX_BYTES // 1000
    assert run(LOG_MUCH, path, "the first", lines).returncode == 0
    assert run(LOG_MUCH, path, "the second", 1).returncode == 0
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 1 + OLD_FILES
    assert max(file.stat().st_size for file in kept) <= MAX_BYTES
    text = path.read_text()
    assert text.index("end of the first") < text.index("begin of the second")
    assert "begin of the first" not in text


@pytest.mark.skipif(sys.platform == "win32", reason="ends by a signal")
def test_what_libraries_write_and_what_kills_python_is_in_it(tmp_path):
    path = tmp_path / "daemon.log"
    done = run(LOG_OTHERWISE, path)
    assert (done.stdout, done.stderr) == ("", "")
    text = path.read_text()
    for told in ("written by a library", "a warning", "worker ended: RuntimeError('in a thread')"):
        assert told in text
    assert ("too early" in text, "in time" in text) == (False, True)
    assert "Fatal Python error: Aborted" in text


FORGE = r"""
import logging, sys
from memory_sidecar.daemon.log import log_to_file
log_to_file(sys.argv[1], "info")
logging.info("asked for %s", "a\n2026-01-01 00:00:00,000 INFO root: forged \x1b[2J\r\n2026")
try:
    raise ValueError("b\n2026-01-01 00:00:00,000 INFO root: forged")
except ValueError:
    logging.exception("failed: %s", "c\n2026")
"""


SECRETS = r"""
import logging, sys
from memory_sidecar.daemon.exchange import Invocation
from memory_sidecar.daemon.log import log_to_file
log_to_file(sys.argv[1], "info")
try:
    raise ValueError("no place for AKIA" + "Z7Q4M2K6" + "X3W2V5T7 in it")
except ValueError:
    asked = ("store", "a text", "--category=rules", "--agent", "alice", "-nsecret", "--", "--more")
    logging.exception("failed, as AKIA%s was given: %s", "Z7Q4M2K6X3W2V5T7", Invocation(asked, "/"))
"""


def test_no_secret_is_logged_and_no_value_of_a_command(tmp_path):
    path = tmp_path / "daemon.log"
    assert run(SECRETS, path).returncode == 0
    text = path.read_text()
    assert "Z7Q4M2K6X3W2V5T7" not in text
    assert text.count("«masked: AWS key»") == 2
    assert "was given: store … --category --agent … -n … --more\n" in text


def test_times_of_the_log_are_utc(tmp_path):
    before = datetime.now(UTC)
    assert run(FORGE, tmp_path / "daemon.log", TZ="Asia/Tokyo").returncode == 0
    at = datetime.fromisoformat((tmp_path / "daemon.log").read_text().split()[0])
    assert before - timedelta(seconds=1) < at <= datetime.now(UTC)


def test_what_is_logged_forges_no_line(tmp_path):
    path = tmp_path / "daemon.log"
    assert run(FORGE, path).returncode == 0
    text = path.read_text()
    records = [line for line in text.splitlines() if line.startswith("2026-01-01")]
    assert records == []
    assert [line[0] == "2" for line in text.splitlines()].count(True) == 2
    assert "\x1b" not in text
    assert "asked for a\\n2026" in text
