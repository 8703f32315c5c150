"""A database is opened only where its own files lie, and they are for the user alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memory_sidecar.core.errors import PathRefused, StoreError
from memory_sidecar.core.sqlite import connect, named_errors
from memory_sidecar.index.report import database_bytes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and FIFOs")


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "victim")


@pytest.mark.parametrize("make", [link, os.mkfifo])
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("read_only", [True, False])
def test_no_link_and_no_fifo_is_opened(tmp_path, make, suffix, read_only):
    (tmp_path / "data").mkdir()
    (tmp_path / "victim").write_bytes(b"mine")
    path = tmp_path / "data" / "a.sqlite"
    if suffix:
        connect(path).close()
    make(path.with_name(path.name + suffix))
    with pytest.raises(PathRefused, match=r"symbolic link|not a regular file"):
        connect(path, read_only=read_only)
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_the_size_is_told_while_another_process_closes_the_database(tmp_path, monkeypatch):
    path = tmp_path / "a.sqlite"
    path.write_bytes(bytes(100))
    log = tmp_path / "a.sqlite-wal"
    log.write_bytes(bytes(10))
    status = Path.stat

    def last_look(self: Path, **options: bool) -> os.stat_result:
        found = status(self, **options)
        if self == log:
            log.unlink()
        return found

    monkeypatch.setattr(Path, "stat", last_look)
    assert [database_bytes(path) for _ in range(2)] == [110, 100]


def test_what_is_made_is_for_the_user_alone(tmp_path):
    path = tmp_path / "data" / "a.sqlite"
    before = os.umask(0)
    try:
        connection = connect(path)
        connection.execute("CREATE TABLE t (x)")
    finally:
        os.umask(before)
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {"a.sqlite": 0o600, "a.sqlite-wal": 0o600, "a.sqlite-shm": 0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    connection.close()


def test_what_the_disk_refuses_is_told_in_its_words(tmp_path):
    with pytest.raises(StoreError) as raised, named_errors(tmp_path / "a.sqlite"):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "knowledge")
    assert raised.value.message == f"{tmp_path / 'a.sqlite'}: No such file or directory"


def test_a_limit_on_memory_is_named_where_a_file_cannot_be_mapped(tmp_path):
    with pytest.raises(StoreError) as raised, named_errors(tmp_path / "mdb"):
        raise OSError(errno.ENOMEM, "Cannot allocate memory (os error 12)")
    assert "raise `ulimit -v`" in raised.value.hint
