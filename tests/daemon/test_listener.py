from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from memory_sidecar.core.errors import DaemonUnreachable
from memory_sidecar.daemon.address import (
    MAX_SOCKET_PATH_BYTES,
    known_addresses,
    read_address,
    socket_paths,
    state_file,
)
from memory_sidecar.daemon.listener import Listener

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    folder = tempfile.mkdtemp(dir="/tmp")
    yield {"XDG_RUNTIME_DIR": folder}
    shutil.rmtree(folder)


@pytest.fixture
def data_dir(tmp_path: Path) -> str:
    (tmp_path / "state").mkdir()
    return str(tmp_path)


def test_socket_is_ours_alone(data_dir, environ):
    listener = Listener.open(data_dir, environ)
    assert listener.path is not None
    assert listener.path.stat().st_mode & 0o777 == 0o600
    assert listener.path.parent.stat().st_mode & 0o777 == 0o700
    listener.socket.close()


def test_stale_socket_is_replaced(data_dir, environ):
    Listener.open(data_dir, environ).socket.close()
    listener = Listener.open(data_dir, environ)
    assert listener.is_in_place
    listener.socket.close()


def test_address_is_announced_to_us_alone_and_taken_back(data_dir, environ):
    listener = Listener.open(data_dir, environ)
    listener.announce(data_dir)
    announced = Path(state_file(data_dir, "daemon.json"))
    assert announced.stat().st_mode & 0o777 == 0o600
    assert json.loads(announced.read_text())["pid"] == os.getpid()
    assert next(known_addresses(data_dir, {})) == listener.address  # wherever it could be
    listener.retract(data_dir)
    listener.socket.close()
    assert not announced.exists()
    assert not listener.is_in_place


def test_a_disk_that_fails_for_a_moment_moves_no_socket(data_dir, environ, monkeypatch):
    listener = Listener.open(data_dir, environ)

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as failing:
        failing.setattr(os, "stat", fail)
        failing.setattr(os, "unlink", fail)
        assert listener.is_in_place
        listener.retract(data_dir)
    listener.socket.close()


@pytest.mark.parametrize("owner", ["a link", "another user"])
def test_folder_of_others_is_passed_over(data_dir, environ, tmp_path, owner):
    taken = Path(environ["XDG_RUNTIME_DIR"], "memory-sidecar")
    if owner == "a link":
        taken.symlink_to(tmp_path)
    elif os.geteuid() == 0:
        taken.mkdir()
        os.chown(taken, 65534, 65534)
    else:
        pytest.skip("only root can make a folder of another user")
    environ["TMPDIR"] = str(Path(environ["XDG_RUNTIME_DIR"], "tmp"))
    listener = Listener.open(data_dir, environ)
    assert listener.path is not None
    assert str(listener.path).startswith(environ["TMPDIR"])
    assert next(known_addresses(data_dir, environ)) == listener.address
    listener.socket.close()


def test_no_folder_at_all_is_said(data_dir, environ, monkeypatch):
    monkeypatch.setattr("memory_sidecar.daemon.address.MAX_SOCKET_PATH_BYTES", 0)
    with pytest.raises(DaemonUnreachable, match="no folder"):
        Listener.open(data_dir, environ)


def test_open_folder_is_closed_to_others(data_dir, environ):
    folder = Path(environ["XDG_RUNTIME_DIR"], "memory-sidecar")
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    Listener.open(data_dir, environ).socket.close()
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("length", [10, 60, 200])
def test_paths_of_any_length_give_a_short_socket(tmp_path, length):
    runtime_dir = tmp_path / ("r" * length)
    runtime_dir.mkdir()
    environ = {"XDG_RUNTIME_DIR": str(runtime_dir), "TMPDIR": "/t" * 90}
    paths = list(socket_paths("/d" * length, environ))
    assert paths
    assert all(len(path) <= MAX_SOCKET_PATH_BYTES for path in paths)


def test_a_link_to_a_data_directory_means_the_same_daemon(tmp_path, environ):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    one, other = (list(socket_paths(str(tmp_path / name), environ)) for name in ("data", "link"))
    assert one == other


# None of these may be believed, wherever it came from.
BROKEN = {
    "empty": "",
    "an opening brace": "{",
    "a list": "[]",
    "no address": "{}",
    "a number": '{"address": 7}',
    "no UTF-8": "\xff",
    "null": "null",
    "deep": "[" * 4000,
    "huge": '{"address": "' + "x" * (1 << 20) + '"}',
    "a port out of range": '{"address": "tcp:99999:y"}',
    "a port": '{"address": "tcp:4711:token"}',
    "a folder of all": '{"address": "unix:/tmp/0123456789abcdef.sock"}',
    "a socket of another name": '{"address": "unix:FOLDER/agent.sock"}',
    "a NUL": '{"address": "unix:/\\u0000/0123456789abcdef.sock"}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_address_that_cannot_be_ours_is_as_good_as_none(data_dir, environ, content):
    listener = Listener.open(data_dir, environ)
    listener.socket.close()
    assert listener.path is not None
    content = content.replace("FOLDER", str(listener.path.parent))
    Path(state_file(data_dir, "daemon.json")).write_text(content, "latin-1")
    assert next(known_addresses(data_dir, environ)) == listener.address


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "another user's"])
def test_address_file_that_is_no_file_of_ours_is_replaced(data_dir, environ, tmp_path, kind):
    announced = Path(state_file(data_dir, "daemon.json"))
    precious = tmp_path / "precious"
    precious.write_text('{"address": "unix:/x"}')
    match kind:
        case "link":
            announced.symlink_to(precious)
        case "fifo":
            os.mkfifo(announced)
        case "folder":
            announced.mkdir()
        case _ if os.geteuid() == 0:
            announced.write_text(precious.read_text())
            os.chown(announced, 65534, 65534)
        case _:
            pytest.skip("only root can make a file of another user")
    assert read_address(data_dir) is None
    listener = Listener.open(data_dir, environ)
    listener.announce(data_dir)
    listener.socket.close()
    assert next(known_addresses(data_dir, environ)) == listener.address
    assert precious.read_text() == '{"address": "unix:/x"}'
    if kind != "folder":  # one that holds something may be anything
        assert read_address(data_dir) == listener.address
