"""What `status` shows of a database: counts of its rows, running passes, pace and failures."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from memory_sidecar.core.errors import SidecarError, StoreCorrupt
from memory_sidecar.core.model import FileStatus
from memory_sidecar.core.paths import has_had_rows
from memory_sidecar.core.results import ListedFile, Reporter, Time, pluralize
from memory_sidecar.core.sqlite import Connection, connect, named_errors
from memory_sidecar.core.times import WEEK_SQL, format_duration
from memory_sidecar.disk.registry import Recovered
from memory_sidecar.index.schema import Corpus

POLL_S = 0.1
WINDOW_S = 10.0  # a pace is measured over so much of the latest work
SHORTEST_S = 0.25  # a shorter span of work gives no pace
VECTORS = "vectors of all sources"  # has blanks, so that it is no source's name
DATABASE = "the database as a whole"
MAX_KNOWN = 4096  # counts of tables and words that are remembered for one commit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceState:
    """One row of the `sources` table."""

    root: Path
    state_id: str
    chunker: str  # version of the builder; "" while every row is being rebuilt
    scanned_at: int | None  # epoch ms, end of the last complete scan


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """One source in numbers."""

    name: str
    scanned_at: int | None  # epoch ms; None: no scan has completed
    indexed: int
    skipped: int
    failed: int
    chunks: int


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many of some rows have their vector."""

    rows: int
    pending: int  # those of `rows` that still wait for their vector

    @property
    def percent(self) -> int:
        return 100 * (self.rows - self.pending) // max(self.rows, 1)

    def notice_pending(self, reporter: Reporter, outcome: str, *, whose: str = "") -> None:
        """Give notice of how many have theirs, and what comes of that; of the agent `whose`."""
        vectors = f"vectors of agent {whose}" if whose else "vectors"
        reporter.notice(f"{vectors} {self.percent} % done: {outcome}")


def count_sources(connection: Connection) -> list[SourceCounts]:
    """Return the counts of every source that has rows, or was begun, by name."""
    rows = connection.execute(
        "SELECT s.name, s.scanned_at,"
        " count(*) FILTER (WHERE f.status = 'indexed'),"
        " count(*) FILTER (WHERE f.status = 'skipped'),"
        " count(*) FILTER (WHERE f.status = 'failed'), coalesce(sum(f.chunks), 0)"
        " FROM sources s LEFT JOIN files f ON f.source = s.name GROUP BY s.name ORDER BY s.name"
    )
    return [SourceCounts(*row) for row in rows]


def recorded_roots(db: Path) -> Recovered:
    """Return the sources with rows in the database at `db`, or in the one set aside for it.

    Where a source had rows and none is left, return what became of the database, too.
    """
    old = db.with_name(f"{db.name}.old")
    found: dict[str, str] = {}
    for each in (old, db):
        lost = ""
        try:
            with closing(connect(each, read_only=True)) as connection, named_errors(each):
                found |= dict(connection.execute("SELECT name, root FROM sources"))
            if has_had_rows(db) and old.exists():
                lost = f"the database: that with rows was set aside as {old}"
        except StoreCorrupt as error:
            lost = f"the database: {error.message}"
        except SidecarError:  # there is none
            continue
    if found:
        lacking = "excludes and addresses, which are to be given again"
        return list(found.items()), f"the database, without {lacking}"
    return (), lost


class ReadOnce(Generic[T]):
    """What was read of the commit that a connection sees, by any key."""

    def __init__(self) -> None:
        self._read: WeakKeyDictionary[Connection, tuple[object, dict[str, T]]] = WeakKeyDictionary()

    def known(self, connection: Connection) -> dict[str, T]:
        """Return what is known of the commit; callers add what they read.

        Empty for a connection that may write, and again after MAX_KNOWN.
        """
        known: dict[str, T] = {}
        if connection.readonly("main"):
            version: Any = connection.pragma("data_version")
            of_version, before = self._read.get(connection, (None, known))
            if version == of_version and len(before) < MAX_KNOWN:
                known = before
            self._read[connection] = version, known
        return known


counts_of_commit = ReadOnce[int]()  # of rows, by table, and of rows with a word
_sources_of_commit = ReadOnce[dict[str, SourceState]]()


def known_sources(connection: Connection) -> Mapping[str, SourceState]:
    """Return every source that has rows, or was begun, by name, sorted."""
    read = _sources_of_commit.known(connection)
    if "sources" not in read:
        rows: Any = connection.execute(
            "SELECT name, root, state_id, chunker, scanned_at FROM sources ORDER BY name"
        )
        read["sources"] = {name: SourceState(Path(root), *state) for name, root, *state in rows}
    return read["sources"]


def scanned_sources(connection: Connection) -> set[str]:
    """Return the names of the sources that were ever scanned to their end."""
    return {name for name, state in known_sources(connection).items() if state.scanned_at}


def count_pending(connection: Connection, corpora: Iterable[Corpus]) -> int:
    """Count the rows of `corpora` that wait for their vector."""
    return sum(row_count(connection, corpus.pending) for corpus in corpora)


def count_pending_of(
    connection: Connection, corpora: Iterable[Corpus], sources: Collection[str]
) -> int:
    """Count the rows of `sources` that wait for their vector."""
    if set(sources) >= known_sources(connection).keys():
        return count_pending(connection, corpora)
    of_sources = f"IN ({', '.join('?' * len(sources))})"
    return sum(
        connection.execute(
            f"SELECT count(*) FROM {corpus.pending} JOIN {corpus.rows} USING (id)"
            f" WHERE {corpus.source} {of_sources}",
            tuple(sources),
        ).get
        for corpus in corpora
    )


def count_vectors(connection: Connection, corpora: Iterable[Corpus]) -> VectorCounts:
    """Count the rows of `corpora`, and those that wait for their vector."""
    corpora = tuple(corpora)
    rows = sum(row_count(connection, corpus.rows) for corpus in corpora)
    return VectorCounts(rows, count_pending(connection, corpora))


def list_files(connection: Connection, status: FileStatus) -> list[ListedFile]:
    """Return the files with that status, with their reasons, sorted by source and path."""
    few = "INDEXED BY files_not_indexed WHERE status <> 'indexed' AND"
    rows = connection.execute(
        f"SELECT source, path, reason FROM files {'WHERE' if status is FileStatus.INDEXED else few}"
        " status = ? ORDER BY source, path",
        (status,),
    )
    return [ListedFile(*row) for row in rows]


def is_indexed(connection: Connection, source: str, path: str) -> bool:
    """Whether the file at `path` of `source` is indexed."""
    row = connection.execute(
        "SELECT 1 FROM files WHERE source = ? AND path = ? AND status = ?",
        (source, path, FileStatus.INDEXED),
    )
    return row.get is not None


def database_bytes(path: Path) -> int:
    """Return the size of the database at `path` on disk, with its log."""
    size = 0
    for part in (path, path.with_name(path.name + "-wal")):
        with suppress(FileNotFoundError):  # the last connection that is closed deletes the log
            size += part.stat().st_size
    return size


def row_count(connection: Connection, table: str) -> int:
    """Count the rows of `table`; on a read-only connection once for each commit."""
    counts = counts_of_commit.known(connection)
    if table not in counts:
        counted: Any = connection.execute(f"SELECT count(*) FROM {table}").get
        counts[table] = int(counted)
    return counts[table]


def count_by_week(connection: Connection, table: str, *, since: int) -> dict[int, int]:
    """Count the rows of `table` by the week of `created_at`, from `since` on; all in epoch ms."""
    rows = connection.execute(
        f"SELECT {WEEK_SQL}, count(*) FROM {table} WHERE created_at >= ? GROUP BY 1", (since,)
    )
    return dict(rows)


@dataclass(frozen=True, slots=True)
class FilesUnderWay:
    """The progress of a running pass over a source."""

    files_done: int
    files_total: int
    files_per_second: float
    seconds_left: float | None

    @property
    def in_words(self) -> str:
        files, pace = pluralize(self.files_total, "file"), self.files_per_second
        return f"{self.files_done:,} of {files}{pace_in_words(pace, self.seconds_left)}"


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, and when."""

    at: Time
    message: str


class Pace:
    """A rate of work per second, over the last WINDOW_S. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> None:
        with self._lock:
            self._steps.append((time.monotonic(), count))

    @property
    def per_second(self) -> float:
        """The rate of the window's steps; 0 while these span less than SHORTEST_S.

        The first step only begins the time: nothing says how long its own work took.
        """
        with self._lock:
            while self._steps and self._steps[0][0] < time.monotonic() - WINDOW_S:
                self._steps.popleft()
            if not self._steps:
                return 0.0
            spanned_s = self._steps[-1][0] - self._steps[0][0]
            done = sum(count for _, count in self._steps) - self._steps[0][1]
            return done / spanned_s if spanned_s >= SHORTEST_S else 0.0

    def seconds_for(self, count: int, *, wait_s: float, cancelled: threading.Event) -> float | None:
        """Estimate the seconds for `count` pieces of work; `None` without a rate to go by.

        Waits up to `wait_s`, or until `cancelled`, for enough work to be done.
        """
        until_s = time.monotonic() + wait_s
        while not (per_second := self.per_second) and time.monotonic() < until_s:
            if cancelled.wait(POLL_S):
                return None
        return seconds_left(count, per_second)


class Activity:
    """The running passes, the pace of embedding and the open failures of one owner. Thread-safe."""

    def __init__(self) -> None:
        self.vectors = Pace()
        self._failures: dict[str, Failure] = {}
        self._passes: dict[str, FilesUnderWay] = {}

    def record_failure(self, what: str, failure: Failure) -> None:
        """Keep a failure of `what` (a source, VECTORS or DATABASE) until `clear_failure`."""
        self._failures[what] = failure

    def clear_failure(self, *whats: str) -> None:
        """Drop the failures of `whats`, which have succeeded, write rows again or are gone."""
        for what in whats:
            self._failures.pop(what, None)

    def failure_of(self, what: str) -> str:
        """Return the message of the failure of `what` that was not cleared, "" for none."""
        failure = self._failures.get(what)
        return failure.message if failure else ""

    @property
    def last_failure(self) -> Failure | None:
        """The latest failure that was not cleared, if any."""
        return max(list(self._failures.values()), key=lambda each: each.at, default=None)

    @contextmanager
    def track_pass(self, source: str) -> Iterator[Callable[[int, int], None]]:
        """Show a pass over `source` during the block; yields its `report(files done, in total)`."""
        pace, before = Pace(), 0

        def report(done: int, total: int) -> None:
            nonlocal before
            if done > before:
                pace.add(done - before)
            before, rate = done, pace.per_second
            left_s = seconds_left(total - done, rate)
            self._passes[source] = FilesUnderWay(done, total, round(rate, 1), left_s)

        try:
            yield report
        finally:
            self._passes.pop(source, None)

    def files_under_way(self, source: str) -> FilesUnderWay | None:
        """Return the progress of the pass over `source`; `None` if none runs, or over no files."""
        each = self._passes.get(source)
        return each if each and each.files_total else None


def seconds_left(count: int, per_second: float) -> float | None:
    """Return the seconds for `count` at that rate; `None` at a rate of 0."""
    return round(count / per_second, 1) if per_second else None


def pace_in_words(per_second: float, left_s: float | None) -> str:
    """Return ` (12/s, 3 min 5 s left)`, to be appended; "" where nothing says how long it takes."""
    return f" ({per_second:.0f}/s, {format_duration(left_s)} left)" if left_s else ""
