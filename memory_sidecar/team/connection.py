"""A psycopg connection with a limit on waiting, and values in PostgreSQL's formats."""

from __future__ import annotations

import struct
import time
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memory_sidecar.index.codes import Floats

SCHEMA_NAME = "memory_sidecar"
Connected = psycopg.Connection[tuple[Any, ...]]
READ_S, WRITE_S = 15.0, 120.0  # the longest wait for an answer of a connected server
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
