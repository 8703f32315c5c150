"""The code in a team's database, seen from one machine: implements the `Team` of `code.shared`.

A local source is matched with one of the team by the address of its repository, the folder in it
and the branch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

from memory_sidecar.code.builder import is_left_out, split_tracked
from memory_sidecar.code.rows import LocalRows
from memory_sidecar.code.shared import count_files_here, was_shared
from memory_sidecar.core.errors import DatabaseError, TeamEmpty, UsageError
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, pluralize
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.repository import origin_of
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.derived import FILES_VERSION, DerivedStore
from memory_sidecar.index.embed import embed_pending
from memory_sidecar.index.schema import read_identity
from memory_sidecar.team.code_read import SharedRows
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.lease import VectorModels, tell_removed
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.overlaid import OverlaidRows
from memory_sidecar.team.reads import ReadTransaction
from memory_sidecar.team.schema import declare_nearest, require_schema
from memory_sidecar.team.shared_files import SearchScope, SourceRow, read_sources
from memory_sidecar.team.source import TEAM_ERRORS, PostgresSource
from memory_sidecar.team.vectors import adopt_models, embed_pending_of

_log = logging.getLogger(__name__)

MAX_SCOPES = 4  # cached for the next searches with the same filter

_MALFORMED = (LookupError, ValueError, TypeError, MemoryError)
"""Errors of a search over rows that no indexer of ours wrote: dangling ids, odd lengths."""

_Rows = Mapping[str, tuple[SourceRow, PostgresSource]]


class TeamCode:
    """Implements `Team`. Thread-safe."""

    def __init__(self, link: TeamLink, *, holder: str, models: Models) -> None:
        """`holder`: how messages on other machines name this one while it indexes."""
        self.link = link
        self.holder = holder
        self.models = models
        self._sources: dict[str, PostgresSource] = {}
        self._scopes: dict[object, SearchScope] = {}
        self._lock = threading.Lock()

    def source(self, source: Source) -> PostgresSource | None:
        origin = origin_of(source.root)
        if origin is None or not origin.address:
            return None
        with self._lock:
            known = self._sources.get(source.name)
            if known is None or (known.source, known.origin) != (source, origin):
                known = PostgresSource(
                    self.link, source, origin, holder=self.holder, models=self.models
                )
                self._sources[source.name] = known
            return known

    def begin(self, source: Source, reporter: Reporter) -> bool:
        shared = self.source(source)
        try:
            has_begun = shared is not None and shared.begin()
        except (*TEAM_ERRORS, UsageError) as error:
            reporter.notice(f"what changes in {source.name} is not shared: {error.with_hint}")
            return False
        if has_begun:
            reporter.notice(f"{self.link.shown} has nothing of {source.name} yet: uploading it")
        return has_begun

    @contextmanager
    def searching(
        self, local: LocalRows, sources: Sequence[Source], reporter: Reporter
    ) -> Iterator[OverlaidRows | None]:
        wanted = local.wanted.sources
        asked = [each for each in sources if not wanted or each.name in wanted]
        shared = [each for source in asked if (each := self.source(source)) is not None]
        opened: AbstractContextManager[Connected | None] = nullcontext()
        if shared:
            self.link.require_reachable()
            opened = self.link.reading()
        with opened as connection:
            rows = self._read_rows(connection, shared) if connection else {}
            lost = [each.name for each in asked if each.name not in rows]
            lost = lost if was_shared(local.connection, lost) else []
            if connection and rows:
                try:
                    with closing(ReadTransaction(connection)) as reads:
                        yield self._overlay(reads, local, rows, lost, reporter)
                except _MALFORMED as error:  # a fault of the search comes again with local rows
                    raise DatabaseError(
                        f"{self.link.shown} has rows that cannot be read ({error!r})",
                        hint="`team remove` removes them, `source publish` writes them anew",
                    ) from error
            elif lost:
                told = f"{self.link.shown} has nothing of {', '.join(lost)}"
                hint = "`memory-sidecar index` uploads it, or indexes all of it here"
                removed = (tell_removed(connection, each.origin) for each in shared if connection)
                if first := next(filter(None, removed), ""):
                    told, hint = first, "`memory-sidecar index` indexes all of it here"
                raise TeamEmpty(told, hint=hint)
            else:
                yield None

    def _read_rows(self, connection: Connected, shared: Sequence[PostgresSource]) -> _Rows:
        """Return the rows of `shared` at the team, if any, by name, each with its source."""
        try:
            require_schema(connection, self.link)
        except TeamEmpty:  # the schema was dropped: files left to the team are to be built here
            for each in shared:
                each.note_row(None)
            raise
        found = read_sources(connection, [each.origin for each in shared])
        for each, row in zip(shared, found, strict=True):
            each.note_row(row)
        return {s.source.name: (row, s) for s, row in zip(shared, found, strict=True) if row}

    def _overlay(
        self,
        reads: ReadTransaction,
        local: LocalRows,
        rows: _Rows,
        lost: Sequence[str],
        reporter: Reporter,
    ) -> OverlaidRows:
        """Lay `local` over `rows`. `lost`: sources that the team had, and no longer has."""
        scope = self._scope(reads.connection, local, rows)
        outdated = scope.outdated + (count_files_here(local.connection, lost)[1] if lost else 0)
        if outdated:
            reporter.notice(
                f"{pluralize(outdated, 'file')} changed at the team: not searched until"
                " this machine has indexed its own"
            )
        known = {name: row for name, (row, _) in rows.items()}
        made = VectorModels.of(self.models)
        return OverlaidRows(
            SharedRows(reads, self.link, known, scope),
            local,
            has_vectors=all(row.model == made.model for row in known.values()),
            has_static=all(row.static == made.static for row in known.values()),
        )

    def embed(
        self,
        store: DerivedStore,
        models: Models,
        parts: Collection[tuple[str, str]] | None,
        stop: threading.Event,
    ) -> Iterator[tuple[int, int]]:
        with self._lock:
            known = [each for each in self._sources.values() if each.source.publishes]
        for each in known:
            with each.noting_problem():
                for _ in adopt_models(each, models, stop):
                    yield 0, 1
        before = total = 0
        for before, total in embed_pending(store, models, parts, stop):
            yield before, total
        if known:
            self._declare_nearest()
        for each in known:
            if parts is None or each.source.name in {name for name, _ in parts}:
                with each.noting_problem():
                    for done, of in embed_pending_of(each, models, stop):
                        yield before + done, max(total, before + of)

    def _declare_nearest(self) -> None:
        """Create the HNSW graphs after a pass; until then searches compare every vector."""
        try:
            declare_nearest(self.link)
        except TEAM_ERRORS as error:
            _log.info("%s has no graph of vectors: %s", self.link.shown, error)

    def _scope(self, connection: Connected, local: LocalRows, rows: _Rows) -> SearchScope:
        files = {name: each.files.read(connection, row) for name, (row, each) in rows.items()}
        version = read_identity(local.connection, FILES_VERSION)
        state = tuple((name, row.version) for name, (row, _) in rows.items())
        key = (version, state, local.wanted)
        scope = self._scopes.get(key)
        if scope is None:
            masked, outdated = {}, 0
            for name, known in files.items():
                theirs = {each.path: each.fingerprint for each in known.values()}
                masked[name], lacking = _masked(local.connection, name, theirs)
                outdated += lacking
            scope = SearchScope.of(files, local.wanted, masked, outdated)
            with self._lock:
                if len(self._scopes) >= MAX_SCOPES:
                    self._scopes.clear()
                self._scopes[key] = scope
        return scope


def _masked(
    local: Connection, source: str, theirs: Mapping[str, str]
) -> tuple[frozenset[str], int]:
    """Return which of the team's files differ here; `theirs`: their fingerprints by path.

    They were changed, deleted or ignored here, or changed at the team since. The second result
    counts the files that neither side has: the team had them when they were indexed here, and no
    longer has that version. Before the first scan has ended, a file without a local row does not
    count as deleted.
    """
    tracked: dict[str, str] = dict(
        local.execute("SELECT path, fingerprint FROM files WHERE source = ?", (source,))
    )
    scanned = local.execute(
        "SELECT scanned_at IS NOT NULL FROM sources WHERE name = ?", (source,)
    ).get
    left_out = {path: split_tracked(each)[0] for path, each in tracked.items() if is_left_out(each)}
    same = {path for path, fingerprint in left_out.items() if theirs.get(path) == fingerprint}
    kept = same if scanned else theirs.keys() - (tracked.keys() - same)
    return frozenset(theirs.keys() - kept), len(left_out) - len(same)
