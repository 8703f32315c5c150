"""What a database was made with, and whether this build may use it.

A file that is not ours is never touched. One of a newer schema is refused, since a newer build
may be using it. An older schema is set aside as it is and made anew: everything in it is derived.
"""

from __future__ import annotations

import secrets
from importlib import resources
from pathlib import Path

import apsw

from memory_sidecar.errors import StoreForeign, StoreNewer
from memory_sidecar.sqlite import (
    APPLICATION_ID,
    connect,
    integers,
    named_errors,
    transaction,
)

SCHEMA_VERSION = 1


def open_current(path: Path) -> apsw.Connection:
    """A writer's connection to `path` with the current schema, made or made anew as needed."""
    connection = connect(path)
    try:
        found = _schema_version(connection, path)
        if found == SCHEMA_VERSION:
            return connection
        if found:
            connection.close()
            set_aside(path)
            connection = connect(path)
        _create(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def is_outdated(path: Path) -> bool:
    """Whether `open_current` would set `path` aside. Raises as that does."""
    if not path.exists():
        return False
    connection = connect(path, read_only=True)
    try:
        return _schema_version(connection, path) not in (0, SCHEMA_VERSION)
    finally:
        connection.close()


def read_identity(connection: apsw.Connection, key: str) -> str:
    """One value of the identity, "" when it has none."""
    value = connection.execute("SELECT value FROM identity WHERE key = ?", (key,)).get
    return str(value or "")


def write_identity(connection: apsw.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO identity VALUES (?, ?)", (key, value))


def new_state_id() -> str:
    """A random id that a database and a CocoIndex state folder carry when they belong together."""
    return secrets.token_hex(16)


def set_aside(path: Path) -> None:
    """Move a database that cannot be used out of the way, as `<name>.old`, one kept."""
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.replace(path.with_name(path.name + ".old"))


def _schema_version(connection: apsw.Connection, path: Path) -> int:
    """0 for a new file."""
    with named_errors(path):
        application, version = (
            connection.pragma("application_id"),
            connection.pragma("user_version"),
        )
        tables = integers(connection.execute("SELECT name = 'code_chunks' FROM sqlite_schema"))
    if application == 0 and version == 0 and not tables:
        return 0
    if application != APPLICATION_ID or 1 not in tables:  # the vector cache has our id, too
        raise StoreForeign(
            f"{path} is not a database of code",
            hint="name another file with --db; this one was left as it is",
        )
    if version > SCHEMA_VERSION:
        raise StoreNewer(
            f"{path} has schema {version}, this version knows {SCHEMA_VERSION}",
            hint="update memory-sidecar, or name another file with --db",
        )
    return int(version)


def _create(connection: apsw.Connection) -> None:
    schema = resources.files(__package__).joinpath("sql", "codebase.sql").read_text("utf-8")
    with transaction(connection):
        connection.execute(schema)
        write_identity(connection, "vector_version", "0")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", SCHEMA_VERSION)
