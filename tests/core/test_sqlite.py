"""Connections to SQLite: what their errors are called."""

from __future__ import annotations

import os
import sys

import pytest

from memory_sidecar.core.errors import OutOfFiles
from memory_sidecar.core.sqlite import connect, transaction

if sys.platform != "win32":
    import resource

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits this process")


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
