"""A psycopg connection with a limit on waiting, its errors, and values in PostgreSQL's formats."""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memory_sidecar.index.codes import Floats

Connected = psycopg.Connection[tuple[Any, ...]]
READ_S, WRITE_S = 15.0, 120.0  # the longest wait for an answer of a connected server
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

T = TypeVar("T")


class NoAnswer(psycopg.OperationalError):
    """The connected server has not answered for too long."""


class TeamConnection(Connected):
    """A connection that raises NoAnswer after `patience_s` without an answer."""

    patience_s = READ_S

    def wait(self, gen: Generator[Any, Any, T], *options: Any, **named: Any) -> T:  # noqa: ANN401
        return super().wait(_patient(gen, self.patience_s), *options, **named)


def _patient(gen: Generator[Any, Any, T], patience_s: float) -> Generator[Any, Any, T]:
    """Wrap `gen`, psycopg's wait: it is sent the socket's readiness, or 0 ten times a second."""
    last_s = time.monotonic()
    try:
        awaited = next(gen)
        while True:
            ready = yield awaited
            if ready:
                last_s = time.monotonic()
            elif time.monotonic() - last_s > patience_s:
                raise NoAnswer(f"no answer for {patience_s:g} s")
            awaited = gen.send(ready)
    except StopIteration as done:
        answer: T = done.value
        return answer


def message_of(error: psycopg.Error) -> str:
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


def is_refusal(error: psycopg.Error) -> bool:
    """Whether the server refused the login for good, or nothing can be reached as is asked for."""
    message = str(error)
    return bool(_FOR_GOOD.search(message) or _TLS.search(message)) or (
        "FATAL:" in message and not (error.sqlstate or _BUSY.search(message))
    )


def is_about_tls(error: psycopg.Error) -> bool:
    """Whether libpq and the server could not agree on TLS, or trust each other's certificate."""
    message = str(error)
    return bool(_TLS.search(message)) and ("FATAL:" not in message or "a valid client" in message)


def integers(values: Iterable[int]) -> str:
    """Return an array literal of PostgreSQL, in a twentieth of the time that psycopg takes."""
    return f"{{{','.join(map(str, values))}}}"


class HalfVector(bytes):
    """A vector as pgvector sends and receives a `halfvec`."""

    @classmethod
    def of(cls, vector: Floats) -> HalfVector:
        return cls(struct.pack(">hh", len(vector), 0) + vector.astype(">f2").tobytes())


class HalfVectorDumper(Dumper):
    format = Format.BINARY
    oid = 0  # unknown: the type's oid differs by database, and the server infers the type

    def dump(self, obj: HalfVector) -> bytes:
        return obj
