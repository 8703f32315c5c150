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
from copy import copy
from math import inf
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo

from memory_sidecar.core.errors import (
    DatabaseRefused,
    DatabaseUnreachable,
    SidecarError,
)
from memory_sidecar.team.address import CONNECT_S, Address
from memory_sidecar.team.connection import (
    READ_S,
    SCHEMA_NAME,
    WRITE_S,
    Connected,
    HalfVector,
    HalfVectorDumper,
    NoAnswer,
    TeamConnection,
)
from memory_sidecar.team.refusals import translated

MAX_IDLE = 4
TRIES = 3
PAUSE_S = 0.2  # before the second try, twice as long before the third
AWAY_S = 15.0  # after a failure readers do not ask the server for this long

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
            raise copy(self._away)  # each raise of one error adds to its traceback

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
        return self._ask(connection, READ_S, statements)

    def look(self, *statements: Statement) -> list[list[Any]]:
        """Run `ask`, by `retry`; a kept connection has to answer within CONNECT_S."""

        def look() -> list[list[Any]]:
            with suppress(IndexError, DatabaseUnreachable):
                return self._ask(self._idle.pop(), CONNECT_S, statements)
            self.drop_idle()  # each of the others would take as long
            return self._ask(self._connect(), READ_S, statements)

        return self.retry(look)

    def _ask(
        self, connection: TeamConnection, patience_s: float, statements: Sequence[Statement]
    ) -> list[list[Any]]:
        with self._use(connection, patience_s):
            with connection.pipeline():  # to fetch in it would be one more round trip
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
            raise translated(error, self.shown) from error
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
        # A copy has no traceback and no cause, which would keep the connection that failed open.
        self._away, self._away_until_s = copy(error), time.monotonic() + AWAY_S

    @contextmanager
    def _transaction(self, begin: str, patience_s: float) -> Iterator[Connected]:
        connection = self._begin_transaction(begin)
        with self._use(connection, patience_s):
            yield connection
            connection.execute("COMMIT", prepare=False)  # which would be a round trip

    @contextmanager
    def _use(self, connection: TeamConnection, patience_s: float) -> Iterator[None]:
        """Return `connection` to the idle ones after the block; close it if the block fails."""
        connection.patience_s = patience_s
        try:
            yield
        except BaseException as error:
            connection.close()  # which rolls back
            if isinstance(error, psycopg.Error):
                ours = translated(error, self.shown)
                if isinstance(error, NoAnswer):
                    self._note_away(ours)
                raise ours from error
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
        connection = self._connect()
        try:
            connection.execute(begin)
        except psycopg.Error as error:
            connection.close()
            raise translated(error, self.shown) from error
        return connection

    def _connect(self) -> TeamConnection:
        try:
            return self.connect()
        except DatabaseUnreachable as error:
            self._note_away(error)
            raise

    def _without_settings(self) -> DatabaseRefused:
        return DatabaseRefused(
            f"{self.shown} does not take the settings of a connection, as a pooler does not",
            hint="name the server itself as `database`, not pgbouncer or the like",
        )
