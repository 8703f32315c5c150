"""The queries of one search, all of one snapshot, from several threads.

The threads take turns on one transaction. The search of the model's vectors, which takes longest,
runs on a second connection, whose answer counts if it sees the same commit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from memory_sidecar.core.errors import DatabaseError
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.link import EF, Statement, TeamLink, Values

_WIDER = f"SELECT set_config('hnsw.ef_search', '{EF}', true)"  # as the second connection
_ONE_PASS = ("SELECT set_config('hnsw.iterative_scan', 'off', true)", ())
"""A search of a graph takes a tenth less time if it need not be resumable for more rows."""


class ReadTransaction:
    """A read transaction that several threads query, one after the other."""

    def __init__(self, connection: Connected) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._failed: psycopg.Error | None = None
        self._has_ended = False

    def ask(self, query: str, values: Values = ()) -> list[Any]:
        """Return the rows of a query. Raises the error of the query that failed first."""
        with self._lock:
            try:
                if self._has_ended:
                    raise psycopg.OperationalError("the search has ended")
                return self.connection.execute(query, values, binary=True).fetchall()
            except psycopg.Error as error:  # later ones say that the transaction is aborted
                self._failed = self._failed or error
                raise self._failed from None

    def close(self) -> None:
        """Wait for the query that runs, and refuse more: the caller goes on with the connection.

        An arm may still be at work when another one has failed. If a connection is closed while a
        thread waits for its answer, libpq crashes the process.
        """
        with self._lock:
            self._has_ended = True


@dataclass(frozen=True, slots=True)
class ParallelReads:
    """Searches graphs on a second connection that sees the same commit as `first`."""

    link: TeamLink
    first: ReadTransaction
    state: Statement  # a query whose rows change with each commit
    seen: list[Any]  # its rows as `first` sees them
    share: float  # about what share of a graph's rows satisfies the search

    def ask(self, query: str, values: Mapping[str, Any]) -> list[Any]:
        """Run a query for the nearest rows: as many as its value `depth` says, or all there are.

        Runs it in one pass if that is likely to find so many. If that finds fewer, or the second
        connection fails or sees another commit, `first` runs it.
        """
        count = values["depth"]
        settings = (_ONE_PASS,) if self.share * EF > 2 * count else ()
        with suppress(DatabaseError):  # such as too many connections
            *_, found, seen = self.link.ask(*settings, (query, values), self.state)
            # The state is read last, so that nothing was committed before the query.
            if seen == self.seen and not (settings and len(found) < count):
                return found
        self.link.require_reachable()  # do not wait for a second timeout
        self.first.ask(_WIDER)
        return self.first.ask(query, values)
