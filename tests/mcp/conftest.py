"""Clients of MCP, and daemons to talk to."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.home import Home
from tests.mcp.host import Host

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # Unix sockets and signals


@pytest.fixture
def home(tmp_path: Path, indexed: Path) -> Iterator[Home]:
    """A data directory with a project that is indexed, not to be changed; no daemon runs yet."""
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough for a socket
    home = Home(tmp_path, runtime_dir)
    yield home
    home.end()
    shutil.rmtree(runtime_dir)


@pytest.fixture
def start(home: Home) -> Iterator[Callable[..., Host]]:
    """Starts a server for a host that has not shaken hands yet."""
    hosts: list[Host] = []

    def start(*arguments: object, **options: Any) -> Host:
        hosts.append(Host(home, *arguments, **options))
        return hosts[-1]

    yield start
    for host in hosts:
        if host.process.poll() is None:
            host.process.kill()
        host.process.communicate()


@pytest.fixture
def host(start: Callable[..., Host]) -> Host:
    """A host that has shaken hands."""
    host = start()
    host.open()
    return host
