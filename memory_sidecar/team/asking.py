"""Questions to a team's database in one commit, from several threads: each at once, or beside.

What takes long goes to a second connection, which sees what the first one sees.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from memory_sidecar.core.errors import DatabaseError
from memory_sidecar.team.link import LOOK_AT_MORE, Connected, TeamLink

Values = Sequence[Any] | Mapping[str, Any]


class Asking:
    """One transaction. Any thread may ask, one after the other."""

    def __init__(self, connection: Connected) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def ask(self, query: str, values: Values = ()) -> list[Any]:
        """The rows of one answer."""
        with self._lock:
            return self._connection.execute(query, values, binary=True).fetchall()


class AskingBeside(AbstractContextManager[None]):
    """Another transaction that sees what `first` sees, if anything is asked of it.

    Where there is no second connection to be had, `first` answers.
    """

    def __init__(self, link: TeamLink, first: Asking) -> None:
        self._link = link
        self._first = first
        self._stack = ExitStack()
        self._begun: Asking | None = None
        self._lock = threading.Lock()

    def __exit__(self, *error: Any) -> None:  # noqa: ANN401
        with self._lock:  # what is being asked is answered first
            self._begun = self._first
            self._stack.__exit__(*error)

    def begin(self) -> Asking:
        """Begin it, if it has not: what is asked then is all that its thread has to wait for."""
        with self._lock:
            if self._begun is None:
                self._begun = self._first
                ((snapshot,),) = self._first.ask("SELECT pg_export_snapshot()")
                try:
                    beside = self._stack.enter_context(self._link.reading_beside(snapshot))
                    self._begun = Asking(beside)
                except DatabaseError:  # such as for too many connections
                    self._first.ask(LOOK_AT_MORE)
            return self._begun

    def ask(self, query: str, values: Values = ()) -> list[Any]:
        """As `Asking.ask`."""
        asking = self.begin()
        with self._lock:
            return asking.ask(query, values)
