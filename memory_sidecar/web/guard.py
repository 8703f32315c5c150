"""Who may look: one gate that every request of the page passes, before anything reads it.

A browser gets in with a token that opens once, and keeps a cookie that no script can read and that
no other site can have sent. A page of another site, or a name that was made to mean this machine,
has a Host, an Origin or a Sec-Fetch-Site of its own, and is refused whatever else it brings.
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

TOKEN_S = 300.0  # to open the address in
MAX_VISITORS = 32  # the one that came first has to come again
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
class Told:
    """What a change has to say on the next view, and the form that takes it back."""

    text: str
    undo: str = ""  # the path that the form is sent to
    fields: Mapping[str, str] = field(default_factory=dict)


class Visitor:
    """One browser that was let in."""

    def __init__(self) -> None:
        self.form_token = secrets.token_urlsafe(24)
        self._told: list[Told] = []

    def tell(self, told: Told) -> None:
        """Keep what the next view shows, once."""
        self._told.append(told)

    def hear(self) -> list[Told]:
        """What has been kept, which is forgotten."""
        told, self._told = self._told, []
        return told


class Visitors:
    """The tokens that still open, and the browsers that were let in. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, float] = OrderedDict()  # with the time when each ends
        self._visitors: OrderedDict[str, Visitor] = OrderedDict()  # by cookie

    def invite(self) -> str:
        """A token that opens once, within TOKEN_S."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = time.monotonic() + TOKEN_S
            while len(self._tokens) > MAX_TOKENS:
                self._tokens.popitem(last=False)
        return token

    def enter(self, token: str) -> str | None:
        """The cookie that `token` is good for; `None` where it was used, or is none."""
        with self._lock:
            if self._tokens.pop(token, 0.0) < time.monotonic():
                return None
            cookie = secrets.token_urlsafe(32)
            self._visitors[cookie] = Visitor()
            while len(self._visitors) > MAX_VISITORS:
                self._visitors.popitem(last=False)
            return cookie

    def known(self, cookie: str) -> Visitor | None:
        """Who has that cookie."""
        with self._lock:
            return self._visitors.get(cookie)


class Guard:
    """Lets requests to `port` of this machine's own address through to `app`."""

    def __init__(self, app: ASGIApp, *, port: int, visitors: Visitors) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"memory_sidecar_{port}"  # cookies know no ports
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
            visitor = self._visitors.known(request.cookies.get(self._cookie, ""))
            if visitor is not None:
                scope.setdefault("state", {})["visitor"] = visitor
                await self._app(scope, receive, send_guarded)
                return
            answer = PlainTextResponse(REFUSED, 401)
        await answer(scope, receive, send_guarded)

    def _refusal(self, request: Request) -> Response | None:
        """What a request is told that comes from elsewhere, or is none of a browser's."""
        headers = request.headers
        host = headers.get("host", "")
        origin = headers.get("origin")
        is_change = request.method not in ("GET", "HEAD")
        is_ours = origin == f"http://{host}" or (origin is None and not is_change)
        if host not in self._hosts or not is_ours:
            return PlainTextResponse(REFUSED, 403)
        if is_change:
            size = headers.get("content-length", "")
            if not size.isdecimal() or int(size) > MAX_BODY_BYTES:
                return PlainTextResponse(f"at most {MAX_BODY_BYTES:,} bytes\n", 413)
        elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and not _is_entrance(request):
            return PlainTextResponse(REFUSED, 403)
        return None

    def _entrance(self, request: Request) -> Response | None:
        """A cookie for who opens the address with its token, and the way in.

        By a page, not a redirect: coming from a link elsewhere, a redirect would not be sent the
        cookie, which is for requests from here alone.
        """
        if not _is_entrance(request):
            return None
        cookie = self._visitors.enter(request.query_params["token"])
        if cookie is None:
            return PlainTextResponse(REFUSED, 401)
        answer = HTMLResponse(ENTRANCE)
        answer.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
        answer.headers["cache-control"] = "no-store"
        return answer


def _is_entrance(request: Request) -> bool:
    return request.method == "GET" and request.url.path == "/" and "token" in request.query_params


def is_own_form(visitor: Visitor, token: str) -> bool:
    """Whether a form that came with `token` is one that this visitor was shown."""
    return hmac.compare_digest(visitor.form_token.encode(), token.encode("utf-8", "replace"))
