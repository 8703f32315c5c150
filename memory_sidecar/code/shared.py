"""Code that a team shares: what its database is asked for, and what a codebase does with that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar

from memory_sidecar.code.builder import SharedSource, is_left_out, out_of_step
from memory_sidecar.code.results import AtTeam, Published
from memory_sidecar.code.searched import LocalRows, Searched
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.errors import (
    DatabaseError,
    DatabaseUnreachable,
    DiskFull,
    NoIndex,
    SidecarError,
    StoreNewer,
    UsageError,
)
from memory_sidecar.core.model import CodeFilter, Source
from memory_sidecar.core.results import IndexReport, Reporter, Silent
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.registry import Registry
from memory_sidecar.index.database import INDEX_PATIENCE_S, Database
from memory_sidecar.index.embed import EmbedPending
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import Look

T = TypeVar("T")

WITHOUT_TEAM: Final = (DatabaseError, DiskFull, StoreNewer, NoIndex)
"""What a search of the team's may end with, and goes on without."""


class Team(Protocol):
    """A team's code."""

    def begin(self, source: Source, reporter: Reporter) -> bool:
        """Whether the team had nothing of `source`, and has this machine index it from now on."""

    def source(self, source: Source) -> SharedSource | None:
        """`source` as the team has it; `None` where it is of no repository."""

    def searching(
        self, local: LocalRows, sources: Sequence[Source]
    ) -> AbstractContextManager[Searched | None]:
        """What the team has of `sources`, with `local` laid over it; `None` where it has nothing.

        Raises what `WITHOUT_TEAM` has.
        """

    @property
    def embed(self) -> EmbedPending:
        """As `embed_pending`, and what this machine indexes for the team."""


def _go_on(error: SidecarError, local: LocalRows, reporter: Reporter) -> None:
    """Say that `local` alone is searched, and what it lacks. Raises the like of `error` for all."""
    here, there = files_here(local.connection, local.wanted.sources)
    if there and not here:
        none = f"{error.message}; of {there:,} files none is on this machine"
        raise type(error)(none, hint=error.hint) from error
    lacking = f", {here:,} of {here + there:,} files" if there else ""
    if lacking or type(error) is not NoIndex:  # a team that has nothing lacks nothing
        reporter.notice(f"{error.message}: searching what is here{lacking}")


def files_here(connection: Connection, sources: Collection[str] = ()) -> tuple[int, int]:
    """How many indexed files of `sources`, or of all, are here, and how many only a team has."""
    rows = connection.execute("SELECT source, fingerprint FROM files WHERE status = 'indexed'")
    left_out = [is_left_out(text) for name, text in rows if not sources or name in sources]
    there = sum(left_out)
    return len(left_out) - there, there


class Sharing:
    """What a team shares of the code in `data`; without a `team` its methods do nothing."""

    def __init__(self, registry: Registry, data: Database[CodeStore], team: Team | None) -> None:
        self.team = team
        self._registry = registry
        self._data = data

    def source(self, source: Source) -> SharedSource | None:
        """`source` as the team has it."""
        return self.team.source(source) if self.team is not None else None

    def begun(self, source: Source, reporter: Reporter) -> Source:
        """`source`, which this machine indexes for the team from now on unless another does."""
        if self.team is None or not self.team.begin(source, reporter):
            return source
        return self._registry.publish(source.name, publishes=True)

    def publish(self, source: Source, *, by_force: bool, reporter: Reporter) -> Published:
        """Give the team what is indexed of `source`, and have this machine go on doing so.

        The files are looked at first, and what the team has otherwise is indexed: rows that left
        this machine cannot be given. Raises UsageError without a team, or a repository; Conflict
        where another machine does it, which goes on then.
        """
        if self.source(source) is None:
            raise UsageError(
                f"{source.name} cannot be shared: `database` is not set, or it has no git remote",
                hint="docs/team.md tells how a team shares an index",
            )
        self._data.update([source], reporter, embed=not self._data.is_tended)
        shared = self.source(replace(source, publishes=True))
        assert shared
        try:
            published = self._data.ask(
                lambda _: shared.give(self._data.open(), by_force=by_force),
                reporter,
                patience_s=INDEX_PATIENCE_S,
            )
            source = self._registry.publish(source.name, publishes=True)
        finally:
            self.source(source)  # from now on as it is registered
        self._data.owner.follow(source)
        return published

    def counted(self, report: IndexReport, reporter: Reporter) -> IndexReport:
        """`report`, the team's chunks counted, too."""
        if self.team is None:
            return report
        with self._data.open().reading() as connection:
            local = LocalRows(connection, self._data.open(), CodeFilter(sources=report.sources))
            try:
                counts = self.ask(lambda rows: rows.vector_counts(), local, reporter)
            except WITHOUT_TEAM as error:
                reporter.notice(f"{error.message}: counting what is here")
                counts = local.vector_counts()
        return replace(report, chunks_total=counts.rows, vectors_pending=counts.pending)

    def counts(self, connection: Connection) -> Mapping[str, AtTeam]:
        """What the team has of each source beside what `connection` has of it."""
        found = {source.name: AtTeam(0, 0) for source in self._registry.all()}
        for name in found if self.team is not None else ():
            local = LocalRows(connection, self._data.open(), CodeFilter(sources=(name,)))
            try:
                both = self._ask_both(lambda rows: rows.vector_counts(), local)
            except WITHOUT_TEAM:
                found[name] = AtTeam(0, 0, files_here(connection, (name,))[1])
            else:
                own = local.vector_counts()
                found[name] = AtTeam(both.rows - own.rows, both.pending - own.pending)
        return found

    def files_away(self) -> int:
        """How many files of all sources only the team has the chunks of."""
        with self._data.open().reading() as connection:
            return files_here(connection)[1]

    def ask(self, question: Callable[[Searched], T], local: LocalRows, reporter: Reporter) -> T:
        """What `question` finds in `local`, over what the team has of the same sources, if it has.

        In `local` alone where the team's database does not answer, or no longer: see `_go_on`.
        """
        if self.team is None:
            return question(local)
        try:
            try:
                answer = self._ask_both(question, local)
            except DatabaseUnreachable:  # its connection may be all that was lost
                answer = self._ask_both(question, local)
        except WITHOUT_TEAM as error:
            _go_on(error, local, reporter)
            return question(local)
        if self._data.is_tended:
            self._keep_up_soon()
        return answer

    def _ask_both(self, question: Callable[[Searched], T], local: LocalRows) -> T:
        assert self.team
        with self.team.searching(local, self._registry.all()) as both:
            return question(both or local)

    def keep_up(self, source: Source) -> None:
        """Look again at the files of `source` of which the team has another version by now.

        In the thread of the owner. What is checked out here is then laid over it.
        """
        shared = self.source(source)
        theirs = shared.fingerprints(anew=True) if shared else None
        if theirs is not None:
            paths = out_of_step(self._data.open().manifest(source.name), theirs)
            if paths:
                self._data.owner.refresh(source, Silent(), Look(under=paths))

    def _keep_up_soon(self) -> None:
        for source in self._registry.all():
            shared = self.source(source)
            if shared is not None and shared.has_moved_on:
                self._data.owner.loop.ask_soon(
                    partial(self.keep_up, source), urgency=Urgency.ITSELF, key=f"team {source.name}"
                )
