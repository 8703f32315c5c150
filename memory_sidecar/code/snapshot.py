"""What one answer about code is found in, and what a caller has to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from memory_sidecar.code.graph import Graph
from memory_sidecar.code.results import Freshness
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import NoIndex, NotFound
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.database import Database
from memory_sidecar.index.followed import LiveState
from memory_sidecar.index.report import scan_times
from memory_sidecar.index.reporter import Reporter


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of the database, and how far it is with the sources that are asked about."""

    store: CodeStore
    connection: Connection
    asked: Sequence[str]  # sources
    scanned: Mapping[str, int | None]  # the end of each one's last complete scan, epoch ms
    live: Mapping[str, LiveState]

    @property
    def graph(self) -> Graph:
        """The names in it, for one answer."""
        return Graph(self.connection)

    def freshness(self, source: str, pending: int) -> Freshness:
        """Of hits in `source`; `pending` chunks wait for a vector."""
        return Freshness.of(self.live.get(source), self.scanned[source], pending)

    def require_scanned(self) -> None:
        """Raises NoIndex where none of the sources was scanned yet."""
        if all(self.scanned[name] is None for name in self.asked):
            raise NoIndex(
                f"not indexed yet: {', '.join(self.asked)}",
                hint="`memory-sidecar status` tells how far it is; ask again then",
            )


@contextmanager
def answering(
    data: Database[CodeStore], sources: Sequence[Source], wanted: Sequence[str], reporter: Reporter
) -> Iterator[Snapshot]:
    """A snapshot, and notices of what it may not have of the sources `wanted`, or of all.

    `sources` are all that are registered. Raises NotFound for one that was never indexed.
    """
    with data.snapshot(reporter, sources=sources, wanted=wanted) as (store, connection):
        scanned = scan_times(connection)
        asked = wanted or tuple(scanned)
        for name in asked:
            if name not in scanned:
                raise NotFound(
                    f"no source {name!r} is indexed here",
                    hint=f"there are: {', '.join(sorted(scanned)) or 'none'}",
                )
        live = data.states()
        for name, state in live.items():
            if state.error and name in asked:
                reporter.notice(f"{state.error}: answering from what was indexed of {name}")
        for name in data.unseen(sources).intersection(asked):
            if scanned[name] is not None:
                reporter.notice(f"{name} is being compared with its files: answering from before")
        yield Snapshot(store, connection, asked, scanned, live)
