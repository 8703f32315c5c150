"""Clients of MCP, and daemons to talk to."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.agents.services import Services
from memory_sidecar.core.results import Silent
from memory_sidecar.mcp.caller import Caller, Toolset
from tests.conftest import hashing_services, write_project
from tests.e2e.home import Home
from tests.mcp.host import Host

if sys.platform == "win32":
    collect_ignore_glob = ["*"]  # Unix sockets and signals

USUAL = frozenset({Toolset.CODE, Toolset.MEMORIES, Toolset.SESSIONS})


@contextmanager
def served_home(folder: Path) -> Iterator[Home]:
    """The data directory in `folder`, whose daemon ends with the block."""
    runtime_dir = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough for a socket
    home = Home(folder, runtime_dir)
    yield home
    home.end()
    shutil.rmtree(runtime_dir)


@pytest.fixture
def home(tmp_path: Path, indexed: Path) -> Iterator[Home]:
    """A data directory with a project that is indexed, not to be changed; no daemon runs yet."""
    with served_home(tmp_path) as home:
        yield home


@pytest.fixture(scope="session")
def shared_home(
    _indexed_once: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Home]:
    """The same with one daemon for all tests that leave it alone."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(_indexed_once[1], folder / "data")
    with served_home(folder) as home:
        yield home


@pytest.fixture
def start(home: Home, indexed: Path) -> Iterator[Callable[..., Host]]:
    """Starts a server for a host that has not shaken hands yet, and works in the project."""
    hosts: list[Host] = []

    def start(*arguments: object, **options: Any) -> Host:
        hosts.append(Host(home, *arguments, **{"cwd": indexed, **options}))
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


@pytest.fixture
def caller(services: Services, project: Path, newcomer: Caller) -> Caller:
    """Somebody who works in a project that is indexed."""
    services.codebase().index([project], reporter=Silent())
    return replace(newcomer, cwd=project / "shop")


@pytest.fixture
def newcomer(services: Services, tmp_path: Path) -> Caller:
    """Somebody for whom nothing was ever indexed or stored."""
    return Caller(services, tmp_path, "alice", USUAL, is_structured=True)


@pytest.fixture(scope="module")
def onlooker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """As `caller`, but one for all tests of a module that change nothing."""
    folder = tmp_path_factory.mktemp("read")
    project = write_project(folder / "project")
    with hashing_services(folder / "data") as services:
        services.codebase().index([project], reporter=Silent())
        yield Caller(services, project / "shop", "alice", USUAL, is_structured=True)
