"""One server for runs and conversations: what each client hears, and when the server ends."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

import pytest

from memory_sidecar.core.crash_log import MAX_CRASHES, CrashLog
from memory_sidecar.daemon import server as server_module
from memory_sidecar.daemon.exchange import Conversation, Exchange, Invocation, Kind
from memory_sidecar.daemon.listener import Listener
from memory_sidecar.daemon.own_code import OwnCode
from memory_sidecar.daemon.protocol import encode, greeting
from memory_sidecar.daemon.server import Server

PATIENCE_S = 20.0


class Echo:
    """Says every line back."""

    async def hold(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stopping: asyncio.Event
    ) -> None:
        ended = asyncio.create_task(stopping.wait())
        while True:
            heard = asyncio.create_task(reader.readline())
            await asyncio.wait({heard, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not heard.done() or not heard.result():
                break
            writer.write(heard.result())
        heard.cancel()
        ended.cancel()


class Application:
    """`say WORD` prints it, `read` prints its input, `wait` waits until it is cancelled."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.each_begun: queue.SimpleQueue[None] = queue.SimpleQueue()

    def start(self) -> None: ...

    def close(self) -> None: ...

    def kind_of(self, request: Invocation) -> Kind:
        return Kind.ENDLESS if request.arguments == ("wait",) else Kind.QUICK

    def may_end(self, *, idle_s: float) -> bool:
        return idle_s < 0

    is_worn = False

    def answer(self, exchange: Exchange) -> Conversation | int:
        match exchange.request.arguments:
            case ("say", word):
                exchange.stdout.write(word)
            case ("read",):
                exchange.stdout.write(exchange.stdin.read().decode())
            case ("wait",):
                self.begun.set()
                self.each_begun.put(None)
                exchange.cancelled.wait(PATIENCE_S)
            case ("talk",):
                return Echo()
            case _:
                raise RuntimeError("no such command")
        exchange.stdout.flush()
        return 0


class Client:
    """A greeted connection."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rwb")
        self.send(greeting())
        assert self.hear()["memory_sidecar"] == 1

    def send(self, frame: dict[str, object]) -> None:
        self._file.write(encode(frame))
        self._file.flush()

    def ask(self, *arguments: str, kind: str = "run") -> None:
        self.send({"type": kind, "arguments": list(arguments), "cwd": "/", "environ": {}})

    def hear(self) -> dict[str, object]:
        """The next frame; empty once the server hung up."""
        line = self._file.readline()
        return json.loads(line) if line else {}

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture
def crashes(tmp_path: Path) -> Iterator[CrashLog]:
    crashes = CrashLog(tmp_path, "requests")
    yield crashes
    crashes.close()


@pytest.fixture
def application() -> Application:
    return Application()


@pytest.fixture
def servers() -> list[Server]:
    """The server of `connect`."""
    return []


@pytest.fixture
def connect(
    tmp_path: Path, application: Application, crashes: CrashLog, servers: list[Server]
) -> Iterator[Callable[[], Client]]:
    path = tmp_path / "s"
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    loops: list[asyncio.AbstractEventLoop] = []
    ready = threading.Event()

    async def serve() -> None:
        servers.append(
            Server(
                Listener(listening, f"unix:{path}", path=path),
                application,
                data_dir=str(tmp_path),
                crashes=crashes,
                is_in_place=lambda: not (tmp_path / "removed").exists(),
                on_stop=lambda: None,
            )
        )
        loops.append(asyncio.get_running_loop())
        ready.set()
        await servers[0].run()
        servers[0].hang_up()
        await asyncio.sleep(0)

    serving = threading.Thread(target=lambda: asyncio.run(serve()))
    serving.start()
    ready.wait()
    clients: list[Client] = []

    def connect() -> Client:
        clients.append(Client(path))
        return clients[-1]

    yield connect
    with suppress(RuntimeError):  # its loop is closed: the test stopped it
        loops[0].call_soon_threadsafe(servers[0].stop)
    serving.join(PATIENCE_S)
    assert not serving.is_alive()
    for client in clients:
        client.close()


def test_output_comes_before_the_exit_of_a_command_that_is_done_at_once(connect, monkeypatch):
    def wrap(work: Future[int]) -> asyncio.Future[int]:
        """As Python 3.14 wraps what is done already."""
        wrapped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        wrapped.set_result(work.result())
        return wrapped

    monkeypatch.setattr(asyncio, "wrap_future", wrap)
    client = connect()
    client.ask("say", "hello")
    assert client.hear() == {"type": "out", "text": "hello"}
    assert client.hear() == {"type": "exit", "status": 0}


def test_a_run_ends_with_its_status_and_what_it_read_comes_back(connect):
    client = connect()
    client.ask("read")
    assert client.hear() == {"type": "need_stdin"}
    client.send({"type": "stdin", "data": "aGVsbG8="})
    assert client.hear() == {"type": "need_stdin"}
    client.send({"type": "stdin", "data": ""})
    assert client.hear() == {"type": "out", "text": "hello"}
    assert client.hear() == {"type": "exit", "status": 0}
    assert client.hear() == {}


def test_it_is_idle_since_its_last_client_however_short_that_stayed(connect, servers):
    client = connect()
    assert servers[0].idle_s == 0
    left_s = time.monotonic()
    client.ask("say", "hello")
    assert [client.hear() for _ in range(3)][-1] == {}
    assert 0 < servers[0].idle_s <= time.monotonic() - left_s


def test_a_conversation_keeps_the_connection_and_a_refusal_ends_it(connect):
    client = connect()
    client.ask("talk", kind="converse")
    assert client.hear() == {"type": "conversing"}
    for word in ("one", "two"):
        client.send({"said": word})
        assert client.hear() == {"said": word}
    refused = connect()
    refused.ask("nonsense", kind="converse")
    assert refused.hear() == {"type": "exit", "status": 1}


def test_what_killed_it_three_times_is_left_to_the_client(connect, crashes):
    for _ in range(MAX_CRASHES):
        crashes.count_crash(Invocation(("say", "x"), "/", {}, False, False, 80).key)
    client = connect()
    client.ask("say", "x")
    assert client.hear() == {"type": "alone"}


def test_all_who_ask_for_the_end_hear_of_it_at_once_and_nothing_endless_delays_it(
    connect, application
):
    endless, talking, *ending = (connect() for _ in range(4))
    endless.ask("wait")
    assert application.begun.wait(PATIENCE_S)
    talking.ask("talk", kind="converse")
    assert talking.hear() == {"type": "conversing"}
    began_s = time.monotonic()
    for client in ending:
        client.send({"type": "stop"})
    for client in ending:
        assert client.hear() == {"type": "done"}
    assert endless.hear() == {"type": "exit", "status": 0}
    assert talking.hear() == {}
    assert time.monotonic() - began_s < server_module.FINISH_TIMEOUT_S


def test_a_greeted_client_gets_an_answer_while_the_server_stops(connect, application):
    early, late = connect(), connect()
    early.ask("wait")
    assert application.begun.wait(PATIENCE_S)
    connect().send({"type": "stop"})
    late.ask("say", "x")
    assert late.hear()["type"] in ("refused", "exit", "out")


def test_one_that_is_cancelled_before_its_turn_is_told_that_it_has_not_begun(
    connect, application, monkeypatch
):
    cancelled, cancel = threading.Event(), Exchange.cancel

    def cancel_and_tell(exchange, **how):
        cancel(exchange, **how)
        cancelled.set()

    monkeypatch.setattr(Exchange, "cancel", cancel_and_tell)
    begun = [connect() for _ in range(server_module.TURNS[Kind.ENDLESS])]
    for client in begun:
        client.ask("wait")
        application.each_begun.get(timeout=PATIENCE_S)
    waiting = connect()
    waiting.ask("wait")
    waiting.send({"type": "cancel"})
    assert cancelled.wait(PATIENCE_S)
    begun[0].send({"type": "cancel"})
    assert begun[0].hear() == {"type": "exit", "status": 0}
    assert waiting.hear() == {"type": "exit", "status": 130, "has_begun": False}


def test_those_whose_requests_were_not_begun_with_are_sent_to_the_next_daemon(
    connect, application, monkeypatch
):
    monkeypatch.setattr(server_module, "FINISH_TIMEOUT_S", 0.2)
    begun = [connect() for _ in range(server_module.TURNS[Kind.ENDLESS])]
    for client in begun:
        client.ask("wait")
        application.each_begun.get(timeout=PATIENCE_S)
    without_a_turn, silent = connect(), connect()
    without_a_turn.ask("wait")
    connect().send({"type": "stop"})
    assert [client.hear() for client in begun] == [{"type": "exit", "status": 0}] * len(begun)
    assert (without_a_turn.hear(), silent.hear()) == ({"type": "refused"}, {"type": "refused"})


def test_a_client_whose_request_is_late_is_told_to_ask_again(connect, monkeypatch):
    monkeypatch.setattr(server_module, "HANDSHAKE_TIMEOUT_S", 0.1)
    client = connect()
    assert (client.hear(), client.hear()) == ({"type": "refused"}, {})


def test_a_client_is_refused_and_the_server_stops_once_its_place_is_gone(connect, tmp_path):
    client, next_client = connect(), connect()
    (tmp_path / "removed").touch()
    client.ask("say", "x")
    assert client.hear() == {"type": "refused"}
    (tmp_path / "removed").unlink()
    next_client.ask("say", "x")
    assert next_client.hear() == {"type": "refused"}


def test_a_server_says_why_the_next_one_goes_on(connect, application, servers, monkeypatch):
    application.is_worn = True
    client = connect()
    assert servers[0].reason_to_hand_over == ""  # a client is connected
    monkeypatch.setattr(OwnCode, "is_replaced_whole", True)
    assert servers[0].reason_to_hand_over == "its code was replaced on disk"
    client.close()  # the server waits 5 s for what a client that it greeted may ask
