"""Authenticates every request of the page, before anything else reads it.

A browser gets in with a token that works once, and gets a cookie that no script can read and that
no other site can make it send. The guard recognises a request from another site, or by a name
rebound to this machine, by its Host, Origin or Sec-Fetch-Site, and refuses it even with a valid
cookie.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_S = 300.0  # until a token expires
MAX_VISITORS = 32  # one more, and the oldest needs a new token
MAX_TOKENS = 16
MAX_BODY_BYTES = 4 << 20  # of a form
REFUSED = "not for you: `memory-sidecar web` opens this page\n"

ENTRANCE = (
    '<!doctype html><title>memory-sidecar</title><link rel="icon" href="/static/icon.svg">'
    '<meta http-equiv="refresh" content="0;url=/memories">'
)

HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not no-referrer: with that a browser sends forms with the Origin `null`.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Flash:
    """A message of a change for the next view, with the form that undoes the change."""

    text: str
    undo: str = ""  # the path that the form is sent to; "": no form
    fields: Mapping[str, str] = field(default_factory=dict)


class Visitor:
    """A browser that was let in: its form token, and the messages for its next view."""

    def __init__(self) -> None:
        self.form_token = secrets.token_urlsafe(24)
        self.flashes: list[Flash] = []

    def take_flashes(self) -> list[Flash]:
        """Return the kept messages and forget them."""
        flashes, self.flashes = self.flashes, []
        return flashes


class Visitors:
    """The unused tokens, and the browsers that were let in. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, float] = OrderedDict()  # expiry, by token
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()  # by cookie

    def invite(self) -> str:
        """Return a new token that works once, within TOKEN_S."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = time.monotonic() + TOKEN_S
            while len(self._tokens) > MAX_TOKENS:
                self._tokens.popitem(last=False)
        return token

    def redeem(self, token: str) -> str | None:
        """Exchange `token` for a new cookie; None if it was used, has expired or is unknown."""
        with self._lock:
            if self._tokens.pop(token, 0.0) < time.monotonic():
                return None
            cookie = secrets.token_urlsafe(32)
            self._visitors[cookie] = Visitor()
            while len(self._visitors) > MAX_VISITORS:
                self._visitors.popitem(last=False)
            return cookie

    def find(self, cookie: str) -> Visitor | None:
        """Return the visitor with `cookie`, if there is one."""
        with self._lock:
            return self._visitors.get(cookie)


class Guard:
    """ASGI middleware: passes requests of visitors to `port` of loopback on to `app`."""

    def __init__(self, app: ASGIApp, *, port: int, visitors: Visitors) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"memory_sidecar_{port}"  # browsers send cookies to all ports
        self._visitors = visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *sent]
            await send(message)

        request = Request(scope)
        answer = self._refusal(request) or self._entrance(request)
        if answer is None:
            visitor = self._visitors.find(request.cookies.get(self._cookie, ""))
            if visitor is not None:
                scope.setdefault("state", {})["visitor"] = visitor
                await self._app(scope, receive, send_guarded)
                return
            answer = PlainTextResponse(REFUSED, 401)
        await answer(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """Return the refusal of a request from elsewhere, or whose form is too large; else None."""
        headers = request.headers
        host = headers.get("host", "")
        origin = headers.get("origin")
        is_change = request.method not in ("GET", "HEAD")
        is_ours = origin == f"http://{host}" or (origin is None and not is_change)
        if host not in self._hosts or not is_ours:
            return PlainTextResponse(REFUSED, 403)
        if is_change:
            size = headers.get("content-length", "")
            is_chunked = "transfer-encoding" in headers  # does not state its size
            if is_chunked or not size.isdecimal() or int(size) > MAX_BODY_BYTES:
                return PlainTextResponse(f"at most {MAX_BODY_BYTES:,} bytes\n", 413)
        elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and not _is_entrance(request):
            return PlainTextResponse(REFUSED, 403)
        return None

    def _entrance(self, request: Request) -> Response | None:
        """Return the answer to the address with a token: the cookie and a page that leads on.

        None for other addresses. Not a redirect: after a link from elsewhere, the browser would
        follow it without the cookie, which is SameSite=Strict.
        """
        if not _is_entrance(request):
            return None
        cookie = self._visitors.redeem(request.query_params["token"])
        if cookie is None:
            return PlainTextResponse(REFUSED, 401)
        answer = HTMLResponse(ENTRANCE)
        answer.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
        answer.headers["cache-control"] = "no-store"
        return answer


def _is_entrance(request: Request) -> bool:
    return request.method == "GET" and request.url.path == "/" and "token" in request.query_params


def is_own_form(visitor: Visitor, token: str) -> bool:
    """Whether `token` is the one in the forms that `visitor` was shown."""
    return hmac.compare_digest(visitor.form_token.encode(), token.encode("utf-8", "replace"))
