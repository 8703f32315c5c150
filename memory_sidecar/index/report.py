"""What a database holds, for `status`, `doctor` and the result of `index`. Only reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.results import about
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.schema import Corpus


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """One source in numbers."""

    name: str
    root: str
    scanned_at: int | None  # epoch ms; None: no scan has completed
    indexed: int
    skipped: int
    failed: int
    chunks: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How far the vectors of some rows are."""

    rows: int
    pending: int  # of these, without a vector yet

    @property
    def percent(self) -> int:
        return 100 * (self.rows - self.pending) // max(self.rows, 1)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file that was left out or could not be indexed, and why."""

    source: str
    path: Annotated[str, about("relative to its source")]
    reason: str


def count_sources(connection: Connection) -> list[SourceCounts]:
    """Every source that has rows, by name."""
    rows: list[Any] = connection.execute(
        "SELECT s.name, s.root, s.scanned_at,"
        " count(*) FILTER (WHERE f.status = 'indexed'),"
        " count(*) FILTER (WHERE f.status = 'skipped'),"
        " count(*) FILTER (WHERE f.status = 'failed'), coalesce(sum(f.chunks), 0)"
        " FROM sources s LEFT JOIN files f ON f.source = s.name GROUP BY s.name ORDER BY s.name"
    ).fetchall()
    return [SourceCounts(*row) for row in rows]


def source_names(connection: Connection) -> list[str]:
    """Every source that has rows, or was begun."""
    rows: list[Any] = connection.execute("SELECT name FROM sources ORDER BY name").fetchall()
    return [name for (name,) in rows]


def source_standings(connection: Connection) -> list[tuple[str, bool, bool]]:
    """By source: its name, whether a scan of it ever ended, and whether nothing is made anew."""
    rows: list[Any] = connection.execute(
        "SELECT name, scanned_at IS NOT NULL, chunker <> '' FROM sources ORDER BY name"
    ).fetchall()
    return [(name, bool(is_scanned), bool(is_whole)) for name, is_scanned, is_whole in rows]


def scan_times(connection: Connection) -> dict[str, int | None]:
    """When the last complete scan of every source ended, in epoch ms; `None`: none has yet."""
    return dict(connection.execute("SELECT name, scanned_at FROM sources"))


def count_rows(connection: Connection, corpora: Iterable[Corpus]) -> int:
    """Rows that can be searched."""
    return sum(rows_in(connection, corpus.rows) for corpus in corpora)


def count_pending(connection: Connection, corpora: Iterable[Corpus]) -> int:
    """Rows that wait for their vector."""
    return sum(rows_in(connection, corpus.pending) for corpus in corpora)


def count_pending_of(
    connection: Connection, corpora: Iterable[Corpus], sources: Collection[str]
) -> int:
    """Rows of `sources` that wait for their vector."""
    if set(sources) >= set(source_names(connection)):
        return count_pending(connection, corpora)
    of_sources = f"IN ({', '.join('?' * len(sources))})"
    counted: list[Any] = [
        connection.execute(
            f"SELECT count(*) FROM {corpus.pending} JOIN {corpus.rows} USING (id)"
            f" WHERE {corpus.source} {of_sources}",
            tuple(sources),
        ).get
        for corpus in corpora
    ]
    return sum(counted)


def count_vectors(connection: Connection, corpora: Iterable[Corpus]) -> VectorCounts:
    """How far the vectors of `corpora` are."""
    corpora = tuple(corpora)
    return VectorCounts(count_rows(connection, corpora), count_pending(connection, corpora))


def list_files(connection: Connection, status: FileStatus) -> list[ListedFile]:
    """Files with that status, and their reasons, by source and path."""
    few = "INDEXED BY files_not_indexed WHERE status <> 'indexed' AND"
    rows: list[Any] = connection.execute(
        f"SELECT source, path, reason FROM files {'WHERE' if status is FileStatus.INDEXED else few}"
        " status = ? ORDER BY source, path",
        (status,),
    ).fetchall()
    return [ListedFile(*row) for row in rows]


_counts: WeakKeyDictionary[Connection, tuple[object, dict[str, int]]] = WeakKeyDictionary()


def rows_in(connection: Connection, table: str) -> int:
    """How many rows `table` has. A connection that only reads counts them once for each commit."""
    counts: dict[str, int] = {}
    if connection.readonly("main"):
        version: Any = connection.pragma("data_version")
        of_version, known = _counts.get(connection, (None, counts))
        if version == of_version:
            counts = known
        _counts[connection] = version, counts
    if table not in counts:
        counted: Any = connection.execute(f"SELECT count(*) FROM {table}").get
        counts[table] = int(counted)
    return counts[table]
