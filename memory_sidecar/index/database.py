"""One database derived from files: what callers ask of it. Its `Owner` changes it.

The codebase and each agent make one, and tell it what its sources are and how their files become
rows. A database that is missing, damaged or of an older schema is made again by the first call that
needs it; this call says so.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TypeVar, cast

from memory_sidecar.core.errors import (
    CannotWrite,
    ModelError,
    NotFound,
    PathRefused,
    SidecarError,
    StoreBusy,
    StoreCorrupt,
    UsageError,
    as_sidecar_error,
)
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import IndexReport, Reporter, Silent
from memory_sidecar.core.sqlite import damage_of
from memory_sidecar.disk.registry import Registry
from memory_sidecar.index.document import Builder, SourceGone, Stopped
from memory_sidecar.index.embed import EmbedPending, embed_pending, waiting
from memory_sidecar.index.engine_state import remove_state
from memory_sidecar.index.followed import LiveState
from memory_sidecar.index.indexing import Embed, index_sources, require_files
from memory_sidecar.index.models import Models
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.reading import Readings, S, StoreFile
from memory_sidecar.index.report import source_names
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import Look

STORE_PATIENCE_S = 10.0  # with another process, for a memory that is written already
INDEX_PATIENCE_S = 60.0  # with one that indexes the same, for what a person asked for
LOST_PATIENCE_S = 10.0  # of a question, with rows that are being made again
AT_ONCE, AT_ONCE_S = 64, 1.0  # new texts that a caller may wait for, and how long after asking

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Database(Readings[S]):
    """The database in `file`. Opened when first used; safe to use from several threads."""

    def __init__(
        self,
        file: StoreFile[S],
        *,
        sources: Callable[[], Sequence[Source]],
        builder: Callable[[Source], Builder],
        models: Models,
        remedy: str,
        embed: EmbedPending = embed_pending,
    ) -> None:
        """As `Readings`; `builder` makes rows of the files of a source."""
        super().__init__(file, sources=sources, models=models, remedy=remedy)
        self.paths = file.paths
        self._builder = builder
        self._make_owner = partial(
            Owner, file, sources=sources, builder=builder, models=models, embed=embed
        )
        self._owner: Owner[S] | None = None
        self._making = threading.Lock()  # of the owner: a second one would wait for the first

    @property
    def owner(self) -> Owner[S]:
        """What changes it, made when something first has to be: readers do without."""
        with self._making:
            if self._owner is None:
                self._owner = self._make_owner()
            return self._owner

    def close(self, *, until_s: float = math.inf) -> bool:
        """End what is under way, until `until_s`; whether it has ended."""
        has_ended = self._owner is None or self._owner.close(until_s=until_s)
        if has_ended:
            self.file.close()
        return has_ended

    # Writing

    def update(
        self,
        sources: Sequence[Source],
        reporter: Reporter,
        *,
        full: bool = False,
        embed: Embed = True,
    ) -> IndexReport:
        """Bring the rows of `sources`, and of sources whose rows were lost, in line with the files.

        `full` reads unchanged files too; `embed=False` leaves vectors for later. The rows of a
        source that is not there stay, and it is no error unless all of them are absent.
        """
        return self.ask(
            lambda said: self._update(self._with_lost(sources, said), said, full=full, embed=embed),
            reporter,
            patience_s=INDEX_PATIENCE_S,
        )

    def take_up(
        self,
        source: Source,
        under: Collection[str],
        reporter: Reporter,
        *,
        first: Callable[[Reporter], None],
        is_done: Callable[[], bool],
    ) -> bool:
        """Index files that the caller just wrote, `first` having been called; whether it was done.

        Returns with their vectors, unless there is no model, much to embed or no time left.
        Another process that holds the lock may do it instead: `is_done` tells.
        """
        began = monotonic()

        def work(said: Reporter) -> bool:
            first(said)
            self.owner.refresh(source, said, Look(under=under))
            with suppress(ModelError):
                if not self.is_tended or (not is_late() and waiting(self.open()) <= AT_ONCE):
                    self.owner.embed(said, parts=[(source.name, "")], until=is_late)
            return True

        def is_late() -> bool:
            return self.is_tended and monotonic() > began + AT_ONCE_S

        try:
            self.owner.loop.ask(
                work,
                reporter,
                urgency=Urgency.SHORT,
                patience_s=STORE_PATIENCE_S,
                is_needless=is_done,
            )
        except UsageError:  # `first` refuses the database
            raise
        except Exception as error:  # the files are as they should be, and the next pass finds them
            told = error if isinstance(error, Stopped) else as_sidecar_error(error, hint="")
            if told is not error:
                _log.warning("%s: %s", self.paths.db.stem, told, exc_info=error)
            reporter.notice(f"written, but not indexed yet: {told}")
            return False
        self.owner.follow(source)
        self.owner.embed_soon()
        return True

    def catch_up(self, sources: Sequence[Source], reporter: Reporter) -> bool:
        """Look for what changed while no process watched; False while another process writes."""

        def work(said: Reporter) -> None:
            for source in sources:
                with suppress(NotFound, PathRefused):  # what is indexed of it stays
                    self.owner.refresh(source, said)

        with suppress(CannotWrite):
            self.owner.loop.ask(work, reporter, urgency=Urgency.SHORT, patience_s=0.0)
            return True
        return False

    def count(self, work: Callable[[], None], *, wait_s: float) -> None:
        """Have the owner do `work`, which is short; waits for `wait_s` at most."""
        with suppress(CannotWrite, Stopped):
            done = self.owner.loop.ask_soon(work, urgency=Urgency.SHORT, key="count")
            if wait([done], timeout=wait_s).done:
                done.result()

    def rebuild(
        self, sources: Sequence[Source], *, all_of_it: bool, reporter: Reporter
    ) -> IndexReport:
        """Derive the rows of `sources` again from their files; those that are there stay till then.

        `all_of_it` forgets what is of no source any more, and sets a damaged database aside.
        """

        def work(said: Reporter) -> IndexReport:
            store = self.open()
            if all_of_it and (damage := damage_of(self.paths.db)):
                raise StoreCorrupt(f"{self.paths.db} is damaged: {damage}", path=self.paths.db)
            for source in sources:
                if store.paths(source.name) and not self._builder(source).believes_empty:
                    require_files(source)
            for source in sources:  # the next pass derives every row again
                remove_state(self.paths.flow_state(source.name))
            if all_of_it:
                with store.reading() as connection:
                    gone = set(source_names(connection)) - {source.name for source in sources}
                for name in gone:
                    store.forget_source(name)
            return self._update(self._with_lost(sources, said), said, embed=True)

        return self.ask(work, reporter, patience_s=INDEX_PATIENCE_S)

    def forget(self, name: str, registry: Registry, *, reporter: Reporter) -> Source:
        """Remove what is derived from a source, and then its entry. Raises NotFound."""
        source = registry.get(name)

        def work(_: Reporter) -> None:
            remove_state(self.paths.flow_state(source.name))
            if self.paths.db.exists():
                self.open().forget_source(source.name)
            registry.remove(source.name)

        self._change(source, work, reporter)
        return source

    def move(self, source: Source, *, reporter: Reporter) -> None:
        """Have the rows of `source`, whose folder is another one now, be of files in that."""

        def work(_: Reporter) -> None:
            if self.paths.db.exists():
                self.open().move_source(source.name, source.root)

        self._change(source, work, reporter)

    # Watching

    @property
    def is_tended(self) -> bool:
        """Whether this process watches the sources."""
        return self._owner is not None and self._owner.loop.is_tended

    def states(self) -> dict[str, LiveState]:
        """The state of every watched source, by its name."""
        return self._owner.states() if self._owner is not None else {}

    def unseen(self, sources: Sequence[Source] | None = None) -> set[str]:
        """The names of `sources`, or of all, that this process watches and has not scanned yet."""
        if not self.is_tended:
            return set()
        seen = {name for name, live in self.states().items() if live.refreshed_at or live.error}
        return {each.name for each in (self.sources() if sources is None else sources)} - seen

    def wait_fresh(self, *, timeout_ms: int) -> bool:
        """A barrier: whether every save before this call is indexed within `timeout_ms`.

        Asks the disk, not the watch, whose events may still be on their way.
        """
        asked = []
        for source in self.sources():
            self.owner.follow(source)
            recheck = partial(self.owner.refresh, source, Silent(), Look())
            key = f"recheck {source.name}"
            asked.append(self.owner.loop.ask_soon(recheck, urgency=Urgency.BARRIER, key=key))
        done, late = wait(asked, timeout=timeout_ms / 1000)
        return not late and all(each.exception() is None for each in done)

    # Reading

    def begin_anew(self, reporter: Reporter, *, unless_after: int | None = None) -> None:
        def work(_: Reporter) -> None:
            if unless_after in (None, self.file.beginnings):
                self.owner.start_over()

        self.ask(work, reporter, patience_s=STORE_PATIENCE_S)
        if self.is_tended:
            self.wait_fresh(timeout_ms=int(1000 * LOST_PATIENCE_S))

    def _make_lost(
        self,
        known: Collection[str],
        lost: Sequence[Source],
        reporter: Reporter,
        *,
        wanted: Collection[str],
        embeds: bool,
    ) -> None:
        for source in lost:
            self.owner.follow(source)
        has_rows = not set(known).isdisjoint(wanted or known)
        if self.is_tended and has_rows:
            for name, live in self.states().items():
                if live.error and name not in known:
                    reporter.notice(f"{name} cannot be indexed: {live.error}")
            return

        def work(said: Reporter) -> None:
            with self.open().reading() as connection:  # another caller may have done it
                _, still_lost = self._known_and_lost(connection, lost, Silent())
            if still_lost:
                self._update(still_lost, said, embed=embeds and not self.is_tended)

        wait_s = LOST_PATIENCE_S if self.is_tended else math.inf
        try:
            self.owner.loop.ask(
                work, reporter, urgency=Urgency.ASKED, patience_s=LOST_PATIENCE_S, wait_s=wait_s
            )
        except (NotFound, PathRefused, CannotWrite, Stopped, TimeoutError) as error:
            if not has_rows and not isinstance(error, (StoreBusy, Stopped, TimeoutError)):
                raise
            reporter.notice(f"{error}: answering from what is indexed")

    # How

    def _change(self, source: Source, work: Callable[[Reporter], None], reporter: Reporter) -> None:
        """Have `work` change the rows of `source`, which is watched no longer."""

        def unwatched(said: Reporter) -> None:
            self.owner.unfollow(source.name)  # again: a pass may have begun meanwhile
            work(said)

        self.owner.unfollow(source.name)
        self.ask(unwatched, reporter, patience_s=STORE_PATIENCE_S)

    def ask(self, work: Callable[[Reporter], T], reporter: Reporter, *, patience_s: float) -> T:
        """Have the owner do `work`, under the writer's lock. Raises StoreBusy, SidecarError."""
        try:
            done = self.owner.loop.ask(work, reporter, urgency=Urgency.ASKED, patience_s=patience_s)
        except Stopped as error:
            kind = NotFound if isinstance(error, SourceGone) else SidecarError
            raise kind(
                f"did not finish: {error}", hint="run it again, or see `memory-sidecar source list`"
            ) from error
        return cast("T", done)  # not needless, as it cannot be

    def _update(
        self, sources: Sequence[Source], reporter: Reporter, *, full: bool = False, embed: Embed
    ) -> IndexReport:
        return index_sources(self.owner, sources, reporter, full=full, embed=embed)

    def _with_lost(self, asked: Sequence[Source], reporter: Reporter) -> list[Source]:
        """`asked`, with the sources that were lost, unless a watch makes those again by itself."""
        names = {source.name for source in asked}
        others = [source for source in self.sources() if source.name not in names]
        with self.open().reading() as connection:
            _, lost = self._known_and_lost(connection, others, reporter)
        for source in (*asked, *lost):
            self.owner.follow(source)
        return list(asked) if self.is_tended else [*asked, *lost]
