"""The reading side of a database: one commit of it, and vectors to compare questions with.

Readers open a snapshot and never wait for the owner, unless there are no rows to answer from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Generic, TypeVar

from memory_sidecar.core.errors import ModelError, NoIndex, SidecarError, StoreCorrupt
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.models import Models
from memory_sidecar.index.report import VectorCounts, source_names, source_standings
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.index.schema import read_identity
from memory_sidecar.index.store_file import S, StoreFile
from memory_sidecar.index.vectors import EmbedQuery

T = TypeVar("T")


class Readings(ABC, Generic[S]):
    """What readers ask of the database in `file`."""

    def __init__(
        self,
        file: StoreFile[S],
        *,
        sources: Callable[[], Sequence[Source]],
        models: Models,
        remedy: str,
    ) -> None:
        """`sources` are those that the database should hold, asked anew at every call.

        `remedy` is the command that a person runs to bring it up to date.
        """
        self.models = models
        self.sources = sources
        self._file = file
        self._remedy = remedy

    @abstractmethod
    def _make_lost(
        self,
        known: Collection[str],
        lost: Sequence[Source],
        reporter: Reporter,
        *,
        wanted: Collection[str],
    ) -> None:
        """Have the rows of `lost` made again, as `snapshot` says; `known` are sources with rows."""

    @abstractmethod
    def begin_anew(self, reporter: Reporter, *, unless_after: int | None = None) -> None:
        """Set the database aside for a new one; of several callers, by `unless_after`, one does."""

    @property
    def used_at_s(self) -> float:
        """When it was opened last, for whatever purpose, as `time.monotonic` counts."""
        return self._file.used_at_s

    def open(self) -> S:
        """The store, as it is. Raises StoreCorrupt where its file was taken away."""
        return self._file.open()

    def rest(self) -> None:
        """Give idle connections back; the next use opens new ones."""
        self._file.rest()

    def unload(self) -> None:
        """Give the memory of the vectors back, too; the next query reads them again."""
        self._file.unload()

    def recovering(self, work: Callable[[], T], reporter: Reporter) -> T:
        """Do `work`, which reads; if the database turns out to be damaged, begin it anew before."""
        beginnings = self._file.beginnings
        try:
            return work()
        except Exception as error:
            # A reader of the database that another thread set aside may meet any error.
            if self._file.beginnings == beginnings:
                if not (isinstance(error, StoreCorrupt) and error.is_of(self._file.path)):
                    raise
                reporter.notice(f"{error.message}: making it again")
                self.begin_anew(reporter, unless_after=beginnings)
            return work()

    def complete(self, reporter: Reporter) -> S:
        """The store, with rows of every source: see `snapshot`."""
        with self.snapshot(reporter):
            return self.open()

    @contextmanager
    def snapshot(
        self,
        reporter: Reporter,
        *,
        sources: Sequence[Source] | None = None,
        wanted: Collection[str] = (),
    ) -> Iterator[tuple[S, Connection]]:
        """The store, with rows of every one of its `sources`, and one commit of it to read.

        What was lost is made again. Where this process watches, this waits for that only if none of
        the sources called `wanted`, or no source at all, has rows yet, and not for long; and not
        for vectors. Says which of them answer in part, or as they were before.
        """
        with ExitStack() as stack:
            store = self.open()
            connection = stack.enter_context(store.reading())
            known, lost = self._known_and_lost(connection, sources, reporter)
            if lost:
                stack.close()
                self._make_lost(known, lost, reporter, wanted=wanted)
                store = self.open()
                connection = stack.enter_context(store.reading())
            self._say_standings(connection, wanted, reporter)
            yield store, connection

    def embed_query(
        self, connection: Connection, asked: VectorCounts, reporter: Reporter, *, required: bool
    ) -> EmbedQuery | None:
        """What turns a question into a vector like those of the rows that are `asked`.

        `None`, with a notice, without. Raises ModelError or NoIndex instead where it is `required`.
        """
        if not asked.rows and not required:
            return None
        problem = self._problem_with_vectors(connection, asked)
        if problem is None and asked.pending:
            reporter.notice(f"vectors {asked.percent} % done: ranking by keyword and what is there")
            if asked.pending == asked.rows:
                problem = NoIndex(
                    "no vectors yet (0 % done)",
                    hint="`--mode hybrid` ranks by keyword until they are there; "
                    "`memory-sidecar status` tells how far they are",
                )
        elif problem is not None and not required:
            reporter.notice(f"ranking by keyword alone: {problem.message}; {problem.hint}")
        if problem is not None and required:
            raise problem
        return self.models.embedder.embed_query if problem is None else None

    def embed_static(self, connection: Connection) -> EmbedQuery | None:
        """What gives a question a static vector like those of the rows; `None` without."""
        static = self.models.static
        if static is None or read_identity(connection, "static") != static.version:
            return None
        return lambda text: static.embed([text])[0]

    def _problem_with_vectors(
        self, connection: Connection, asked: VectorCounts
    ) -> SidecarError | None:
        """Why a question cannot be compared with those that are there."""
        try:
            if asked.rows == asked.pending:
                return self.models.problem
            if read_identity(connection, "model") != self.models.files.sha256:
                return NoIndex(
                    "vectors are of another model", hint=f"`{self._remedy}` makes them anew"
                )
            self.models.embedder.load()
        except ModelError as error:
            return error
        return None

    def _say_standings(
        self, connection: Connection, wanted: Collection[str], reporter: Reporter
    ) -> None:
        for name, is_scanned, is_whole in source_standings(connection):
            if wanted and name not in wanted:
                continue
            if not is_scanned:
                reporter.notice(f"{name} is not indexed to its end yet: answering from what is")
            elif not is_whole:
                reporter.notice(
                    f"{name} is being rebuilt: answering from what was indexed before; if that was"
                    f" interrupted, `{self._remedy}` ends it"
                )

    def _known_and_lost(
        self, connection: Connection, sources: Sequence[Source] | None, reporter: Reporter
    ) -> tuple[set[str], list[Source]]:
        """The names of sources that have rows, and the sources that the database knows nothing of.

        It was deleted, damaged or of an older schema, or making it was interrupted.
        """
        if self._file.take_outdated():
            reporter.notice(f"{self._file.path.name} is of an older version: making it again")
        known = set(source_names(connection))
        wanted = self.sources() if sources is None else sources
        lost = [source for source in wanted if source.name not in known]
        if lost:
            names = ", ".join(source.name for source in lost)
            reporter.notice(f"{self._file.path.name} holds nothing of {names}: indexing it")
        return known, lost
