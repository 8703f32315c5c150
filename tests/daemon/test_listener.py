from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_sidecar.daemon.address import (
    MAX_SOCKET_PATH_BYTES,
    known_addresses,
    socket_path,
    state_file,
)
from memory_sidecar.daemon.listener import Listener
from memory_sidecar.errors import DaemonUnreachable

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


def test_socket_is_ours_alone(data_dir: str, environ: dict[str, str]) -> None:
    listener = Listener.open(data_dir, environ)
    assert listener.path is not None
    assert listener.path.stat().st_mode & 0o777 == 0o600
    assert listener.path.parent.stat().st_mode & 0o777 == 0o700
    listener.socket.close()


def test_stale_socket_is_replaced(data_dir: str, environ: dict[str, str]) -> None:
    Listener.open(data_dir, environ).socket.close()
    listener = Listener.open(data_dir, environ)
    assert listener.is_in_place
    listener.socket.close()


def test_address_is_announced_to_us_alone_and_taken_back(
    data_dir: str, environ: dict[str, str]
) -> None:
    listener = Listener.open(data_dir, environ)
    listener.announce(data_dir)
    announced = Path(state_file(data_dir, "daemon.json"))
    assert announced.stat().st_mode & 0o777 == 0o600
    assert json.loads(announced.read_text())["pid"] == os.getpid()
    assert next(known_addresses(data_dir, {})) == listener.address
    listener.retract(data_dir)
    listener.socket.close()
    assert not announced.exists()
    assert not listener.is_in_place


def test_folder_that_is_a_link_is_refused(
    data_dir: str, environ: dict[str, str], tmp_path: Path
) -> None:
    Path(environ["XDG_RUNTIME_DIR"], "memory-sidecar").symlink_to(tmp_path)
    with pytest.raises(DaemonUnreachable, match="somebody else"):
        Listener.open(data_dir, environ)


def test_open_folder_is_closed_to_others(data_dir: str, environ: dict[str, str]) -> None:
    folder = Path(environ["XDG_RUNTIME_DIR"], "memory-sidecar")
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    Listener.open(data_dir, environ).socket.close()
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("length", [10, 60, 200])
def test_paths_of_any_length_give_a_short_socket(tmp_path: Path, length: int) -> None:
    runtime_dir = tmp_path / ("r" * length)
    runtime_dir.mkdir()
    path = socket_path("/d" * length, {"XDG_RUNTIME_DIR": str(runtime_dir), "TMPDIR": "/t" * 90})
    assert len(path) <= MAX_SOCKET_PATH_BYTES


def test_a_link_to_a_data_directory_means_the_same_daemon(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    paths = {socket_path(str(tmp_path / name), environ) for name in ("data", "link")}
    assert len(paths) == 1


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"address": 7}', "\xff", "null"])
def test_broken_address_file_is_as_good_as_none(
    data_dir: str, environ: dict[str, str], content: str
) -> None:
    Path(state_file(data_dir, "daemon.json")).write_text(content, "latin-1")
    (address,) = known_addresses(data_dir, environ)
    assert address == f"unix:{socket_path(data_dir, environ)}"
