"""Stops the daemon of a data directory, whatever it is waiting for.

A daemon that is asked to stop finishes its running requests, and exits after `ENDS_WITHIN_S` even
if some are left. One that does not, because it hangs or is suspended, is killed: its commits stay.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import Link, find
from memory_sidecar.daemon.lock import find_holder, is_locked

ENDS_WITHIN_S = 8.0  # after it was asked to stop
END_TIMEOUT_S = 9.0  # until it is killed
_ANSWER_S = 3.0  # a healthy daemon greets within milliseconds
_KILL_S = 1.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """A daemon that has ended, as `end_daemon` returns it."""

    pid: int
    was_killed: bool = False


def end_daemon(
    data_dir: str, environ: Mapping[str, str], *, which: Link | None = None
) -> Ended | None:
    """End the daemon of `data_dir` and wait for it; returns `None` if there was none.

    With `which`, ends only the daemon of that link: another client may have started a new one.
    Raises DaemonUnreachable if the daemon can neither be asked nor killed.
    """
    deadline = time.monotonic() + END_TIMEOUT_S
    lock = state_file(data_dir, "daemon.lock")
    running = find_holder(lock)
    if which is not None and (running is None or running.pid != which.pid):
        _ask_to_end(which, deadline)  # it has released the lock, or never signed it
        return Ended(which.pid)
    while (left_s := deadline - time.monotonic()) > 0:
        with suppress(DaemonUnreachable):  # it does not answer
            link = which or find(data_dir, environ, patience_s=min(_ANSWER_S, left_s))
            which = None
            if link is not None and _ask_to_end(link, deadline) and running is None:
                return Ended(link.pid)
        if not (running.is_alive if running else is_locked(lock)):
            return Ended(running.pid) if running else None
        time.sleep(_POLL_S)  # it is starting, or already ending
    if running is not None and running.kill(wait_s=_KILL_S):
        return Ended(running.pid, was_killed=True)
    process = f"process {running.pid}" if running else f"the process that holds {lock}"
    raise DaemonUnreachable(f"the daemon of {data_dir} still runs", hint=f"end {process}")


def _ask_to_end(link: Link, deadline: float) -> bool:
    """Ask the daemon to stop; returns whether it hung up, which it does when all is released."""
    try:
        link.set_timeout(_ANSWER_S)
        link.send({"type": "stop"})
        while (left_s := deadline - time.monotonic()) > 0:
            link.set_timeout(left_s)
            if link.receive() is None:
                return True
    except TimeoutError:
        return False
    except OSError:
        return True  # it ended before it answered
    finally:
        link.close()
    return False
