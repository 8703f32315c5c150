"""One source at a team: reads what the team has of it, and writes what this machine indexes.

What cannot be written to the team, because its server does not answer or another machine holds the
lease, stays in the local rows and is written at the end of a later pass.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from memory_sidecar.code.builder import is_left_out, split_tracked, track_left_out, track_with_team
from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.results import Published
from memory_sidecar.code.shared import WITHOUT_TEAM
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import Conflict, DatabaseRefused, NoIndex, TeamEmpty, UsageError
from memory_sidecar.core.model import Document, FileStatus, Source
from memory_sidecar.disk.repository import Origin
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.writing import NO_READY_VECTORS, ReadyVectors
from memory_sidecar.team.code_write import fold_rows, team_fingerprint, write_documents
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.lease import LeaseFor, SourceRemoved, VectorModels, lease_branch
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.local_rows import read_documents
from memory_sidecar.team.schema import make_schema, require_schema, schema_version
from memory_sidecar.team.shared_files import (
    MAIN_BRANCHES,
    SharedFiles,
    SourceRow,
    Version,
    read_sources,
)

REFRESH_S = 1.0  # how long fingerprints that were read stay cached
FOLD_EVERY = 64  # transactions of a source, after which its rows are folded
BATCH = 64  # files that one transaction moves to the team
TEAM_ERRORS: Final = (*WITHOUT_TEAM, Conflict)

NO_ROW: Final[Version] = ("", 0, 0)  # where the team lacks the branch

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Theirs:
    """The fingerprints of the team's files as they were read, and as written from here since."""

    version: Version = ("unread", 0, 0)  # of the rows when they were read
    by_path: dict[str, str] | None = None  # None: not read yet

    def note_written(self, written: Sequence[Document], gone: Collection[str]) -> int:
        """Note what this machine wrote; return how many files of `gone` the team had."""
        if self.by_path is None:
            return 0
        deleted = sum(bool(self.by_path.pop(path, "")) for path in gone)
        # "" for what is not indexed, and so not at the team
        self.by_path.update({each.file.path: team_fingerprint(each) for each in written})
        return deleted


class PostgresSource:
    """Implements `SharedSource` of `code.builder`. Thread-safe."""

    def __init__(
        self, link: TeamLink, source: Source, origin: Origin, *, holder: str, models: Models
    ) -> None:
        self.source = source
        self.origin = origin
        self.files = SharedFiles()
        self._seen = NO_ROW  # the version that any reader saw last, such as a search
        self._theirs = _Theirs()
        self._stale_from_s = 0.0  # when `fingerprints` reads them again
        self.problem = ""  # why the last write to the team failed
        self._published = Published(source.name, 0, 0, 0)  # since `claim`
        self.link = link
        self._holder = holder
        self._models = models
        self._lock = threading.Lock()

    @property
    def generation(self) -> int:
        return self._theirs.version[-1]

    @property
    def has_moved_on(self) -> bool:
        return self._seen != self._theirs.version

    def row(self, connection: Connected) -> SourceRow | None:
        """Read the row of the source at the team."""
        (row,) = read_sources(connection, [self.origin])
        self.note_row(row)
        return row

    def note_row(self, row: SourceRow | None) -> None:
        """Note the version that a reader has seen: see `has_moved_on`."""
        self._seen = row.version if row else NO_ROW

    def fingerprints(self, *, anew: bool = False) -> Mapping[str, str] | None:
        with self._lock:
            if (anew or time.monotonic() >= self._stale_from_s) and not self.link.is_unreachable:
                try:
                    self._theirs = self.link.read(self._read_theirs)
                except TEAM_ERRORS as error:
                    _log.warning("%s: %s", self.source.name, error)
                self._stale_from_s = time.monotonic() + REFRESH_S
            return self._theirs.by_path

    def put(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: ReadyVectors
    ) -> Sequence[Document]:
        if not self.source.publishes:
            return documents
        with self.noting_problem():
            self._write(documents, gone, at_hand)
            self.problem = ""
            return [
                track_with_team(each, team_fingerprint(each), self.generation) for each in documents
            ]
        return documents

    def catch_up(self, store: CodeStore) -> None:
        if self.source.publishes:
            with self.noting_problem():
                self.give(store)

    def counts_at(self, path: str) -> VectorCounts:
        with self.link.reading() as connection:
            require_schema(connection, self.link)
            row = self.row(connection)
            ((chunks, pending),) = connection.execute(
                "SELECT count(*), count(p.id) FROM files f JOIN chunks c ON c.file = f.id"
                " LEFT JOIN chunk_pending p ON p.id = c.id WHERE f.source = %s AND f.path = %s",
                (row.id if row else None, path),
            )
        is_ours = row is not None and row.model == VectorModels.of(self._models).model
        return VectorCounts(chunks, pending if is_ours else chunks)

    def begin(self) -> bool:
        """Create the source at the team if it has nothing of the repository; True if created.

        Also if the team has only other branches while a main branch is checked out here, and this
        role may. Raises UsageError without a branch, DatabaseError, DatabaseRefused if this role
        may only read, and NoIndex if the schema is older and another machine indexes the source.
        """
        row = None
        with self.link.reading() as connection:
            if schema_version(connection):
                (row,) = read_sources(connection, [self.origin])
            if row is not None:
                try:
                    require_schema(connection, self.link)
                except NoIndex:
                    if not self.source.publishes:  # else this machine migrates it below
                        raise
        if row is not None and (
            row.branch in MAIN_BRANCHES or self.origin.branch not in MAIN_BRANCHES
        ):
            return False
        try:
            self._claim(LeaseFor.FIRST_UPLOAD)
        except (DatabaseRefused, SourceRemoved):
            if row is None:
                raise
            return False
        return True

    def claim(self, *, by_force: bool) -> bool:
        row = self._claim(LeaseFor.TAKING_OVER if by_force else LeaseFor.PUBLISHING)
        self._published = Published(self.source.name, 0, 0, 0)
        return VectorModels.of(self._models).would_replace(row.model, row.static)

    def _claim(self, purpose: LeaseFor) -> SourceRow:
        if not self.origin.branch:
            raise UsageError(
                f"no branch is checked out in {self.source.root}",
                hint="a team knows an index by its branch: `git switch` to one",
            )
        make_schema(self.link)
        return self.link.write(lambda connection: self._lease(connection, purpose)[0])

    def give(self, store: CodeStore) -> Published:
        make_schema(self.link)
        self.link.write(self._lease)
        with self._lock:
            self._theirs = self.link.read(self._read_theirs)
            theirs = self._theirs.by_path or {}
        manifest = store.manifest(self.source.name)
        # A file that could not be read is not deleted.
        kept = {p for p, each in manifest.items() if each.status is not FileStatus.SKIPPED}
        own = {
            path: split_tracked(each.fingerprint)[0]
            for path, each in manifest.items()
            if each.status is FileStatus.INDEXED and not is_left_out(each.fingerprint)
        }
        todo = [path for path, fingerprint in own.items() if theirs.get(path) != fingerprint]
        state = store.source_state(self.source.name)
        gone = theirs.keys() - kept if state and state.scanned_at else ()
        if gone:
            self._write([], gone, NO_READY_VECTORS)
        paths = iter(todo)
        while batch := list(islice(paths, BATCH)):
            documents, at_hand = read_documents(store, self.source.name, batch)
            self._write(documents, (), at_hand)
            store.drop_team_chunks(
                self.source.name, {path: track_left_out(own[path]) for path in batch}
            )
        self._stale_from_s = 0.0
        self.problem = ""
        return self._published

    @contextmanager
    def noting_problem(self) -> Iterator[None]:
        """Note a failure to write to the team as the `problem`, instead of raising it."""
        try:
            yield
        except TEAM_ERRORS as error:
            if self.problem != error.with_hint:
                _log.warning("%s stays on this machine: %s", self.source.name, error)
            self.problem = error.with_hint

    def own_row(self, connection: Connected) -> SourceRow | None:
        """Read the row of the branch that is checked out; `None` if the team lacks it.

        Raises NoIndex.
        """
        require_schema(connection, self.link)
        row = self.row(connection)
        return row if row is not None and row.branch == self.origin.branch else None

    def change(self, work: Callable[[Connected, SourceRow], None]) -> None:
        """Run `work` on the row of the branch, in a transaction that holds the lease.

        `work` must be idempotent. Raises DatabaseError, NoIndex and LeaseHeld.
        """
        self.link.write(lambda connection: work(connection, self._lease(connection)[0]))

    def _read_theirs(self, connection: Connected) -> _Theirs:
        try:
            require_schema(connection, self.link)
        except TeamEmpty:
            self.note_row(None)
            return _Theirs(NO_ROW, {})
        row = self.row(connection)
        files = self.files.read(connection, row) if row else {}
        version = row.version if row else NO_ROW
        return _Theirs(version, {each.path: each.fingerprint for each in files.values()})

    def _write(
        self, written: Sequence[Document], gone: Collection[str], at_hand: ReadyVectors
    ) -> None:
        def write(connection: Connected) -> None:
            row, generation = self._lease(connection)
            made = VectorModels.of(self._models)
            usable = replace(
                at_hand,
                known=at_hand.known if row.model == made.model else {},
                static=at_hand.static if row.static == made.static else {},
            )
            write_documents(connection, row.id, generation, written, gone=gone, at_hand=usable)
            if generation % FOLD_EVERY == 0:
                fold_rows(connection, row.id, generation)

        make_schema(self.link)
        self.link.write(write)
        indexed = [each for each in written if isinstance(each, CodeDocument)]
        with self._lock:
            done = self._published
            self._published = Published(
                done.name,
                files=done.files + len(indexed),
                chunks=done.chunks + sum(len(each.chunks) for each in indexed),
                deleted=done.deleted + self._theirs.note_written(written, gone),
            )

    def _lease(
        self, connection: Connected, purpose: LeaseFor = LeaseFor.INDEXING
    ) -> tuple[SourceRow, int]:
        row, generation = lease_branch(
            connection,
            self.origin,
            purpose,
            holder=self._holder,
            made=VectorModels.of(self._models),
        )
        self.note_row(row)
        return row, generation
