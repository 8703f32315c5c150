"""A server that is far away is asked seldom: what commands cost in round trips."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory_sidecar.agents import team_files
from tests.conftest import write_memory


class Counted:
    """A socket in front of the server's. Counts how often the server is ready for more.

    What a client sends together, in a pipeline, has one such answer, however the parts arrive.
    """

    def __init__(self, server: str, folder: Path) -> None:
        self.round_trips = 0
        self._server = server
        self._open: list[socket.socket] = []
        self._listening = self._note(socket.socket(socket.AF_UNIX))
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _note(self, opened: socket.socket) -> socket.socket:
        self._open.append(opened)
        return opened

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._note(self._listening.accept()[0])
                server = self._note(socket.socket(socket.AF_UNIX))
                server.connect(self._server)
                for pass_on in (self._ask, self._answer):
                    threading.Thread(target=pass_on, args=(client, server), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        """Pass messages on whole: a letter, and a length of four bytes that counts itself."""
        with suppress(OSError), server.makefile("rb") as answers:
            while head := answers.read(5):
                self.round_trips += head[:1] == b"Z"
                client.sendall(head + answers.read(int.from_bytes(head[1:]) - 4))
            client.shutdown(socket.SHUT_WR)


@pytest.fixture
def counted(database: str, tmp_path: Path) -> Iterator[tuple[str, Counted]]:
    """An address of the database, and how often the server was asked there."""
    server = Counted(f"{conninfo_to_dict(database)['host']}/.s.PGSQL.5432", tmp_path)
    yield make_conninfo(database, host=str(tmp_path)), server
    server.close()


def trips(server: Counted, run: Callable[[], object]) -> int:
    before = server.round_trips
    run()
    return server.round_trips - before


def test_a_store_and_a_question_ask_the_server_as_few_times_as_they_can(
    database, machine, counted, monkeypatch
):
    monkeypatch.setattr(team_files, "LOOK_EVERY_S", 0)  # each command looks
    address, server = counted
    one, two = machine("one", address), machine("two", database)
    stored = ("--agent", "shared", "--category", "rules")
    assert one("store", "Never retry", *stored).status == 0  # it makes the schema, too
    assert two("store", "Tabs", *stored).status == 0
    news = trips(server, lambda: one("query", "tabs", "--agent", "shared"))
    assert news <= 1 + 1 + 3  # is there any? which? their contents, in a transaction
    assert trips(server, lambda: one("store", "Spaces", *stored)) <= 1 + 1 + 1 + 3
    for each in range(30):
        write_memory(one.folder("shared"), f"rule-{each}.md", f"Rule {each}")
    assert trips(server, lambda: one("memory", "push", "--agent", "shared")) <= 1 + 3
    assert two.json("memory", "pull", "--agent", "shared")["taken"].count("rule-29.md") == 1
