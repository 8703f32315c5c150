"""Who may look: nothing is answered to another site, a stolen token or a name made to mean us."""

from __future__ import annotations

import asyncio
import http.client
import socket
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.types import Message

from memory_sidecar.web.app import WebApp
from memory_sidecar.web.guard import MAX_BODY_BYTES
from memory_sidecar.web.site import MAX_CONNECTIONS
from tests.web.conftest import Reader, Served

ROOT = Path(__file__).parents[2]


def entrance(served: Served) -> str:
    return urlsplit(served.site.address())._replace(scheme="", netloc="").geturl()


def test_a_token_opens_once(served):
    address, first, thief = entrance(served), Reader(served.site.port), Reader(served.site.port)
    entered = first.get(address)
    assert entered.status == 200
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert thief.get(address).status == 401
    assert thief.get("/memories").status == 401


def test_a_cookie_of_ones_own_making_is_none(served):
    stranger = Reader(served.site.port, f"memory_sidecar_{served.site.port}=guessed")
    assert stranger.get("/memories").status == 401
    assert stranger.get("/static/app.js").status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda headers: "=".join(*headers.items()),
)
def test_what_comes_from_elsewhere_is_refused(served, reader, headers):
    assert reader.get("/memories").status == 200
    assert reader.get("/memories", **headers).status == 403
    if "Sec-Fetch-Site" not in headers:  # a link in a mail may lead here
        assert Reader(served.site.port).get(entrance(served), **headers).status == 403


def test_a_change_says_where_it_comes_from(served, reader):
    kept = served.store("Nothing that comes from elsewhere takes this away")
    fields = {"agent": kept.agent, "path": kept.path}
    refused = [
        reader.send("/memories/archive", fields, Origin="http://evil.example"),
        reader.send("/memories/archive", fields),  # without the token of a form
        reader.send("/memories/archive", fields | {"form_token": "guessed"}),
        reader.send("/memories/archive", fields | {"form_token": served.reader().form_token}),
        Reader(served.site.port).send("/memories/archive", fields),
        reader.get("/memories/archive"),
    ]
    assert [answer.status for answer in refused] == [403, 403, 403, 403, 401, 405]
    assert reader.post("/memories/archive", fields).status == 303


def test_a_form_has_its_size(reader):
    large = {"path": "x" * MAX_BODY_BYTES}
    assert reader.send("/memories/archive", large).status == 413
    of_another_size = {"Transfer-Encoding": "chunked", "Content-Length": "3"}
    assert reader.send("/memories/archive", {"a": "b"}, **of_another_size).status == 413


def test_a_form_that_breaks_off_is_no_fault_of_ours(served):
    app = WebApp(served.services, {}, "", lambda: False).asgi()
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    form = [(b"content-type", b"application/x-www-form-urlencoded")]
    asked = {"type": "http", "method": "POST", "path": "/memories/archive", "headers": form}
    asyncio.run(app(asked, receive, send))
    assert sent[0]["status"] == 400


def test_those_who_never_end_their_request_give_way(reader):
    many = MAX_CONNECTIONS + 20
    with ExitStack() as opened:
        connect = partial(socket.create_connection, ("127.0.0.1", reader.port), timeout=20)
        slow = [opened.enter_context(connect()) for _ in range(many)]
        for each in slow:
            with suppress(ConnectionError):
                each.send(b"GET /memories HTTP/1.1\r\nX-Slow: ")
        assert reader.get("/memories").status == 200
        for each in slow[: many - MAX_CONNECTIONS]:
            with suppress(ConnectionResetError):
                assert each.recv(1) == b""


def test_as_many_streams_as_connections_keep_no_browser_out(reader):
    with ExitStack() as opened:
        streams = [
            opened.enter_context(reader.listening("/live?view=/memories"))
            for _ in range(MAX_CONNECTIONS)
        ]
        assert reader.get("/memories").status == 200
        with pytest.raises(http.client.IncompleteRead):
            streams[0].read()
        assert streams[-1].readline().startswith(b": still")


def test_scripts_and_styles_are_our_own_alone(reader):
    answer = reader.get("/memories")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers[POLICY].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"
    for piece in (" style=", " onclick=", "<script>", "<style>", "http://", "https://"):
        assert piece not in answer.text


POLICY = "content-security-policy"


def test_what_is_vendored_is_small_and_has_its_licences():
    folder = ROOT / "memory_sidecar" / "web" / "static"
    assert sum(file.stat().st_size for file in folder.glob("*.min.*")) <= 180_000
    licences = (folder / "LICENSES.txt").read_text("utf-8")
    for name in ("htmx 2.0", "uPlot 1.6", "Pico CSS 2.1"):
        assert name in licences
