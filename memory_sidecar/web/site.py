"""Runs the page: a socket on loopback and a thread, which ends when the page is unused."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memory_sidecar.agents.services import Services
from memory_sidecar.core.errors import UsageError
from memory_sidecar.web.app import LIVE, WebApp
from memory_sidecar.web.guard import Guard, Visitors

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 64  # a browser opens six
END_S = 2.0  # for requests under way
IDLE_LOOK_S = 1.0

_log = logging.getLogger(__name__)


class PageConnection(H11Protocol):
    """A browser's connection. Beyond MAX_CONNECTIONS, a new one closes the oldest idle one.

    Otherwise any process on this machine could use up the daemon's file descriptors with
    connections that request nothing. If none is idle, it closes the oldest stream of events, which
    its tab opens again, or else itself.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.made_at_s = time.monotonic()
        of_page = [each for each in self.connections if isinstance(each, PageConnection)]
        others = [each for each in of_page if each is not self and not each.transport.is_closing()]
        if len(others) >= MAX_CONNECTIONS:
            idle = [each for each in others if not each.cycle or each.cycle.response_complete]
            streams = [each for each in others if each.scope and each.scope["path"] == LIVE]
            oldest = min(idle or streams or [self], key=lambda each: each.made_at_s)
            oldest.transport.abort()


class Site:
    """Serves the page from `start` until `close`, or until no browser has used it for `idle_s`."""

    def __init__(
        self,
        services: Services,
        *,
        environ: Mapping[str, str],
        daemon_log: str,
        idle_s: float,
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        """`daemon_log`: the log of the daemon that serves the page, "" without one."""
        self._app = WebApp(services, environ, daemon_log, lambda: self.is_ending)
        self._idle_s = idle_s
        self._on_end = on_end
        self._visitors = Visitors()
        self._used_at_s = time.monotonic()
        self._active_requests = 0
        self.port = 0

    def start(self, port: int = 0) -> None:
        """Listen on `port` of loopback, 0 for a free one. Raises UsageError if it is in use."""
        try:
            listening = socket.create_server((LOOPBACK, port))
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used: {error.strerror}", hint="leave --port out"
            ) from error
        self.port = listening.getsockname()[1]
        app = Guard(self._track_use(self._app.asgi()), port=self.port, visitors=self._visitors)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PageConnection,
                backlog=MAX_CONNECTIONS,  # accepted at once
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=int(END_S),
            )
        )
        self._thread = threading.Thread(
            target=self._serve, args=(listening,), name="web", daemon=True
        )
        self._thread.start()

    def address(self) -> str:
        """Return the address of the page, with a new token that works once."""
        self._used_at_s = time.monotonic()
        return f"http://{LOOPBACK}:{self.port}/?token={self._visitors.invite()}"

    @property
    def is_ending(self) -> bool:
        """Whether the page takes no more requests, though some may not have ended yet."""
        return self._server.should_exit

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the page has stopped, at most `timeout_s`."""
        self._thread.join(timeout_s)

    def close(self) -> None:
        self._server.should_exit = True
        self.wait(2 * END_S)

    def _serve(self, listening: socket.socket) -> None:
        try:
            asyncio.run(self._serve_until_stop(listening))
        except Exception:
            _log.exception("the page has ended")
        finally:
            listening.close()
            self._on_end()

    async def _serve_until_stop(self, listening: socket.socket) -> None:
        watching = asyncio.create_task(self._watch_use())
        await self._server.serve(sockets=[listening])
        watching.cancel()

    async def _watch_use(self) -> None:
        while self._active_requests or time.monotonic() - self._used_at_s < self._idle_s:
            await asyncio.sleep(IDLE_LOOK_S)
        _log.info("no browser has asked for the page for a while")
        self._server.should_exit = True

    def _track_use(self, app: ASGIApp) -> ASGIApp:
        """Wrap `app` to record when its last request ended, for `_watch_use`."""

        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            self._active_requests += 1
            try:
                await app(scope, receive, send)
            finally:
                self._active_requests -= 1
                self._used_at_s = time.monotonic()

        return count
