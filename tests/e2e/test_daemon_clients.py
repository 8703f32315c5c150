"""What a client sees of the daemon: the same as if the command ran in its own process."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from memory_sidecar.daemon.protocol import MAX_FRAME_BYTES, encode, greeting
from tests.e2e.home import PROGRAM, TIMEOUT_S, Done, Home
from tests.waiting import eventually

HELLO = encode(greeting())


def both_ways(home: Home, *arguments: object, stdin: str = "") -> tuple[Done, Done]:
    """The same call through the daemon and without one."""
    through = home.call(*arguments, stdin=stdin)
    alone = home.call(*arguments, stdin=stdin, MEMORY_SIDECAR_NO_DAEMON="1")
    return through, alone


@pytest.fixture
def indexed(home: Home) -> Home:
    home.call("index", home.add_source(), "--wait", "keyword")
    return home


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """The same for all tests that leave it as it is."""
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))
    home = Home(tmp_path_factory.mktemp("shared"), runtime_dir)
    home.call("index", home.add_source(), "--wait", "keyword")
    yield home
    home.end()
    shutil.rmtree(runtime_dir)


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "--all", "total", "--mode", "keyword"],
        ["search", "--all", "total", "--mode", "keyword", "--json"],
        ["search", "--all", "total", "--language", "klingon"],
        ["search", "--all", "--top-k", "none", "total"],
        ["search", "--all", "--help"],
        ["source", "remove", "nothing", "--json"],
        ["nonsense"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_output_and_status_are_those_of_a_command_of_ones_own(shared, arguments):
    through, alone = both_ways(shared, *arguments)
    assert through.stdout == alone.stdout
    assert through.stderr == alone.stderr
    assert through.returncode == alone.returncode


def test_standard_input_is_read_when_asked_for(shared):
    done = shared.call("search", "--all", "-", "--mode", "keyword", "--json", stdin="total\n")
    assert [hit["filename"] for hit in json.loads(done.stdout)] == ["cart.py"]


def test_standard_input_that_is_not_utf8_is_named(shared):
    done = subprocess.run(
        [str(PROGRAM), "search", "--all", "-"],
        env=shared.environ,
        input=b"caf\xe9",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"not UTF-8 (byte 3)" in done.stderr


def test_standard_input_is_left_alone_otherwise(indexed):
    read, write = os.pipe()
    os.write(write, b"for somebody else")
    client = indexed.start("source", "list", stdin=read)
    client.communicate(timeout=60)
    assert os.read(read, 100) == b"for somebody else"
    os.close(read)
    os.close(write)


def test_output_of_more_than_a_megabyte_arrives_whole(home):
    root = home.folder / "empty"
    root.mkdir()
    names = [f"{'é漢字' * 11}{number:0150}.py" for number in range(4500)]
    for name in names:
        (root / name).touch()
    done = home.call("index", root, "--wait", "keyword")
    assert len(done.stdout) > 1_000_000
    skipped = json.loads(done.stdout)["files_skipped"]
    assert sorted(file["path"] for file in skipped) == sorted(names)


@pytest.mark.skipif(os.name == "nt", reason="a pipe of Unix")
@pytest.mark.parametrize("options", [[], ["--no-daemon"]])
def test_input_is_waited_for_of_a_pipe_that_does_not_block(indexed, options):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"it came ")
    command = indexed.start("store", "-", *options, stdin=reading)
    eventually(lambda: struct.unpack("i", fcntl.ioctl(reading, termios.FIONREAD, bytes(4))) == (0,))
    indexed.call("list")  # meanwhile the command finds nothing to read
    os.write(writing, b"in two parts")
    os.close(writing)
    out, err = command.communicate(timeout=TIMEOUT_S)
    os.close(reading)
    assert (command.returncode, err) == (0, "")
    assert indexed.call("get", json.loads(out)["path"]).stdout == "it came in two parts\n"


@pytest.mark.skipif(os.name == "nt", reason="a pipe of Unix")
@pytest.mark.parametrize("options", [[], ["--no-daemon"]])
def test_a_host_may_pass_mcp_a_pipe_that_does_not_block(indexed, options):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    server = indexed.start("mcp", *options, stdin=reading)
    for asked in (1, 2):
        os.write(writing, encode({"jsonrpc": "2.0", "id": asked, "method": "ping"}))
        assert json.loads(server.stdout.readline())["id"] == asked
    os.close(writing)
    os.close(reading)
    assert server.communicate(timeout=TIMEOUT_S) == ("", "")
    assert server.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
@pytest.mark.parametrize("options", [[], ["--no-daemon"]])
def test_output_that_finds_no_room_is_said_in_a_line(indexed, options):
    told = {**indexed.environ, "MEMORY_SIDECAR_NO_DAEMON": "0"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PROGRAM, "search", "--all", "total", "--mode", "keyword", "--json", *options],
            env=told, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert (done.returncode, error["code"]) == (1, "disk_full")
    assert error["message"] == "no room left to write the output"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux")
def test_a_note_that_finds_no_room_costs_no_result(indexed):
    for question, status in (("total", 0), ("xyzzyplugh", 0), ("", 2)):
        words = [str(PROGRAM), "search", "--all", "--json", question]
        told = {**indexed.environ, "MEMORY_SIDECAR_NO_DAEMON": "0"}
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(words, env=told, stdout=subprocess.PIPE, stderr=full, check=False)
        assert (done.returncode, bool(done.stdout)) == (status, not status)


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("options", ["", "--no-daemon"])
def test_who_closes_a_stream_gets_a_status_that_is_true(indexed, closed, options):
    told = {**indexed.environ, "MEMORY_SIDECAR_NO_DAEMON": "0"}
    line = f"'{PROGRAM}' search --all total --mode keyword {options} {closed}"
    done = subprocess.run(["sh", "-c", line], env=told, capture_output=True, check=False)
    loses_its_result = ">&-" in closed.split()
    assert (done.returncode, b"Traceback" in done.stderr) == (int(loses_its_result), False)
    assert (b"the output: it is closed" in done.stderr) == (closed == ">&-")


@pytest.mark.skipif(os.name == "nt", reason="a shell of Unix")
@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_an_mcp_server_without_a_stream_says_so(home, closed):
    told = {**home.environ, "MEMORY_SIDECAR_NO_DAEMON": "0"}
    line = f"'{PROGRAM}' mcp {closed}"
    done = subprocess.run(["sh", "-c", line], env=told, capture_output=True, check=False)
    assert (done.returncode, b"one of which is closed" in done.stderr) == (1, True)


def test_reader_that_leaves_is_a_broken_pipe(indexed):
    client = indexed.start("search", "--all", "-", "--mode", "keyword", stdin=subprocess.PIPE)
    assert client.stdin is not None
    assert client.stdout is not None
    assert client.stderr is not None
    client.stdout.close()
    client.stdin.write("total")
    client.stdin.close()
    assert client.stderr.read() == ""
    assert client.wait(timeout=60) == 141
    client.stderr.close()


def test_interrupt_cancels_and_is_130(indexed):
    client = indexed.start("search", "--all", "-", "--json", stdin=subprocess.PIPE)
    indexed.wait_for_requests(1)
    client.send_signal(signal.SIGINT)
    client.wait(timeout=60)
    assert client.returncode == 130
    indexed.wait_for_requests(0)
    _, told = client.communicate()
    assert json.loads(told)["error"]["code"] == "interrupted"


def test_killed_client_frees_its_request(indexed):
    client = indexed.start("search", "--all", "-", stdin=subprocess.PIPE)
    indexed.wait_for_requests(1)
    client.kill()
    client.communicate()
    indexed.wait_for_requests(0)


def test_terminal_gets_its_width_and_colours(indexed):
    controller, terminal = pty.openpty()
    environ = {**indexed.environ, "COLUMNS": "60", "TERM": "xterm"}
    client = subprocess.Popen(
        [str(PROGRAM), "search", "--all", "--help"], env=environ, stdin=terminal, stdout=terminal
    )
    client.wait(timeout=60)
    os.close(terminal)
    shown = b""
    while part := _read(controller):
        shown += part
    os.close(controller)
    examples = "    memory-sidecar "  # which are there to be copied
    lines = [line for line in shown.decode().splitlines() if not line.startswith(examples)]
    assert max(map(len, lines)) <= 60


def test_many_clients_at_once_all_get_their_answer(indexed):
    def ask(_: int) -> list[list[str]]:
        return [
            [hit["filename"] for hit in json.loads(indexed.call(*arguments).stdout)]
            for _ in range(2)
        ]

    arguments = ("search", "--all", "total", "--mode", "keyword", "--json")
    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(ask, range(50))) == [[["cart.py"]] * 2] * 50


def test_two_clients_that_index_at_once_both_succeed(home):
    roots = [home.add_source("one"), home.add_source("two")]
    clients = [home.start("index", root, "--wait", "keyword") for root in roots]
    for client in clients:
        out, _ = client.communicate(timeout=60)
        assert (client.returncode, json.loads(out)["files_failed"]) == (0, [])
    found = home.call("search", "--all", "total", "--mode", "keyword", "--json")
    (hit,) = json.loads(found.stdout)  # the same text in both
    assert sorted([hit["source"], hit["copies"][0]["source"]]) == ["one", "two"]


def test_silent_clients_block_nobody_and_are_dropped(indexed):
    silent = [indexed.connect() for _ in range(30)]
    assert indexed.sources() == ["shop"]
    assert [client.recv(10) for client in silent] == [b""] * 30
    for client in silent:
        client.close()


def test_clients_that_wait_for_input_block_nobody(indexed):
    waiting = [indexed.start("search", "--all", "-", stdin=subprocess.PIPE) for _ in range(12)]
    indexed.wait_for_requests(12)
    assert indexed.sources() == ["shop"]
    done = indexed.call("search", "--all", "total", "--mode", "keyword", "--json")
    assert len(json.loads(done.stdout)) == 1
    for client in waiting:
        client.kill()
        client.communicate()


def test_calls_that_never_end_block_nobody(indexed):
    endless = [indexed.start("status", "--watch") for _ in range(12)]
    for client in endless[:1]:
        assert client.stdout is not None
        assert client.stdout.readline()
    assert indexed.sources() == ["shop"]
    done = indexed.call("search", "--all", "total", "--mode", "keyword", "--json")
    assert len(json.loads(done.stdout)) == 1
    for client in endless:
        client.kill()
        client.communicate()


def test_threads_end_with_their_requests(indexed):
    daemon = psutil.Process(indexed.pid)
    waiting = [indexed.start("search", "--all", "-", stdin=subprocess.PIPE) for _ in range(12)]
    indexed.wait_for_requests(12)
    busy = daemon.num_threads()
    for client in waiting:
        client.kill()
        client.communicate()
    eventually(lambda: daemon.num_threads() <= busy - 12)


def test_input_without_end_ends_with_its_client(indexed):
    with Path("/dev/zero").open("rb") as zeros:
        client = indexed.start("search", "--all", "-", stdin=zeros)
        indexed.wait_for_requests(1)
        client.kill()
        client.communicate()
    indexed.wait_for_requests(0)
    assert indexed.sources() == ["shop"]


def test_interrupt_that_is_not_heeded_says_what_goes_on(indexed):
    client = indexed.start("search", "--all", "-", stdin=subprocess.PIPE)
    indexed.wait_for_requests(1)
    os.kill(indexed.pid, signal.SIGSTOP)
    client.send_signal(signal.SIGINT)
    _, err = client.communicate(timeout=60)
    os.kill(indexed.pid, signal.SIGCONT)
    assert client.returncode == 130
    assert "as soon as its present step is done" in err


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\xff\xfe" * 100 + b"\n",
        b"[]\n",
        b'{"memory_sidecar": "one", "version": 1}\n',
        b"[" * 100_000 + b"\n",
        HELLO + b'{"type": "dance"}\n',
        HELLO + b'{"type": "run"}\n',
        HELLO + b'{"type": "run", "arguments": ["status"], "cwd": 7}\n',
        HELLO + b"x" * (2 * MAX_FRAME_BYTES),
    ],
    ids=lambda sent: repr(sent[:40]),
)
def test_garbage_is_refused_without_harm(shared, sent):
    pid = shared.pid
    with shared.connect() as client:
        try:
            client.sendall(sent)
            while client.recv(1 << 16):
                pass
        except ConnectionError:
            pass
    assert shared.sources() == ["shop"]
    assert shared.pid == pid


def test_half_open_connection_is_dropped(shared):
    with shared.connect() as client:
        client.sendall(HELLO)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            pass
    assert shared.sources() == ["shop"]


def test_nobody_else_can_reach_the_socket(indexed):
    folder = indexed.runtime_dir / "memory-sidecar"
    (path,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_other_settings_than_the_daemons_are_pointed_out(indexed):
    done = indexed.call("source", "list", MEMORY_SIDECAR_EMBED_THREADS="1")
    assert done.returncode == 0
    assert "embed_threads" in done.stderr
    bad = indexed.call("source", "list", MEMORY_SIDECAR_EMBED_THREADS="many")
    assert bad.returncode == 2


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:  # Linux's word for the other end being closed
        return b""


def test_a_team_is_made_and_copied_where_the_caller_says(home):
    def database(user: str, name: str) -> dict[str, str]:
        address = f"postgresql://{user}@/{name}?host={home.folder}"
        return {"MEMORY_SIDECAR_DATABASE": address}

    assert home.call("store", "Totals are cents", **database("alice", "one")).returncode == 0
    for words in ("init", "export new.zip"):
        done = home.call("team", *words.split(), **database("owner", "other"))
        assert done.returncode == 1
        assert "other (owner@" in done.stderr
        assert "alice" not in done.stderr


@pytest.mark.parametrize("database", ["mysql://db/team", "postgresql://me:secret@db/team"])
def test_a_database_that_is_corrected_needs_no_other_daemon(home, database):
    pytest.importorskip("psycopg")
    bad = home.call("store", "Totals are cents.", MEMORY_SIDECAR_DATABASE=database)
    assert (bad.returncode, "database" in bad.stderr) == (2, True)
    done = home.call("store", "Totals are cents.")
    assert (done.returncode, done.stderr) == (0, "")
