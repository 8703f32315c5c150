"""The life of a daemon: take the lock, listen, announce, serve, finish, release.

The holder of the lock is the daemon of a data directory. A socket or an address found there may be
left over from a daemon that was killed; the holder of the lock replaces it.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar import __version__
from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.core.opening import Tree
from memory_sidecar.daemon import systemd
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.listener import Listener
from memory_sidecar.daemon.lock import ProcessLock
from memory_sidecar.daemon.log import route_standard_streams
from memory_sidecar.daemon.server import Application, Server
from memory_sidecar.daemon.start import ENDS_WITHIN_S

IN_PLACE_CHECK_S = 1.0
_IDLE = frozenset({"MainThread", "end"})  # threads that are not named as left behind

_log = logging.getLogger(__name__)


def take_lock(data_dir: str) -> ProcessLock | None:
    """Acquire the lock that makes this process the daemon of `data_dir`; `None` if it is taken.

    Raises OSError if the lock file cannot be created.
    """
    Tree(data_dir, is_own=True).make("state")
    lock = ProcessLock(state_file(data_dir, "daemon.lock"))
    if lock.acquire() and lock.is_in_place:
        with suppress(OSError):  # the disk is full: the lock stays unsigned
            lock.sign()
        return lock
    lock.release()
    return None


def host(
    application: Application, *, data_dir: str, lock: ProcessLock, environ: Mapping[str, str]
) -> bool:
    """Serve `application` until a signal or a client asks to stop, or a new daemon is due.

    Returns whether one is: the code was replaced on disk, or a fresh process takes less memory.
    """
    route_standard_streams()
    listener = Listener.open(data_dir, environ)
    crashes = CrashLog(Path(data_dir, "state"), "requests")
    listener.announce(data_dir)
    _log.info("version %s, process %d, serves %s", __version__, os.getpid(), data_dir)
    if crashes.suspects:
        _log.warning("the last daemon died while it answered %d requests", crashes.suspects)
    life = _Life(application, data_dir, lock, listener, crashes, environ)
    is_handing_over = asyncio.run(life.live())
    _log.info("stopped")
    return is_handing_over


@dataclass(frozen=True, slots=True)
class _Life:
    """A daemon from its announcement to its end; `host` runs one."""

    application: Application
    data_dir: str
    lock: ProcessLock
    listener: Listener
    crashes: CrashLog
    environ: Mapping[str, str]

    async def live(self) -> bool:
        """Serve, finish and release all; returns what `host` does."""
        server = Server(
            self.listener,
            self.application,
            data_dir=self.data_dir,
            crashes=self.crashes,
            is_in_place=lambda: self.lock.is_in_place and self.listener.is_in_place,
            on_stop=self._start_end_timer,
        )
        _stop_on_signals(server)
        starting = threading.Thread(target=self.application.start, name="start", daemon=True)
        starting.start()
        tending = [
            asyncio.create_task(_hand_over(server)),
            asyncio.create_task(self._stay_found(server)),
            asyncio.create_task(_stop_when_unused(server, self.application)),
            asyncio.create_task(_feed_watchdog(self.environ)),
        ]
        systemd.notify("READY=1", self.environ)
        await server.run()
        for task in tending:
            task.cancel()
        await asyncio.to_thread(self._finish, starting)
        server.hang_up()
        return server.is_handing_over

    async def _stay_found(self, server: Server) -> None:
        """Keep the address announced, however it was lost: removed, replaced, or never written.

        Stops the server once its folder or socket is removed, even if no client connects.
        """
        while server.check_place():
            self.listener.announce(self.data_dir)
            await asyncio.sleep(IN_PLACE_CHECK_S)

    def _finish(self, starting: threading.Thread) -> None:
        systemd.notify("STOPPING=1", self.environ)
        starting.join()
        if self.lock.is_in_place:  # else SQLite would remove the WAL files of another daemon
            self.application.close()
        self._withdraw()
        self.lock.release()

    def _withdraw(self) -> None:
        self.crashes.close()
        if self.lock.is_in_place:
            self.listener.retract(self.data_dir)

    def _start_end_timer(self) -> None:
        """Start the timer that exits the process whatever still runs: a crash loses nothing."""
        limit = threading.Timer(ENDS_WITHIN_S, self._exit_now)
        limit.name, limit.daemon = "end", True
        limit.start()

    def _exit_now(self) -> None:
        try:
            working = [each.name for each in threading.enumerate() if each.name not in _IDLE]
            _log.warning("left behind after %.0f s: %s", ENDS_WITHIN_S, ", ".join(working))
            faulthandler.dump_traceback(2)
            self._withdraw()
        finally:
            os._exit(0)


def _stop_on_signals(server: Server) -> None:
    loop = asyncio.get_running_loop()

    def stop(number: int, _frame: object = None) -> None:
        if server.is_stopping:
            os._exit(128 + number)
        _log.info("stopping: %s", signal.Signals(number).name)
        loop.call_soon_threadsafe(server.stop)

    if sys.platform == "win32":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        return
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # SIGHUP: a closing terminal ends what it started, unless `nohup` ignores the signal.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop, number)


async def _hand_over(server: Server) -> None:
    """Stop the server once a new daemon should take over."""
    while not (reason := server.reason_to_hand_over):
        await asyncio.sleep(IN_PLACE_CHECK_S)
    _log.info(reason)
    server.is_handing_over = True
    server.stop()


async def _stop_when_unused(server: Server, application: Application) -> None:
    """Stop the server once the daemon has been useless for a while, as if started by mistake."""
    while not application.may_end(idle_s=server.idle_s):
        await asyncio.sleep(IN_PLACE_CHECK_S)
    _log.info("nothing to keep, and no client for a while")
    server.stop()


async def _feed_watchdog(environ: Mapping[str, str]) -> None:
    while period_s := systemd.watchdog_period_s(environ):
        systemd.notify("WATCHDOG=1", environ)
        await asyncio.sleep(period_s)
