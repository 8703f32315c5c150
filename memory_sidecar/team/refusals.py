"""Turns the errors of psycopg, libpq and the server into ours, which name a next step."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseRefused,
    DatabaseUnreachable,
    DiskFull,
    SidecarError,
)
from memory_sidecar.team.connection import SCHEMA_NAME

_BUSY = re.compile(
    "too many (clients|connections)|remaining connection slots|starting up|shutting down"
    "|recovery mode|not yet accepting"
)
"""In messages of a server that refuses connections for a while; libpq gives no code for them."""

_TLS = re.compile(
    "server does not support SSL|certificate|private key file|protocol version"
    r"|SSL error: \S+ alert (?!internal error)"
)
_FOR_GOOD = re.compile(
    "weak sslmode|could not match|definition of service"
    '|invalid (?:[a-z_"]+ value|port number)'
    "|channel binding required|authentication method requirement|GSSAPI encryption required"
)
"""In messages of libpq about the address: as with those of `_TLS`, trying again would not help."""

_OF_DAEMON = "a daemon has the PGPASSWORD that it was started with, until `memory-sidecar stop`"
_OF_LOGIN = (
    "check user, password (PGPASSWORD, passfile, database_password_command), sslmode and"
    f" pg_hba.conf; {_OF_DAEMON}"
)
_OF_TLS = (
    "check sslmode, sslrootcert, sslcert, this machine's clock, and the name and the dates in the"
    " server's certificate"
)


def translated(error: psycopg.Error, shown: str) -> SidecarError:
    """Return the error of ours that names the cause and a next step."""
    message = _message_of(error)
    match error:
        case errors.InsufficientPrivilege():
            remedy = (
                "a superuser runs CREATE EXTENSION vector there"
                if "extension" in message
                else f"its owner runs `memory-sidecar team init`{_grant_of(message)}"
            )
            return DatabaseRefused(f"{shown}: {message}", hint=f"{remedy}: see docs/team.md")
        case errors.DiskFull():
            return DiskFull(f"{shown}: the server's disk is full", hint="free some space")
        case errors.ReadOnlySqlTransaction():
            return DatabaseRefused(
                f"{shown}: {message}",
                hint="it is a standby, or read-only for now: name the primary as `database`",
            )
        case errors.QueryCanceled():
            return DatabaseError(
                f"{shown}: {message}",
                hint="a statement_timeout there is too short for this, and for the graphs of"
                " vectors: ALTER ROLE ... SET statement_timeout = 0",
            )
        case errors.LockNotAvailable():
            return DatabaseError(
                f"{shown}: another call has locked it, which exports or makes the graphs"
                " of vectors, for example",
                hint="try again when that is done",
            )
        case errors.UndefinedFile() | errors.FeatureNotSupported() if "vector" in str(error):
            return DatabaseRefused(
                f"{shown}: its server lacks the extension pgvector",
                hint="install it there, 0.8 or later: see docs/team.md",
            )
        case psycopg.OperationalError() if error.pgconn and error.pgconn.needs_password:
            return DatabaseRefused(
                f"{shown} asks for a password, and none is given",
                hint="PGPASSWORD gives it, a passfile that only you may read (~/.pgpass),"
                f" or database_password_command; {_OF_DAEMON}",
            )
        case psycopg.OperationalError() if _is_refusal(error):
            return DatabaseRefused(
                f"{shown} refused: {message}",
                hint=_OF_TLS if _is_about_tls(error) else _OF_LOGIN,
            )
        case psycopg.OperationalError() | psycopg.InterfaceError() if not isinstance(
            error, errors.OutOfMemory | errors.ProgramLimitExceeded
        ):
            return DatabaseUnreachable(
                f"{shown} does not answer: {message}", hint="try again in a while"
            )
        case _:
            return DatabaseError(f"{shown}: {message}", hint="`memory-sidecar doctor`")


def _grant_of(message: str) -> str:
    """Name the role that permits what `message` denies; "" of what only the owner may."""
    for denied, role in (
        ("mirrored", "agent"),
        (f"schema {SCHEMA_NAME}", "reader"),
        (" table ", "indexer"),
    ):
        if denied in message:
            return f" and grants memory_sidecar_{role}"
    return ""


def _message_of(error: psycopg.Error) -> str:
    """Return the message of the server or of libpq in one line, without advice and address."""
    if message := error.diag.message_primary:
        return message
    # Several attempts are listed once more behind the message of the last one.
    lines = str(error).strip().partition("\nMultiple connection attempts")[0].split("\n")
    causes = [line for line in lines if " failed: " in line] or lines[:1]  # before its advice
    return (
        causes[-1]
        .rpartition("FATAL:")[2]
        .rpartition(" failed: ")[2]
        .removeprefix("connection is bad: ")
        .strip()
    )


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether the server refused the login for good, or nothing can be reached as is asked for."""
    message = str(error)
    return bool(_FOR_GOOD.search(message) or _TLS.search(message)) or (
        "FATAL:" in message and not (error.sqlstate or _BUSY.search(message))
    )


def _is_about_tls(error: psycopg.Error) -> bool:
    """Whether libpq and the server could not agree on TLS, or trust each other's certificate."""
    message = str(error)
    return bool(_TLS.search(message)) and ("FATAL:" not in message or "a valid client" in message)
