"""Connections to a team's database: one transaction each, and errors with a next step.

Idle connections are kept for the next transaction. There is no pool of threads: a command that
takes 50 ms opens what it needs in its own thread. `retry` repeats work on a new connection if the
connection is lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from math import inf
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
from memory_sidecar.team.address import CONNECT_S, Address
from memory_sidecar.team.connection import (
    READ_S,
    WRITE_S,
    Connected,
    HalfVector,
    HalfVectorDumper,
    NoAnswer,
    TeamConnection,
    is_about_tls,
    is_refusal,
    message_of,
)

MAX_IDLE = 4
TRIES = 3
PAUSE_S = 0.2  # before the second try, twice as long before the third
AWAY_S = 15.0  # after a failure readers do not ask the server for this long
SCHEMA_NAME = "memory_sidecar"

_PATH = f"{SCHEMA_NAME},public"
EF = 500  # rows of a graph that a search of the model's vectors finds in one pass
_OURS = {
    "application_name": "memory-sidecar",
    "client_encoding": "utf8",  # whatever the environment says; without it that of the database
    "options": f"-c search_path={_PATH} -c jit=off"
    " -c client_connection_check_interval=2s -c idle_in_transaction_session_timeout=60s"
    f" -c hnsw.iterative_scan=relaxed_order -c hnsw.ef_search={EF}",
    "keepalives_idle": "20",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",  # ms: a network that drops packets must not hold up a command
}

_OF_DAEMON = "a daemon has the PGPASSWORD that it was started with, until `memory-sidecar stop`"
_OF_LOGIN = (
    "check user, password (PGPASSWORD, passfile, database_password_command), sslmode and"
    f" pg_hba.conf; {_OF_DAEMON}"
)
_OF_TLS = (
    "check sslmode, sslrootcert, sslcert, this machine's clock, and the name and the dates in the"
    " server's certificate"
)

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL hnsw.ef_search = 100"
"""A search of static vectors needs a smaller `ef_search` than one of the model's, which runs on the
second connection: with 100 and 500, each finds 99 of the hundred nearest rows."""

_HASTE = ("SELECT set_config('lock_timeout', '200ms', true)", ())
"""Without this limit, a query could wait for a queued lock, such as that of `VACUUM FULL`, which
itself waits for the caller's transaction."""

_SETTINGS = "SELECT current_setting('search_path'), current_setting('hnsw.ef_search', true)"

T = TypeVar("T")
Values = Sequence[Any] | Mapping[str, Any]
Statement = tuple[str, Values]


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


class TeamLink:
    """The connections to a team's database. Thread-safe."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: deque[TeamConnection] = deque()  # a stack: the one used last is used next
        self._max_idle = MAX_IDLE
        self._away_until_s = 0.0
        self._away: SidecarError | None = None  # the error that `require_reachable` repeats

    @property
    def shown(self) -> str:
        """The address, for messages."""
        return self.address.shown

    @property
    def is_unreachable(self) -> bool:
        """Whether the server failed to answer within the last AWAY_S."""
        return time.monotonic() < self._away_until_s

    def require_reachable(self) -> None:
        """Raise the error of the last failure while `is_unreachable`."""
        if self.is_unreachable and self._away is not None:
            raise self._away

    def reading(self) -> AbstractContextManager[Connected]:
        """Open a read transaction: all its queries see one snapshot and wait for no writer."""
        return self._transaction(_READ, READ_S)

    def ask(self, *statements: Statement) -> list[list[Any]]:
        """Run `statements` in one round trip, each on the latest commit; return the rows of each.

        Raises DatabaseError, after 200 ms also if a table is locked.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.connect()
        with self._use(connection, READ_S), connection.pipeline():
            asked = [connection.execute(*each, binary=True) for each in (_HASTE, *statements)]
            return [each.fetchall() for each in asked[1:]]

    def writing(self, *, patience_s: float = WRITE_S) -> AbstractContextManager[Connected]:
        """Open a write transaction, committed at the end of the block.

        The server ends a wait for a lock before the connection would count as silent.
        """
        lock_ms = 0 if patience_s == inf else int(900 * patience_s)  # 0: no limit
        return self._transaction(f"BEGIN; SET LOCAL lock_timeout = {lock_ms}", patience_s)

    def retry(self, work: Callable[[], T]) -> T:
        """Run `work`, which must be idempotent, up to TRIES times while connections are lost.

        A silent server is not asked again, because `work` has waited for it already.
        """
        for tried in range(1, TRIES):
            try:
                return work()
            except DatabaseUnreachable as error:
                if isinstance(error.__cause__, NoAnswer | errors.ConnectionTimeout):
                    raise
                self.drop_idle()
                time.sleep(PAUSE_S * tried)
        return work()

    def read(self, work: Callable[[Connected], T]) -> T:
        """Run `work` in a read transaction, and again by `retry`."""

        def run() -> T:
            with self.reading() as connection:
                return work(connection)

        return self.retry(run)

    def write(self, work: Callable[[Connected], T], *, patience_s: float = WRITE_S) -> T:
        """Run `work` in a write transaction, and again by `retry`."""

        def run() -> T:
            with self.writing(patience_s=patience_s) as connection:
                return work(connection)

        return self.retry(run)

    def delay_ms(self) -> float:
        """Measure how long the server takes to answer, in ms. Raises DatabaseError."""
        with self.reading() as connection:
            started = time.perf_counter()
            connection.execute("SELECT 1")
            return 1000 * (time.perf_counter() - started)

    def connect(self) -> TeamConnection:
        """Open a connection, which the caller closes. Raises DatabaseError."""
        password = self.address.password()
        try:
            connection = TeamConnection.connect(
                make_conninfo("", **{**self.address.parameters, **password, **_OURS}),
                autocommit=True,
            )
            try:
                connection.patience_s = CONNECT_S
                settings = connection.execute(_SETTINGS).fetchone()
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            if "unsupported startup parameter" in str(error):
                raise self._without_settings() from error
            raise self._translate(error) from error
        if settings != (_PATH, str(EF)):  # tables would be created in `public`
            connection.close()
            raise self._without_settings()
        connection.adapters.register_dumper(HalfVector, HalfVectorDumper)
        self._away_until_s = 0.0
        return connection

    def close(self) -> None:
        """Close all idle connections, and from now on each other one after its use.

        A thread may still use one, such as that of a search which another arm's error has ended.
        """
        self._max_idle = 0
        self.drop_idle()

    def drop_idle(self) -> None:
        """Close all idle connections; the next question opens a new one."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _note_away(self, error: SidecarError) -> None:
        self._away, self._away_until_s = error, time.monotonic() + AWAY_S

    @contextmanager
    def _transaction(self, begin: str, patience_s: float) -> Iterator[Connected]:
        connection = self._begin_transaction(begin)
        with self._use(connection, patience_s):
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _use(self, connection: TeamConnection, patience_s: float) -> Iterator[None]:
        """Return `connection` to the idle ones after the block; close it if the block fails."""
        connection.patience_s = patience_s
        try:
            yield
        except BaseException as error:
            connection.close()  # which rolls back
            if isinstance(error, psycopg.Error):
                translated = self._translate(error)
                if isinstance(error, NoAnswer):
                    self._note_away(translated)
                raise translated from error
            raise
        self._idle.append(connection)
        if len(self._idle) > self._max_idle:  # last: `close` may have been called meanwhile
            with suppress(IndexError):
                self._idle.popleft().close()

    def _begin_transaction(self, begin: str) -> TeamConnection:
        """Run `begin` on an idle connection that still works, or on a new one."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                connection.patience_s = CONNECT_S
                try:
                    connection.execute(begin)
                except psycopg.Error as error:  # the server may have restarted since
                    connection.close()
                    if isinstance(error, NoAnswer):
                        self.drop_idle()  # each of the others would take as long
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
            raise self._translate(error) from error
        return connection

    def _without_settings(self) -> DatabaseRefused:
        return DatabaseRefused(
            f"{self.shown} does not take the settings of a connection, as a pooler does not",
            hint="name the server itself as `database`, not pgbouncer or the like",
        )

    def _translate(self, error: psycopg.Error) -> SidecarError:
        """Return the error of ours that names the cause and a next step."""
        message = message_of(error)
        match error:
            case errors.InsufficientPrivilege():
                remedy = (
                    "a superuser runs CREATE EXTENSION vector there"
                    if "extension" in message
                    else f"its owner runs `memory-sidecar team init`{_grant_of(message)}"
                )
                return DatabaseRefused(
                    f"{self.shown}: {message}", hint=f"{remedy}: see docs/team.md"
                )
            case errors.DiskFull():
                return DiskFull(f"{self.shown}: the server's disk is full", hint="free some space")
            case errors.ReadOnlySqlTransaction():
                return DatabaseRefused(
                    f"{self.shown}: {message}",
                    hint="it is a standby, or read-only for now: name the primary as `database`",
                )
            case errors.QueryCanceled():
                return DatabaseError(
                    f"{self.shown}: {message}",
                    hint="a statement_timeout there is too short for this, and for the graphs of"
                    " vectors: ALTER ROLE ... SET statement_timeout = 0",
                )
            case errors.LockNotAvailable():
                return DatabaseError(
                    f"{self.shown}: another call has locked it, which exports or makes the graphs"
                    " of vectors, for example",
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
            case psycopg.OperationalError() if is_refusal(error):
                return DatabaseRefused(
                    f"{self.shown} refused: {message}",
                    hint=_OF_TLS if is_about_tls(error) else _OF_LOGIN,
                )
            case psycopg.OperationalError() | psycopg.InterfaceError() if not isinstance(
                error, errors.OutOfMemory | errors.ProgramLimitExceeded
            ):
                return DatabaseUnreachable(
                    f"{self.shown} does not answer: {message}", hint="try again in a while"
                )
            case _:
                return DatabaseError(f"{self.shown}: {message}", hint="`memory-sidecar doctor`")
