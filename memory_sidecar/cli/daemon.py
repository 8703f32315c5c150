"""The daemon's process: runs the commands for its clients, all on one `Services`.

This module imports little, because the daemon greets clients before it imports the commands and
their libraries.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from memory_sidecar.cli.host import Host
from memory_sidecar.core.errors import (
    Conflict,
    DaemonUnreachable,
    SidecarError,
    StoreReadOnly,
    as_sidecar_error,
)
from memory_sidecar.core.opening import make_folders_only_while
from memory_sidecar.core.process import (
    SWITCH_INTERVAL_S,
    allow_many_files,
    collect_seldom,
    limit_memory,
    process_memory_bytes,
)
from memory_sidecar.core.settings import Settings, load_settings
from memory_sidecar.daemon import log, systemd
from memory_sidecar.daemon.address import state_file
from memory_sidecar.daemon.exchange import Conversation, Exchange, Invocation, Kind
from memory_sidecar.daemon.host import host, take_lock
from memory_sidecar.daemon.lock import ProcessLock, find_holder
from memory_sidecar.daemon.protocol import EXIT_FAILED, EXIT_INTERRUPTED
from memory_sidecar.daemon.start import EXIT_NO_PLACE, end_daemon, spawn_daemon

if TYPE_CHECKING:
    from memory_sidecar.agents.services import Services
    from memory_sidecar.agents.watching import Watching
    from memory_sidecar.cli.call import Call
    from memory_sidecar.context.live import ContextLive

    Companion = Watching | ContextLive

QUICK = frozenset({"embed", "get", "list", "query", "recent", "search", "status", "store"})
EMBEDDING = frozenset({"embed", "store"})  # quick only if their text is short
LONG_TEXT = 20_000  # characters; standard input counts as long
WAITING = frozenset({"index", "reindex", "model"})
WAIT_OPTION, WATCH_OPTION = "--wait-fresh", "--watch"
EXIT_HANDED_OVER = 75  # EX_TEMPFAIL of sysexits.h
# A process that has used the model and unloaded it keeps 145 MB: libraries, and memory that the
# allocator cannot return; a fresh process takes 80 MB (with 10,000 files).
WORN_BYTES = 110_000_000

_log = logging.getLogger(__name__)


def make_companions(services: Services, *, begin: threading.Event) -> Sequence[Companion]:
    """Make the parts of the daemon that work without a request; the watcher waits for `begin`."""
    from memory_sidecar.agents.watching import Watching
    from memory_sidecar.context.handlers import Context, root_to_follow
    from memory_sidecar.context.live import ContextLive

    watching = Watching(services, begin=begin)
    if not services.settings.context_regen:
        return [watching]
    try:
        root = root_to_follow(services.settings, cwd=services.data_dir.root)
    except SidecarError as error:
        _log.warning("no dense-context root is followed: %s; %s", error.message, error.hint)
        return [watching]
    return [watching, ContextLive(Context(root, embed_with=lambda: services.models.embed))]


class Commands:
    """The daemon's `Application`: runs commands on the services of `data_dir`."""

    def __init__(
        self, data_dir: Path, *, environ: Mapping[str, str], is_restarted: bool = False
    ) -> None:
        """`is_restarted`: another daemon starts when this one ends to hand over."""
        self._data_dir = data_dir.resolve()
        self._environ = environ
        self._is_restarted = is_restarted
        self._opening = threading.Lock()
        self._services: Services | None = None
        self._companions: Sequence[Companion] = ()
        self._host = Host(state_file(str(self._data_dir), "daemon.log"))
        self._has_imported = threading.Event()
        self._has_answered = threading.Event()  # to any client

    def start(self) -> None:
        try:
            import memory_sidecar.cli.main
            import memory_sidecar.cli.search  # noqa: F401  the first request does not wait
        finally:
            self._has_imported.set()
        try:
            self._shared_services(load_settings(self._data_dir, self._environ))
        except SidecarError as error:  # also reported to a client with the same settings
            _log.warning("%s; the settings of the next call are used", error.message)
        except Exception:
            _log.exception("not ready yet: the next call tries again")

    def close(self) -> None:
        for each in (self._host.page, *self._companions):
            try:
                if each is not None:
                    each.close()
            except Exception:  # the others must be closed, too
                _log.exception("%s does not close", type(each).__name__)
        if self._services is not None:
            self._services.close()

    def kind_of(self, request: Invocation) -> Kind:
        command = next((word for word in request.arguments if not word.startswith("-")), "")
        options = {word.partition("=")[0] for word in request.arguments}
        if command == "status" and WATCH_OPTION in options:
            return Kind.ENDLESS
        if command in WAITING or WAIT_OPTION in options:
            return Kind.WAITING
        if command in EMBEDDING and (
            "-" in options or sum(map(len, request.arguments)) > LONG_TEXT
        ):
            return Kind.WORKING
        return Kind.QUICK if command in QUICK else Kind.WORKING

    def may_end(self, *, idle_s: float) -> bool:
        """Whether the daemon was idle for as long as the setting says, and nothing depends on it.

        Sources, agents and a served page depend on it.
        """
        services = self._services
        settings = services.settings if services is not None else Settings()
        if not settings.idle_end_minutes or idle_s < settings.idle_end_minutes * 60:
            return False
        if self._host.page is not None:
            return False
        try:
            return services is None or not (
                services.agent_names() or services.codebase().registry.all()
            )
        except (SidecarError, OSError):
            return False  # unreadable, so there may be something

    @property
    def is_worn(self) -> bool:
        services = self._services
        if not self._is_restarted or services is None or not services.is_unloaded:
            return False
        return self._host.page is None and process_memory_bytes() > WORN_BYTES

    def answer(self, exchange: Exchange) -> Conversation | int:
        granted: list[Conversation] = []
        status = self._run(self._call(exchange, hold=granted.append), exchange)
        return granted[0] if granted else status

    def _call(self, exchange: Exchange, *, hold: Callable[[Conversation], None]) -> Call:
        self._has_imported.wait()
        from memory_sidecar.cli.call import Call

        request = exchange.request
        return Call(
            arguments=request.arguments,
            cwd=Path(request.cwd),
            environ=request.environ,
            stdin=exchange.stdin,
            stdout=exchange.stdout,
            stderr=exchange.stderr,
            is_terminal=request.is_terminal,
            shows_progress=request.shows_progress,
            columns=request.columns,
            rows=request.rows,
            hold=hold,
            page=exchange.page,
            cancelled=exchange.cancelled,
            open_services=self._open_services,
            host=self._host,
        )

    def _run(self, call: Call, exchange: Exchange) -> int:
        from memory_sidecar.cli.main import run

        try:
            status = run(call)
        except KeyboardInterrupt:
            status = EXIT_INTERRUPTED
        except Exception as error:
            _log.exception("failed: %s", exchange.request)
            call.print_error(as_sidecar_error(error, hint=f"see {self._host.log}"))
            status = EXIT_FAILED
        exchange.stdout.flush()
        exchange.stderr.flush()
        self._has_answered.set()
        return status

    def _open_services(self, call: Call) -> AbstractContextManager[Services]:
        from memory_sidecar.cli.call import open_here

        found = call.chosen_data_dir
        if found.root.resolve() != self._data_dir:
            return open_here(call)
        wanted = load_settings(self._data_dir, call.environ)
        shared = self._shared_services(wanted)
        others = _differing_settings(wanted, shared.settings)
        if shared.settings.context_regen and wanted.context_root != shared.settings.context_root:
            others.append("context_root")
        if others:
            call.reporter.notice(
                f"the daemon was started with another {' and another '.join(others)}: "
                "after `memory-sidecar stop` the next call starts one with yours"
            )
        return nullcontext(shared)

    def _shared_services(self, settings: Settings) -> Services:
        """Return the daemon's services; the first call with valid `settings` opens them."""
        from memory_sidecar.agents.services import Services
        from memory_sidecar.core.paths import DataDir

        with self._opening:
            if self._services is None:
                services = Services(DataDir(self._data_dir), settings)
                _ = services.team  # raises UsageError where `database` is no address
                companions = make_companions(services, begin=self._has_answered)
                self._services, self._companions = services, companions
                for companion in companions:
                    try:
                        companion.start()
                    except Exception:  # the commands work without it
                        _log.exception("%s does not run", type(companion).__name__)
            return self._services


# Each call uses its own value of these settings, or none.
_OF_EACH_CALL = frozenset({"agent", "context_root", "context_commit", "log_level"})


def _differing_settings(one: Settings, other: Settings) -> list[str]:
    """Return the names of the settings that differ and that the daemon shares between calls."""
    names = (name for name in Settings.__dataclass_fields__ if name not in _OF_EACH_CALL)
    return [name for name in names if getattr(one, name) != getattr(other, name)]


def serve(
    lock: ProcessLock,
    data_dir: str,
    *,
    environ: Mapping[str, str],
    is_unseen: bool = False,
    client: int = -1,
) -> NoReturn:
    """Run the daemon of `data_dir` until it is asked to stop, then end the process.

    To hand over, a daemon that a client started (`is_unseen`) starts the next one itself; any other
    ends with EXIT_HANDED_OVER, so that a service manager restarts it. `client`: see `_end`.
    """
    limit_memory()
    allow_many_files()
    # The matrices here are too small for several threads, which would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    collect_seldom()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    is_restarted = is_unseen or systemd.is_service(environ)
    commands = Commands(Path(data_dir), environ=environ, is_restarted=is_restarted)
    # Once the lock is gone, another daemon may use the folder.
    make_folders_only_while(lambda: lock.is_in_place, data_dir)
    os.chdir(data_dir)  # so that the first client's folder is not kept in use
    hands_over = host(commands, data_dir=data_dir, lock=lock, environ=environ)
    status = EXIT_HANDED_OVER if hands_over else 0
    if hands_over and is_unseen:
        status = 0
        with suppress(OSError):  # this Python is gone: the next command starts a daemon
            _next = spawn_daemon(data_dir)  # a Popen warns if it is dropped while its process runs
    logging.shutdown()
    _end(status, client)


def _end(status: int, client: int) -> NoReturn:
    """End the process; a client that waits for the daemon reads `status` from the pipe `client`."""
    with suppress(OSError):  # no client waits
        os.write(client, b"%d" % status)
    os._exit(status)  # a thread that waits for a stuck client must not keep the process


def take_over(data_dir: str, environ: Mapping[str, str], *, replace: bool) -> ProcessLock:
    """Take the lock of `data_dir`; with `replace`, end the daemon that holds it.

    Raises Conflict if another daemon serves it, DaemonUnreachable if that cannot be ended,
    StoreReadOnly if no lock can be made.
    """
    try:
        while (lock := take_lock(data_dir)) is None:
            if not replace:
                running = find_holder(state_file(data_dir, "daemon.lock"))
                which = f" (process {running.pid})" if running else ""
                raise Conflict(
                    f"a daemon serves {data_dir} already{which}",
                    hint="`memory-sidecar stop` stops it; --replace takes its place",
                )
            end_daemon(data_dir, environ)
    except OSError as error:
        raise StoreReadOnly(
            f"no daemon can keep its lock in {data_dir}: {error.strerror or error}"
        ) from error
    return lock


def main(*, client: int = -1) -> None:
    """Run `python -m memory_sidecar.cli.daemon DATA_DIR`, which a client starts unseen."""
    _end(_serve_unseen(sys.argv[1], client), client)


def _serve_unseen(data_dir: str, client: int) -> int:
    """Run the daemon, or return an exit status."""
    try:
        lock = take_lock(data_dir)
    except OSError as error:
        sys.stderr.write(f"no lock in {data_dir}: {error.strerror or error}\n")
        return EXIT_NO_PLACE
    if lock is None:
        return 0  # another daemon was faster: the client connects to that
    try:
        level = load_settings(Path(data_dir), os.environ).log_level
    except SidecarError:
        level = "info"  # `Commands.start` says what is wrong
    log.log_to_file(state_file(data_dir, "daemon.log"), level)
    try:
        serve(lock, data_dir, environ=os.environ, is_unseen=True, client=client)
    except DaemonUnreachable as error:
        _log.error("%s; %s", error.message, error.hint)
        return EXIT_NO_PLACE
    except Exception:
        _log.exception("cannot serve")
        return EXIT_FAILED


if __name__ == "__main__":
    main()
