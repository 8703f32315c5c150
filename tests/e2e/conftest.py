"""A data directory with a daemon of its own, which never outlives its test."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.home import Home

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # Unix sockets and signals


@pytest.fixture
def runtime_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough for a socket; `tmp_path` is not
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(tmp_path: Path, runtime_dir: Path) -> Iterator[Home]:
    folder = tmp_path / "home"
    folder.mkdir()
    home = Home(folder, runtime_dir)
    home.data_dir.mkdir()  # as a command that writes would: what only reads makes none
    yield home
    home.end()
