"""Connections to SQLite: what their errors are called, and how often statements are planned."""

from __future__ import annotations

import os
import sys

import apsw
import pytest

from memory_sidecar.core.errors import OutOfFiles
from memory_sidecar.core.sqlite import connect, transaction

if sys.platform != "win32":
    import resource


@pytest.mark.skipif(sys.platform == "win32", reason="limits this process")
@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("left", range(4))
def test_a_database_that_needs_more_files_than_may_be_open_says_so(tmp_path, read_only, left):
    db = tmp_path / "a.sqlite"
    connection = connect(db)
    with transaction(connection):
        connection.execute("CREATE TABLE rows (id)")
    connection.close()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.open(os.devnull, os.O_RDONLY) for _ in range(left + 1)]
    for each in free:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[left], limits[1]))
    try:
        connect(db, read_only=read_only).close()  # with sqlite-vec open already, it needs less
        assert left >= 2
    except OutOfFiles:
        pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_statement_is_planned_once_for_all_its_values(tmp_path, read_only):
    path = tmp_path / "shop.sqlite"
    planned: list[object] = []
    writer = connect(path)
    writer.execute("CREATE TABLE carts (id INTEGER PRIMARY KEY, total INTEGER)")
    connection = connect(path, read_only=True) if read_only else writer

    def plan(*read: object) -> int:
        planned.append(read)
        return apsw.SQLITE_OK

    connection.authorizer = plan
    by_id = "SELECT 1 FROM carts a JOIN carts b USING (total) WHERE a.id = ?"
    connection.execute(by_id, (1,))
    of_one = len(planned)

    connection.execute(by_id, (2,))

    assert len(planned) == of_one > 0
    connection.close()
    writer.close()
