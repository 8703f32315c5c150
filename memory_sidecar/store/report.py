"""What a database holds, for `status`, `doctor` and the result of `index`. Only reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import apsw

from memory_sidecar.model import FileStatus


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
class ListedFile:
    """A file that is not in the index, and why."""

    source: str
    path: str
    reason: str


def count_sources(connection: apsw.Connection) -> list[SourceCounts]:
    """Every source that has rows, by name."""
    rows: list[Any] = connection.execute(
        "SELECT s.name, s.root, s.scanned_at,"
        " count(*) FILTER (WHERE f.status = 'indexed'),"
        " count(*) FILTER (WHERE f.status = 'skipped'),"
        " count(*) FILTER (WHERE f.status = 'failed'), coalesce(sum(f.chunks), 0)"
        " FROM sources s LEFT JOIN files f ON f.source = s.name GROUP BY s.name ORDER BY s.name"
    ).fetchall()
    return [SourceCounts(*row) for row in rows]


def count_chunks(connection: apsw.Connection) -> int:
    return _count(connection, "code_chunks")


def count_pending(connection: apsw.Connection) -> int:
    """Chunks that wait for their vector."""
    return _count(connection, "pending_vectors")


def list_files(
    connection: apsw.Connection, status: FileStatus, *, source: str | None = None
) -> list[ListedFile]:
    """Files with that status, and their reasons."""
    rows: list[Any] = connection.execute(
        "SELECT source, path, reason FROM files"
        " WHERE status = ?1 AND (?2 IS NULL OR source = ?2) ORDER BY source, path",
        (status, source),
    ).fetchall()
    return [ListedFile(*row) for row in rows]


def _count(connection: apsw.Connection, table: str) -> int:
    counted: Any = connection.execute(f"SELECT count(*) FROM {table}").get
    return int(counted)
