"""Connections to a team's database: one transaction each, errors with a next step.

Idle connections are kept for the next question. There is no pool of threads: a command that takes
50 ms opens what it needs in its own. What fails for a lost connection, `retrying` does again on a
new one. Several threads ask in one commit: one after the other, or what takes long on a second
connection, whose answer counts if that sees the same.
"""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo

from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseRefused,
    DatabaseUnreachable,
    DiskFull,
    SidecarError,
)
from memory_sidecar.core.settings import Settings
from memory_sidecar.team.address import CONNECT_S, Address
from memory_sidecar.team.connection import (
    READ_S,
    WRITE_S,
    Connected,
    HalfVector,
    HalfVectorDumper,
    NoAnswer,
    TeamConnection,
)

MAX_IDLE = 4
TRIES = 3
PAUSE_S = 0.2  # before the second try, twice as long before the third
AWAY_S = 15.0  # for so long a server that did not answer is not asked again by a reader
SCHEMA_NAME = "memory_sidecar"

_OURS = {
    "application_name": "memory-sidecar",
    "options": f"-c search_path={SCHEMA_NAME},public -c jit=off"
    " -c client_connection_check_interval=2s -c idle_in_transaction_session_timeout=60s"
    " -c hnsw.iterative_scan=relaxed_order -c hnsw.ef_search=600",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",  # ms: a network that swallows what is sent must not hold a command
}

_BUSY = re.compile(
    "too many (clients|connections)|remaining connection slots|starting up|shutting down"
    "|recovery mode|not yet accepting"
)
"""In what a server says that lets nobody in for a while; libpq tells no code of it."""

_TLS = re.compile("server does not support SSL|certificate")
"""In what libpq says of a server that it does not go on with: nor will it later."""

_OF_DAEMON = "a daemon has the PGPASSWORD that it was started with, until `memory-sidecar stop`"

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL hnsw.ef_search = 100"
"""Of a graph of static vectors fewer rows are looked at than of one of the model's, which have a
connection beside: at so many of either that 99 of a hundred that are nearest are found."""

_LOOK_AT_MORE = "SELECT set_config('hnsw.ef_search', '600', true)"  # as there

T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]
Question = tuple[str, Values]


class TeamLink:
    """A team's database. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: deque[TeamConnection] = deque()  # the one used last comes first again
        self._away_until_s = 0.0
        self._away: SidecarError | None = None  # what was said then

    @property
    def shown(self) -> str:
        """For people."""
        return self.address.shown

    @property
    def is_away(self) -> bool:
        """Whether the server did not answer a moment ago."""
        return time.monotonic() < self._away_until_s

    def require(self) -> None:
        """Raise DatabaseUnreachable where the server did not answer a moment ago."""
        if self.is_away and self._away is not None:
            raise self._away

    @contextmanager
    def reading(self) -> Iterator[Connected]:
        """A transaction whose every query sees the same commit; it waits for no writer."""
        with self._transaction(_READ) as connection:
            yield connection

    def ask(self, *questions: Question) -> list[list[Any]]:
        """The rows of each of `questions`, which see the latest commit, by one wait for all.

        Raises DatabaseError.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.connect()
        with self._kept(connection, READ_S), connection.pipeline():
            asked = [connection.execute(*each, binary=True) for each in questions]
            return [each.fetchall() for each in asked]

    @contextmanager
    def writing(self, *, patience_s: float = WRITE_S) -> Iterator[Connected]:
        """A transaction: all of the block is committed, or none."""
        with self._transaction("BEGIN", patience_s) as connection:
            yield connection

    def retrying(self, work: Callable[[], T]) -> T:
        """Do `work`, which changes nothing when it is done twice; again if a connection is lost."""
        for tried in range(1, TRIES):
            try:
                return work()
            except DatabaseUnreachable:
                self.close()
                time.sleep(PAUSE_S * tried)
        return work()

    def delay_ms(self) -> float:
        """How long the server takes to answer, in ms. Raises DatabaseError."""
        with self.reading() as connection:
            started = time.perf_counter()
            connection.execute("SELECT 1")
            return 1000 * (time.perf_counter() - started)

    def connect(self) -> TeamConnection:
        """A connection of its own, which the caller closes. Raises DatabaseError."""
        password = self.address.password()
        try:
            connection = TeamConnection.connect(
                make_conninfo("", **{**self.address.parameters, **password, **_OURS}),
                autocommit=True,
            )
        except psycopg.Error as error:
            raise self._named(error) from error
        connection.adapters.register_dumper(HalfVector, HalfVectorDumper)
        self._away_until_s = 0.0
        return connection

    def close(self) -> None:
        """Give back every idle connection; the next use opens what it needs."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _note_away(self, error: SidecarError) -> None:
        self._away, self._away_until_s = error, time.monotonic() + AWAY_S

    @contextmanager
    def _transaction(self, begin: str, patience_s: float = READ_S) -> Iterator[Connected]:
        connection = self._begun(begin)
        with self._kept(connection, patience_s):
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _kept(self, connection: TeamConnection, patience_s: float) -> Iterator[None]:
        """Keep `connection` for the next question after the block, unless that fails."""
        connection.patience_s = patience_s
        try:
            yield
        except BaseException as error:
            connection.close()  # which rolls back
            if isinstance(error, psycopg.Error):
                named = self._named(error)
                if isinstance(error, NoAnswer):
                    self._note_away(named)
                raise named from error
            raise
        if len(self._idle) < MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def _begun(self, begin: str) -> TeamConnection:
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                connection.patience_s = CONNECT_S
                try:
                    connection.execute(begin)
                except psycopg.Error as error:  # a server that was restarted is noticed here
                    connection.close()
                    if isinstance(error, NoAnswer):
                        self.close()  # the others would be waited for as long
                else:
                    return connection
        try:
            connection = self.connect()
        except DatabaseUnreachable as error:
            self._note_away(error)
            raise
        try:
            connection.execute(begin)
        except psycopg.Error as error:
            connection.close()
            raise self._named(error) from error
        return connection

    def _named(self, error: psycopg.Error) -> SidecarError:
        said = _said(error)
        match error:
            case errors.InsufficientPrivilege() if "extension" in said:
                return DatabaseRefused(
                    f"{self.shown}: {said}",
                    hint="a superuser runs CREATE EXTENSION vector there: see docs/team.md",
                )
            case errors.InsufficientPrivilege():
                return DatabaseRefused(
                    f"{self.shown}: {said}",
                    hint="its owner runs `memory-sidecar team init` and grants the role:"
                    " see docs/team.md",
                )
            case errors.DiskFull():
                return DiskFull(f"{self.shown}: the server's disk is full", hint="free some space")
            case errors.ReadOnlySqlTransaction():
                return DatabaseRefused(
                    f"{self.shown}: {said}",
                    hint="it is a standby, or read-only for now: name the primary as `database`",
                )
            case errors.LockNotAvailable():
                return DatabaseError(
                    f"{self.shown}: its tables are locked, for example by `team export`",
                    hint="try again when that is done",
                )
            case errors.UndefinedFile() | errors.FeatureNotSupported() if "vector" in str(error):
                return DatabaseRefused(
                    f"{self.shown}: its server lacks the extension pgvector",
                    hint="install it there, 0.8 or later: see docs/team.md",
                )
            case psycopg.OperationalError() if error.pgconn and error.pgconn.needs_password:
                return DatabaseRefused(
                    f"{self.shown} asks for a password, and none is given",
                    hint="PGPASSWORD gives it, a passfile that only you may read (~/.pgpass),"
                    f" or database_password_command; {_OF_DAEMON}",
                )
            case psycopg.OperationalError() if _is_refusal(error):
                return DatabaseRefused(
                    f"{self.shown} refused: {said}",
                    hint="check user, password (PGPASSWORD, passfile, database_password_command),"
                    f" sslmode and pg_hba.conf; {_OF_DAEMON}",
                )
            case psycopg.OperationalError() | psycopg.InterfaceError():
                return DatabaseUnreachable(
                    f"{self.shown} does not answer: {said}",
                    hint="ask again in a while; what is on this machine goes on answering",
                )
            case _:
                return DatabaseError(f"{self.shown}: {said}", hint="`memory-sidecar doctor`")


def _said(error: psycopg.Error) -> str:
    """One line: what the server says, or libpq of it, without advice and address."""
    if said := error.diag.message_primary:
        return said
    lines = [line for line in str(error).strip().split("\n") if not line.startswith("\t")]
    return lines[-1].rpartition("FATAL:")[2].rpartition(" failed: ")[2].strip()


def _is_refusal(error: psycopg.Error) -> bool:
    """Whether the server answered and refused the login, for good or for want of TLS."""
    said = str(error)
    return bool(_TLS.search(said)) or (
        "FATAL:" in said and not (error.sqlstate or _BUSY.search(said))
    )


def link_of(settings: Settings) -> TeamLink | None:
    """The team's database, if there is one. Raises UsageError; connects to nothing."""
    return TeamLink(Address.of(settings)) if settings.database else None


class Asking:
    """One transaction. Any thread may ask, one after the other."""

    def __init__(self, connection: Connected) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def ask(self, query: str, values: Values = ()) -> list[Any]:
        """The rows of one answer."""
        with self._lock:
            return self._connection.execute(query, values, binary=True).fetchall()


class AskingBeside:
    """Asks on another connection, if that sees what the transaction `first` sees."""

    def __init__(self, link: TeamLink, first: Asking, state: Question, seen: list[Any]) -> None:
        """`state` is asked for what tells one commit from the next; `first` has `seen` that."""
        self._link = link
        self._first = first
        self._state = state
        self._seen = seen

    def ask(self, query: str, values: Values = ()) -> list[Any]:
        """As `Asking.ask`, of more rows of a graph."""
        with suppress(DatabaseError):  # such as for too many connections
            found, seen = self._link.ask((query, values), self._state)
            if seen == self._seen:  # asked last: nothing was committed in between
                return found
        self._link.require()  # what was waited for in vain is not waited for again
        self._first.ask(_LOOK_AT_MORE)
        return self._first.ask(query, values)
