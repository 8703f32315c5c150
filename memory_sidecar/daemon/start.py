"""Starts the daemon of a data directory and waits until it answers, or ends it.

Any number of clients may try at once. One client at a time has the turn to start a process; if
others start one, the daemon's own lock lets only one of those live. The client with the turn also
replaces an older daemon, however that was started. It gets the turn only after the client before
it has connected to the daemon that it started: else clients of two versions would end each other's
daemons for ever. A daemon that is ending is waited for.

A daemon that is asked to stop finishes its running requests, and exits after `ENDS_WITHIN_S` even
if some are left. One that does not, because it hangs or is suspended, is killed: its commits stay.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.core.opening import Tree, is_utf8
from memory_sidecar.core.process import require_memory
from memory_sidecar.daemon.address import SAFELY, read_announcement, state_file
from memory_sidecar.daemon.link import Link, connect, find, reach
from memory_sidecar.daemon.lock import ProcessLock, find_holder, is_locked, read_signature
from memory_sidecar.daemon.protocol import EXIT_FAILED

ENDS_WITHIN_S = 8.0  # after it was asked to stop
END_TIMEOUT_S = 9.0  # until it is killed
TURN_S = END_TIMEOUT_S + 3.0  # a client renews its turn more often than this, unless suspended
_ANSWER_S = 3.0  # a healthy daemon greets within milliseconds
_KILL_S = 1.0
_END_POLL_S = 0.02

# Room for ending one daemon and then an older one that won the race, and for a busy machine.
START_TIMEOUT_S = 2 * END_TIMEOUT_S + 30.0
DAEMON_MODULE = "memory_sidecar.cli.daemon"
DETACHED_MODULE = "memory_sidecar.cli.detached"
EXIT_NO_PLACE = 73  # a daemon's lock or socket cannot be created there
STARTING = "starting the daemon, which takes a few seconds once"
WAITING = "waiting for another daemon of {} to start or to stop"
OUT_OF_REACH = "the daemon of {} runs out of reach, as in another container: working without it"
_HIDDEN = (errno.ENOENT, errno.EACCES, errno.EPERM)
_SAY_AFTER_S = 1.0
_POLL_S, _POLL_LONGEST_S = 0.01, 0.25
_POLL_SHARE = 1 / 40  # of the time waited so far
_SHOWN_LOG_LINES = 3
_SHOWN_LOG_BYTES = 8192


def start_daemon(
    data_dir: str, environ: Mapping[str, str], *, say: Callable[[str], None], says_starting: bool
) -> Link | None:
    """Connect to the daemon of `data_dir`, starting it if necessary.

    Returns `None` if its state or socket cannot be created, if it runs out of reach, or if no
    command takes a folder that is called so. `say` is called if it is out of reach, while another
    process is waited for and, with `says_starting`, while ours is. Raises DaemonUnreachable with
    the end of the log, or if this installation is gone, and StoreError if the daemon would have too
    little memory.
    """
    if not is_utf8(data_dir):
        return None
    if _is_out_of_reach(data_dir):
        say(OUT_OF_REACH.format(data_dir))
        return None
    try:
        Tree(data_dir, is_own=True).make("state")
        return _start(data_dir, environ, say, says_starting=says_starting)
    except OSError as error:  # the folder or the lock cannot be created
        if os.access(sys.executable, os.X_OK):
            return None
        raise DaemonUnreachable(  # this process lives on, as that of an MCP server does
            f"{sys.executable} was removed or moved, so no daemon can be started",
            hint="install memory-sidecar again, and start this process again",
        ) from error


def _start(
    data_dir: str, environ: Mapping[str, str], say: Callable[[str], None], *, says_starting: bool
) -> Link | None:
    turn = _Turn(state_file(data_dir, "starting.lock"))
    process: _Detached | subprocess.Popen[bytes] | None = None
    status: int | None = None
    began = time.monotonic()
    said: set[str] = set()  # each once: our process may lose the race
    try:
        while (waited_s := time.monotonic() - began) < START_TIMEOUT_S:
            link = reach(data_dir, environ)
            if link is not None and not link.is_outdated:
                return link
            notice = STARTING if process else WAITING.format(data_dir)
            is_news = notice not in said and (says_starting or notice != STARTING)
            if waited_s > _SAY_AFTER_S and is_news:
                say(notice)
                said.add(notice)
            has_turn = turn.take(waited_s)
            if link is not None and has_turn:
                end_daemon(data_dir, environ, which=link)
            elif link is not None:
                link.close()
            if process is None and has_turn:
                require_memory()
                process = spawn_daemon(data_dir)
            elif process is not None and (status := process.poll()) is not None:
                if status == EXIT_NO_PLACE:
                    return None
                if status:
                    break  # the next one would fail too
                process = None  # another daemon has the lock: about to listen, or to stop
                time.sleep(_POLL_S * 10)
            # Many clients polling fast would take the CPU time that the start needs.
            time.sleep(min(max(_POLL_S, waited_s * _POLL_SHARE), _POLL_LONGEST_S))
    finally:
        turn.release()
    raise DaemonUnreachable(
        f"the daemon of {data_dir} did not start", hint=_end_of_log(data_dir, status)
    )


class _Turn(ProcessLock):
    """The turn to start a daemon, which passes on if the client that has it is suspended.

    The client with the turn keeps the file's mtime fresh, so that one client at a time proceeds.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._has_passed_on = False  # to this client, though another one has the lock

    def take(self, waited_s: float) -> bool:
        """Return whether this client, after waiting `waited_s`, has the turn. Raises OSError."""
        if not self.acquire() and not self._has_passed_on:
            self._has_passed_on = waited_s > TURN_S and self._is_held_up
            if not self._has_passed_on:
                return False
        os.utime(self.path)
        return True

    @property
    def _is_held_up(self) -> bool:
        return abs(time.time() - Path(self.path).stat().st_mtime) > TURN_S


def _is_out_of_reach(data_dir: str) -> bool:
    """Whether the daemon of `data_dir` listens where this process cannot connect.

    It runs in another container or on another machine then, or this process in a sandbox.
    """
    lock = state_file(data_dir, "daemon.lock")
    announced, signed = read_announcement(data_dir), read_signature(lock)
    # A starting daemon signs the lock before it announces its address. An ending one removes its
    # announcement, then its socket, and then releases the lock.
    if announced is None or signed is None or announced[1] != signed.pid:
        return False
    try:
        connected, _ = connect(announced[0], _ANSWER_S)
    except (OSError, ValueError) as error:
        cause = error.__cause__ or error
        is_hidden = isinstance(cause, OSError) and cause.errno in _HIDDEN
        return is_hidden and is_locked(lock) and read_announcement(data_dir) == announced
    connected.close()
    return False


class _Detached:
    """A daemon whose process is no child of ours: it writes its exit status to a pipe."""

    def __init__(self, reading: int) -> None:
        self._reading = reading
        os.set_blocking(reading, False)

    def poll(self) -> int | None:
        """Return the exit status of the process once it has ended, else `None`."""
        try:
            return int(os.read(self._reading, 4) or EXIT_FAILED)
        except BlockingIOError:
            return None

    def __del__(self) -> None:
        os.close(self._reading)


def spawn_daemon(data_dir: str) -> _Detached | subprocess.Popen[bytes]:
    """Start the daemon's process in its own session, so that no closing terminal ends it.

    Nor is it a child of ours, except on Windows: a host that kills a late client usually kills all
    descendants of that, and no daemon would ever come up on a slow machine. The process ends at
    once if another one has the lock. Raises OSError.
    """
    module = DAEMON_MODULE if sys.platform == "win32" else DETACHED_MODULE
    with os.fdopen(_open_log(state_file(data_dir, "daemon.log")), "ab") as log:
        reading, writing = os.pipe()
        passed = () if sys.platform == "win32" else (writing,)
        try:
            process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-P", "-X", "utf8", "-m", module, data_dir, *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=passed,
                start_new_session=True,
                creationflags=0x00000208 if sys.platform == "win32" else 0,  # new group, detached
            )
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
    if sys.platform == "win32":
        os.close(reading)
        return process
    process.wait()  # until its child goes on
    return _Detached(reading)


def _open_log(path: str) -> int:
    """Open the log for what fails before the daemon can log; the null device on failure."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | SAFELY, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)


def _end_of_log(data_dir: str, status: int | None) -> str:
    path = state_file(data_dir, "daemon.log")
    ended = f"it ended with status {status}; " if status else ""
    try:
        with os.fdopen(Tree(data_dir, is_own=True).open(path), "rb") as log:
            log.seek(max(os.fstat(log.fileno()).st_size - _SHOWN_LOG_BYTES, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()[-_SHOWN_LOG_LINES:]
    except OSError:
        lines = []
    return f"{ended}--no-daemon works without it; its log {path} ends: {' | '.join(lines)}"


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
    until_s = time.monotonic() + END_TIMEOUT_S
    lock = state_file(data_dir, "daemon.lock")
    running = find_holder(lock)
    if which is not None and (running is None or running.pid != which.pid):
        _ask_to_end(which, until_s)  # it has released the lock, or never signed it
        return Ended(which.pid)
    while (left_s := until_s - time.monotonic()) > 0:
        with suppress(DaemonUnreachable):  # it does not answer
            link = which or find(data_dir, environ, patience_s=min(_ANSWER_S, left_s))
            which = None
            if link is not None and running is not None and link.pid != running.pid:
                link.close()  # that daemon is new: the old one has released its lock, and is ending
                return Ended(running.pid)
            if link is not None and _ask_to_end(link, until_s) and running is None:
                return Ended(link.pid)
        if not (running.is_alive if running else is_locked(lock)):
            return Ended(running.pid) if running else None
        time.sleep(_END_POLL_S)  # it is starting, or already ending
    if running is not None and running.kill(wait_s=_KILL_S):
        return Ended(running.pid, was_killed=True)
    process = f"process {running.pid}" if running else f"the process that holds {lock}"
    raise DaemonUnreachable(f"the daemon of {data_dir} still runs", hint=f"end {process}")


def _ask_to_end(link: Link, until_s: float) -> bool:
    """Ask the daemon to stop; returns whether it hung up, which it does when all is released."""
    try:
        link.set_timeout(_ANSWER_S)
        link.send({"type": "stop"})
        while (left_s := until_s - time.monotonic()) > 0:
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
