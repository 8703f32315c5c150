"""A short form of `benchmarks/team_crowd.py`: machines at once, while the server is killed."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from team_crowd import run_crowd

from tests.team.conftest import import_server

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the server is killed as on Unix")


def test_machines_at_once_lose_and_double_nothing_while_the_server_is_killed(tmp_path):
    get_server = import_server()
    # Not in tmp_path: each run of pytest that begins closes its root to the server's user.
    with tempfile.TemporaryDirectory() as folder:
        server = get_server(Path(folder), cleanup_mode="stop")
        try:
            with ThreadPoolExecutor(4) as executor:
                crowd, told = run_crowd(
                    server, tmp_path, executor, seconds=2, readers=2, writers=2, kills=1
                )
        finally:
            server.cleanup()
    assert crowd.stored > 0
    assert all(each.calls_ms for each in told)
    assert not crowd.errors
    assert (crowd.lost, crowd.differing, crowd.doubled) == (0, 0, 0)
