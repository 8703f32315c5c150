"""Code that a team shares: the protocol of its database, and what a codebase does with it.

Without an answer from the team, everything here continues with the local database alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar

from memory_sidecar.code.builder import SharedSource, is_left_out, outdated_paths
from memory_sidecar.code.model import CodeFilter
from memory_sidecar.code.results import AtTeam, Published
from memory_sidecar.code.rows import CodeRows, LocalRows
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseUnreachable,
    DiskFull,
    NoIndex,
    SidecarError,
    StoreNewer,
    TeamEmpty,
    UsageError,
)
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import IndexReport, Reporter, Silent
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.registry import Registry
from memory_sidecar.disk.repository import Origin, origin_of
from memory_sidecar.index.database import INDEX_PATIENCE_S, Database
from memory_sidecar.index.embed import EmbedPending
from memory_sidecar.index.report import known_sources
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import ScanScope

T = TypeVar("T")

WITHOUT_TEAM: Final = (DatabaseError, DiskFull, StoreNewer, NoIndex)
"""Errors of the team's database after which a search continues with local rows."""


_NO_DATABASE: Final = NoIndex(
    "no `database` of a team is set",
    hint="set it again, or `memory-sidecar index` indexes all files on this machine",
)


class Team(Protocol):
    """The code in a team's database; `team.codebase` implements it."""

    def begin(self, source: Source, reporter: Reporter) -> bool:
        """Make this machine the indexer of `source` if the team has no rows of it; True if so."""

    def source(self, source: Source) -> SharedSource | None:
        """Return `source` at the team; `None` if it is in no repository."""

    def searching(
        self, local: LocalRows, sources: Sequence[Source], reporter: Reporter
    ) -> AbstractContextManager[CodeRows | None]:
        """Open the team's rows of `sources` overlaid by `local`; `None` if the team has none.

        A notice counts the files that neither has, because the team has other versions by now.
        Raises the errors in `WITHOUT_TEAM`.
        """

    @property
    def embed(self) -> EmbedPending:
        """Like `embed_pending`, and embeds what this machine indexes for the team, too."""


def _notice_local_only(
    error: SidecarError, local: LocalRows, reporter: Reporter, doing: str
) -> None:
    """Notice that `doing`, such as searching, takes `local` alone, and how many files it lacks.

    Raises an error of the type of `error` if it lacks all of them.
    """
    here, there = count_files_here(local.connection, local.wanted.sources)
    if there and not here:
        none = f"{error.message}; of {there:,} files none is on this machine"
        raise type(error)(none, hint=error.hint) from error
    lacking = f", {here:,} of {here + there:,} files" if there else ""
    if lacking or not isinstance(error, TeamEmpty):
        reporter.notice(f"{error.message}: {doing} this machine's part{lacking}")


def was_shared(connection: Connection, sources: Collection[str]) -> bool:
    """Whether a team shared any of `sources` when they were indexed, judged by one file of each."""
    indexed = "SELECT fingerprint FROM files WHERE source = ? AND status = 'indexed' LIMIT 1"
    return any(" " in (connection.execute(indexed, (name,)).get or "") for name in sources)


def count_files_here(connection: Connection, sources: Collection[str] = ()) -> tuple[int, int]:
    """Count the indexed files of `sources` (all if empty) here, and those that only a team has."""
    rows = connection.execute("SELECT source, fingerprint FROM files WHERE status = 'indexed'")
    left_out = [is_left_out(text) for name, text in rows if not sources or name in sources]
    there = sum(left_out)
    return len(left_out) - there, there


class Sharing:
    """What a team shares of one codebase. Without a `team` the methods answer from `data` alone."""

    def __init__(self, registry: Registry, data: Database[CodeStore], team: Team | None) -> None:
        self.team = team
        self._registry = registry
        self._data = data

    def source(self, source: Source) -> SharedSource | None:
        """Return `source` at the team; `None` if it is not shared."""
        return self.team.source(source) if self.team is not None else None

    def begin_sharing(self, source: Source, reporter: Reporter) -> Source:
        """Have this machine index `source` for the team if the team has no rows of it yet.

        Returns the source as it is registered then.
        """
        if self.team is None or not self.team.begin(source, reporter):
            return source
        return self._registry.publish(source.name)

    def publish(self, source: Source, *, by_force: bool, reporter: Reporter) -> Published:
        """Write the index of `source` to the team, and make this machine its indexer.

        The source is updated first. That also rebuilds files of which the team has another version,
        because rows moved to the team before cannot be moved again. Raises UsageError without a
        team or a repository; Conflict if another machine is the indexer, which it then remains.
        """
        if (shared := self.source(source)) is None:
            raise UsageError(
                f"{source.name} has no git remote, or only a path, which others do not know",
                hint="docs/team.md describes how a team shares an index",
            )
        # First, because files that the team has for another branch only must be built to be moved.
        if shared.claim(by_force=by_force):
            reporter.notice(
                f"another model made the vectors of {source.name} at the team: all are made again"
            )
        self._data.update([source], reporter)
        shared = self.source(replace(source, publishes=True))
        assert shared
        try:
            published = self._data.ask(
                lambda _: shared.give(self._data.open()), reporter, patience_s=INDEX_PATIENCE_S
            )
            source = self._registry.publish(source.name)
        finally:
            self.source(source)  # tells the team's link how the source is registered now
        self._data.owner.watch(source)
        return published

    def keep_here(self, removed: Collection[Origin]) -> None:
        """Stop indexing for the team what was `removed` from it; the next pass indexes it here."""
        for each in self._registry.all():
            if origin_of(each.root) in removed:
                self._registry.publish(each.name, publishes=False)

    def tell_problems(self, names: Collection[str], reporter: Reporter) -> None:
        """Notice why what this machine indexed of the sources `names` did not reach the team."""
        for source in self._registry.all() if self.team is not None else ():
            shared = self.source(source) if source.name in names and source.publishes else None
            if shared is not None and shared.problem:
                reporter.notice(f"what changes in {source.name} is not shared: {shared.problem}")

    def with_team_counts(self, report: IndexReport, reporter: Reporter) -> IndexReport:
        """Return `report` with the chunks of the team counted, too."""
        if self.team is None:
            return report
        with self._data.open().reading() as connection:
            local = LocalRows(connection, self._data.open(), CodeFilter(sources=report.sources))
            try:
                counts = self.ask(
                    lambda rows: rows.vector_counts(), local, reporter, doing="counting"
                )
            except WITHOUT_TEAM as error:
                reporter.notice(f"{error.message}: counting this machine's part")
                counts = local.vector_counts()
        return replace(report, chunks_total=counts.rows, vectors_pending=counts.pending)

    def counts(self, connection: Connection, sources: Collection[Source]) -> Mapping[str, AtTeam]:
        """Count, for each of `sources`, the chunks of the team that are not in `connection`."""
        found = {source.name: AtTeam(0, 0) for source in sources}
        for name in found if self.team is not None else ():
            local = LocalRows(connection, self._data.open(), CodeFilter(sources=(name,)))
            try:
                both = self._ask_both(lambda rows: rows.vector_counts(), local, Silent())
            except WITHOUT_TEAM:
                found[name] = AtTeam(0, 0, count_files_here(connection, (name,))[1])
            else:
                own = local.vector_counts()
                found[name] = AtTeam(both.rows - own.rows, both.pending - own.pending)
        return found

    def files_away(self) -> int:
        """Count the files of all sources whose chunks only the team has."""
        with self._data.open().reading() as connection:
            return count_files_here(connection)[1]

    def ask(
        self,
        question: Callable[[CodeRows], T],
        local: LocalRows,
        reporter: Reporter,
        *,
        doing: str = "searching",
    ) -> T:
        """Ask `question` of `local` rows overlaid on the team's rows of the same sources.

        If the team's database fails, `question` gets `local` alone: see `_notice_local_only`.
        """
        if self.team is None:
            names = local.wanted.sources or known_sources(local.connection)
            if was_shared(local.connection, names):
                _notice_local_only(_NO_DATABASE, local, reporter, doing)
            return question(local)
        try:
            try:
                answer = self._ask_both(question, local, reporter)
            except DatabaseUnreachable:  # perhaps only the connection was lost
                answer = self._ask_both(question, local, reporter)
        except WITHOUT_TEAM as error:
            if isinstance(error, TeamEmpty):
                self._refresh_outdated_soon()
            _notice_local_only(error, local, reporter, doing)
            return question(local)
        self._refresh_outdated_soon()
        return answer

    def _ask_both(
        self, question: Callable[[CodeRows], T], local: LocalRows, reporter: Reporter
    ) -> T:
        assert self.team
        with self.team.searching(local, self._registry.all(), reporter) as both:
            return question(both or local)

    def refresh_outdated(self, source: Source) -> None:
        """Rebuild the files of `source` of which the team has another version by now.

        Runs in the thread of the owner. Local rows then mask those of the team where files differ.
        """
        shared = self.source(source)
        theirs = shared.fingerprints(anew=True) if shared else None
        if theirs is not None:
            paths = outdated_paths(self._data.open().manifest(source.name), theirs)
            if paths:
                self._data.owner.refresh(source, Silent(), ScanScope(under=paths))

    def _refresh_outdated_soon(self) -> None:
        for source in self._registry.all() if self._data.is_watching else ():
            shared = self.source(source)
            if shared is not None and shared.has_moved_on:
                self._data.owner.loop.ask_soon(
                    partial(self.refresh_outdated, source),
                    urgency=Urgency.BACKGROUND,
                    key=f"team {source.name}",
                )
