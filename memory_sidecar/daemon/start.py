"""Starts the daemon of a data directory, and waits until it answers.

Any number of clients may try at once: one of them starts a process, and should several do so, the
daemon's own lock lets one of those live.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import Link, reach
from memory_sidecar.daemon.lock import FileLock
from memory_sidecar.errors import DaemonUnreachable

START_TIMEOUT_S = 12.0  # a daemon that is stopping has ten to finish what runs
DAEMON_MODULE = "memory_sidecar.cli.daemon"
_POLL_S = 0.01
_SHOWN_LOG_LINES = 3


def can_start(data_dir: str) -> bool:
    """Whether a daemon could keep its state there; makes the folder."""
    state = Path(data_dir) / "state"
    try:
        state.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(state, os.W_OK)


def start_daemon(data_dir: str, environ: Mapping[str, str], *, outdated: Link | None) -> Link:
    """A connection to the daemon of `data_dir`, started now if it has to be.

    `outdated` is asked to stop first. Raises DaemonUnreachable with the end of its log.
    """
    if outdated is not None:
        ask_to_stop(outdated)
    deadline = time.monotonic() + START_TIMEOUT_S
    starting = FileLock(state_file(data_dir, "starting.lock"))
    process: subprocess.Popen[bytes] | None = None
    try:
        while time.monotonic() < deadline:
            link = reach(data_dir, environ)
            if link is not None and not link.is_outdated:
                return link
            if process is None:
                if starting.acquire():
                    process = _spawn(data_dir)
            elif (status := process.poll()) is not None:
                if status:
                    break  # it would fail again
                process = None  # another one has the lock: about to listen, or to stop
                time.sleep(_POLL_S * 10)
            time.sleep(_POLL_S)
    finally:
        starting.release()
    raise DaemonUnreachable(
        f"the daemon of {data_dir} did not start", hint=_end_of_log(data_dir, process)
    )


def ask_to_stop(link: Link) -> None:
    """Return once the daemon has finished and let go of everything, or after `START_TIMEOUT_S`."""
    link.patience(START_TIMEOUT_S)
    try:
        link.send({"type": "stop"})
        while link.receive() is not None:
            pass
    except OSError:
        pass  # it went before it answered
    finally:
        link.close()


def _spawn(data_dir: str) -> subprocess.Popen[bytes]:
    """A process of its own session, so that no terminal takes it along."""
    command = [sys.executable, "-P", "-m", DAEMON_MODULE, data_dir]
    with open(state_file(data_dir, "daemon.log"), "ab") as log:  # noqa: PTH123
        return subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
            creationflags=0x00000208 if sys.platform == "win32" else 0,  # new group, detached
        )


def _end_of_log(data_dir: str, process: subprocess.Popen[bytes] | None) -> str:
    path = Path(state_file(data_dir, "daemon.log"))
    status = process.poll() if process is not None else None
    ended = f"it ended with status {status}; " if status else ""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
    except OSError:
        lines = []
    return f"{ended}--no-daemon works without; its log {path} ends: {' | '.join(lines)}"
