"""Whatever the umask, and whatever was there before: what is stored is for its user alone."""

from __future__ import annotations

import os
import stat

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs rights")


@pytest.mark.parametrize("no_daemon", ["", "1"])
def test_every_command_closes_the_data_directory_to_others(home, no_daemon):
    before = os.umask(0)
    try:
        for name in ("state", "knowledge"):
            (home.data_dir / name).mkdir(parents=True)
        for name in ("embeddings.sqlite", "A.mv2"):
            (home.data_dir / name).touch()
        done = home.call("store", "Prices are in cents", MEMORY_SIDECAR_NO_DAEMON=no_daemon)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    open_to_others = [
        path
        for path in home.data_dir.rglob("*")
        if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and path.parent == home.data_dir
    ]
    assert open_to_others == []
