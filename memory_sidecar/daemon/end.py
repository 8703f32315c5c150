"""Ends the daemon of a data directory, whatever it waits for.

Asked to stop, a daemon finishes what runs, and after `ENDS_WITHIN_S` leaves the rest. One that does
not do so either, since it hangs or was suspended, is killed: what it committed stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.link import Link, find
from memory_sidecar.daemon.lock import holder, is_locked

ENDS_WITHIN_S = 8.0  # of being asked to
END_TIMEOUT_S = 9.0  # until it is killed
_ANSWER_S = 3.0  # one that is well greets within milliseconds
_KILL_S = 1.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Ended:
    """A daemon that is gone."""

    pid: int
    was_killed: bool = False


def end_daemon(
    data_dir: str, environ: Mapping[str, str], *, which: Link | None = None
) -> Ended | None:
    """Return once the daemon's process has ended; `None` where there was none.

    Given `which`, that one alone: another client may have another daemon there by now. Raises
    DaemonUnreachable where it can neither be asked nor killed.
    """
    deadline = time.monotonic() + END_TIMEOUT_S
    lock = state_file(data_dir, "daemon.lock")
    running = holder(lock)
    if which is not None and (running is None or running.pid != which.pid):
        _ends(which, deadline)  # it let go of the lock, or never signed it
        return Ended(which.pid)
    while (left_s := deadline - time.monotonic()) > 0:
        with suppress(DaemonUnreachable):  # it does not answer
            link = which or find(data_dir, environ, patience_s=min(_ANSWER_S, left_s))
            which = None
            if link is not None and _ends(link, deadline) and running is None:
                return Ended(link.pid)
        if not (running.is_alive if running else is_locked(lock)):
            return Ended(running.pid) if running else None
        time.sleep(_POLL_S)  # it starts, or ends already
    if running is not None and running.kill(wait_s=_KILL_S):
        return Ended(running.pid, was_killed=True)
    process = f"process {running.pid}" if running else f"the process that holds {lock}"
    raise DaemonUnreachable(f"the daemon of {data_dir} still runs", hint=f"end {process}")


def _ends(link: Link, deadline: float) -> bool:
    """Ask for it; whether the daemon hung up, which it does when it has let go of everything."""
    try:
        link.patience(_ANSWER_S)
        link.send({"type": "stop"})
        while (left_s := deadline - time.monotonic()) > 0:
            link.patience(left_s)
            if link.receive() is None:
                return True
    except TimeoutError:
        return False
    except OSError:
        return True  # it went before it answered
    finally:
        link.close()
    return False
