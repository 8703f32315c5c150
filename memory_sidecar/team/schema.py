"""Creates the schema of a team's database, migrates an older one, and refuses a newer one.

This is one transaction under a lock: of several machines that start at once, one does the work and
the others find it done.
"""

from __future__ import annotations

import logging
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Final

from psycopg import errors

from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseRefused,
    DatabaseUnreachable,
    NoIndex,
    StoreNewer,
    TeamEmpty,
)
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.team.connection import SCHEMA_NAME, Connected
from memory_sidecar.team.link import Statement, TeamLink

SCRIPTS: Final = ("team.sql", "mirror.sql", "code.sql", "nearest.sql")
"""The scripts that create a new schema, in order."""

MIGRATIONS: Final = (
    ("code.sql",),
    ("nearest.sql",),
    ("writer.sql",),
    ("nearest.sql", "folded.sql"),
)
"""The scripts from version n to n + 1, for n from 1 on. `SCRIPTS` create the last version."""

_log = logging.getLogger(__name__)
_SILENT: Final = Silent()
MANY_CHUNKS = 10_000  # of all sources; from here on searches of vectors use HNSW graphs
VERSION: Final = 1 + len(MIGRATIONS)
_LOCK = 0x6D656D73  # "mems"
_IDENTITY: Final = f"{SCHEMA_NAME}.identity"  # another program may have one in `public`
_READ_VERSION: Final = f"SELECT value FROM {_IDENTITY} WHERE key = 'version'"
_MAKE: Final = f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}; CREATE EXTENSION IF NOT EXISTS vector"
_SET_VERSION: Final = (
    f"INSERT INTO identity VALUES ('version', '{VERSION}')"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)


def require_schema(connection: Connected, link: TeamLink) -> None:
    """Raise TeamEmpty if there is no schema, NoIndex for an older one, StoreNewer for a newer."""
    try:
        found = _read_version(connection)  # one question, where `schema_version` asks two
    except errors.UndefinedTable:  # after which the transaction takes no other
        found = 0
    _require_version(found, link)


def look_in_schema(link: TeamLink, *statements: Statement) -> list[list[Any]]:
    """Run `TeamLink.look`, and `require_schema` in the same round trip."""
    try:
        version, *found = link.look((_READ_VERSION, ()), *statements)
    except DatabaseUnreachable:
        raise
    except DatabaseError:
        with link.reading() as connection:  # what another version lacks is not what is wrong
            require_schema(connection, link)
        raise
    _require_version(int(version[0][0]) if version else 0, link)
    return found


def _require_version(found: int, link: TeamLink) -> None:
    if found == VERSION:
        return
    _refuse_newer(found, link)
    raise _outdated(found, link)


def _outdated(found: int, link: TeamLink) -> NoIndex:
    if found:
        return NoIndex(
            f"{link.shown} is of version {found}, older than this one",
            hint="its owner updates memory-sidecar, and runs `memory-sidecar team init`",
        )
    return TeamEmpty(
        f"{link.shown} holds nothing yet", hint="its owner runs `memory-sidecar team init`"
    )


def make_schema(link: TeamLink, reporter: Reporter = _SILENT) -> None:
    """Create the schema, or migrate it. If it is current, only its version is read.

    Raises StoreNewer; if this role may not, DatabaseRefused or, for an older schema, NoIndex.
    """
    with link.reading() as connection:
        found = schema_version(connection)
    if found == VERSION:
        return
    try:
        brought = _make_schema(link)
    except DatabaseRefused as error:
        if found and isinstance(error.__cause__, errors.InsufficientPrivilege):
            raise _outdated(found, link) from error
        raise
    if brought:
        reporter.notice(brought)
        _log.info(brought)  # the notices of a daemon go nowhere


def _make_schema(link: TeamLink) -> str:
    """Do the work of `make_schema`; return which version was migrated, "" for none."""
    brought = ""
    with link.writing(patience_s=inf) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = schema_version(connection)
        _refuse_newer(found, link)
        if not found:
            _require_unicode(connection, link)
            connection.execute(_MAKE)
        elif found < VERSION:  # else another machine was faster
            brought = f"{link.shown}: brought its schema from version {found} to {VERSION}"
        connection.execute("SET LOCAL lock_timeout = '10s'")  # others wait behind this one
        for script in chain(*MIGRATIONS[found - 1 :]) if found else SCRIPTS:
            connection.execute(_script(script))
        connection.execute(_SET_VERSION)
    return brought


def grant_roles(link: TeamLink) -> None:
    """Create the roles of `roles.sql` and grant their rights. Raises DatabaseRefused."""
    with link.writing() as connection:
        connection.execute(_script("roles.sql"))


def declare_nearest(link: TeamLink, reporter: Reporter = _SILENT) -> None:
    """Create the HNSW graphs of vectors once there are MANY_CHUNKS, if they are missing."""
    with link.reading() as connection:
        row = connection.execute(
            "SELECT sum(chunks) FROM sources HAVING sum(chunks) >= %s"
            " AND to_regclass('chunk_vectors_nearest') IS NULL",
            (MANY_CHUNKS,),
        ).fetchone()
    if row is not None:
        reporter.notice(
            f"{link.shown}: building the vector graphs of {row[0]:,} chunks, some minutes for"
            " 100,000; searches go on meanwhile, what is indexed waits"
        )
        with link.writing(patience_s=inf) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute("SELECT declare_nearest()")


def whole_script() -> str:
    """Return the SQL of `make_schema` and `grant_roles` for an empty database, to run by psql."""
    scripts = map(_script, (*SCRIPTS, "roles.sql"))
    path = f"SET search_path TO {SCHEMA_NAME}, public;"
    return "\n".join(("BEGIN;", f"{_MAKE};", path, *scripts, f"{_SET_VERSION};", "COMMIT;"))


def _script(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def schema_version(connection: Connected) -> int:
    """Return the version of the schema; 0 if there is none."""
    ((is_there,),) = connection.execute(f"SELECT to_regclass('{_IDENTITY}') IS NOT NULL")
    return _read_version(connection) if is_there else 0


def _read_version(connection: Connected) -> int:
    row = connection.execute(_READ_VERSION).fetchone()
    return int(row[0]) if row else 0


def _require_unicode(connection: Connected, link: TeamLink) -> None:
    ((encoding,),) = connection.execute("SHOW server_encoding")
    if encoding not in ("UTF8", "SQL_ASCII"):  # which keeps bytes as they come
        raise DatabaseRefused(
            f"{link.shown} has the encoding {encoding}, which lacks most characters",
            hint="createdb --encoding UTF8 --template template0",
        )


def _refuse_newer(found: int, link: TeamLink) -> None:
    if found > VERSION:
        raise StoreNewer(
            f"{link.shown} has schema {found}, this version knows {VERSION}",
            hint="update memory-sidecar on this machine",
        )
