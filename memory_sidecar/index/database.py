"""One database derived from files, as its callers see it. All writing is left to its `Owner`.

The codebase and each agent make one of their sources. A database that is missing, damaged or of an
older schema is built again by the first call that needs it, with a notice.
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
    OutOfFiles,
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
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.document import Builder, SourceGone, Stopped
from memory_sidecar.index.embed import EmbedPending, count_waiting, embed_pending
from memory_sidecar.index.engine_state import remove_state
from memory_sidecar.index.index_run import Embed, index_sources
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.reading import ReadableDatabase, S, StoreFile
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import ScanScope, require_files
from memory_sidecar.index.watched import LiveState

STORE_PATIENCE_S = 10.0  # how long a short change waits while another process writes
INDEX_PATIENCE_S = 60.0  # how long an index run waits while another process writes
MISSING_PATIENCE_S = 10.0  # how long a question waits for missing rows to be built
AT_ONCE, AT_ONCE_S = 64, 1.0  # the most texts, and the longest, that a caller waits for embedding

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Database(ReadableDatabase[S]):
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
        """`builder` makes the builder of a source; the rest is as in `ReadableDatabase`."""
        super().__init__(file, sources=sources, models=models, remedy=remedy)
        self.paths = file.paths
        self._builder = builder
        self._make_owner = partial(
            Owner, file, sources=sources, builder=builder, models=models, embed=embed
        )
        self._owner: Owner[S] | None = None
        self._making = threading.Lock()  # guards `_owner`: two would wait for each other's lock

    @property
    def owner(self) -> Owner[S]:
        """The writer of this database, made at the first change: readers do without."""
        with self._making:
            if self._owner is None:
                self._owner = self._make_owner()
            return self._owner

    def close(self, *, until_s: float = math.inf) -> bool:
        """Stop running work, wait for it until `until_s`, and return whether it has ended."""
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
        embed: Embed | None = None,
    ) -> IndexReport:
        """Index what changed in `sources`, and all of registered sources that have no rows.

        `full` reads unchanged files, too. New rows are embedded by default unless a daemon will.
        The rows of an absent source stay, with a notice; it is an error only if all are absent.
        """

        def work(reporter: Reporter) -> IndexReport:
            wanted = self._with_missing(sources, reporter)
            embeds = not self.is_watching if embed is None else embed
            return index_sources(self.owner, wanted, reporter, full=full, embed=embeds)

        return self.ask(work, reporter, patience_s=INDEX_PATIENCE_S)

    def index_written(
        self,
        source: Source,
        under: Collection[str],
        reporter: Reporter,
        *,
        first: Callable[[Reporter], None],
        is_done: Callable[[], bool],
    ) -> None:
        """Index the files at the paths `under`, which the caller just wrote.

        Calls `first` before, under the lock. Embeds them, too, if there is a model, time and little
        to embed. `is_done()` tells whether another writing process did it. Failures are notices.
        """
        began = monotonic()

        def work(reporter: Reporter) -> None:
            first(reporter)
            self.owner.refresh(source, reporter, ScanScope(under=under))
            with suppress(ModelError):
                waits = self.is_watching and (is_late() or count_waiting(self.open()) > AT_ONCE)
                if not waits:
                    self.owner.embed(reporter, parts=[(source.name, "")], until=is_late)

        def is_late() -> bool:
            return self.is_watching and monotonic() > began + AT_ONCE_S

        try:
            self.owner.loop.ask(
                work,
                reporter,
                urgency=Urgency.SHORT,
                patience_s=STORE_PATIENCE_S,
                is_redundant=is_done,
            )
        except UsageError:  # from `first`, which refuses the database
            raise
        except Exception as error:
            named = error if isinstance(error, Stopped) else as_sidecar_error(error, hint="")
            if named is not error:
                _log.warning("%s: %s", self.paths.db.stem, named, exc_info=error)
            reporter.notice(f"written, but not indexed yet: {named}")
            return
        self.owner.watch(source)
        self.owner.embed_soon()

    def rescan(
        self, sources: Sequence[Source], reporter: Reporter, *, patience_s: float = 0.0
    ) -> bool:
        """Index what changed while no process watched; False if `patience_s` brought no turn."""

        def work(reporter: Reporter) -> None:
            for source in sources:
                with suppress(NotFound, PathRefused, SourceGone):  # rows of an absent source stay
                    self.owner.refresh(source, reporter)

        try:
            self.owner.loop.ask(work, reporter, urgency=Urgency.SHORT, patience_s=patience_s)
        except CannotWrite as error:
            if not isinstance(error, StoreBusy | OutOfFiles):  # soon over, or told by what follows
                reporter.notice(f"what has changed is not indexed yet: {error}")
            return False
        return True

    def count(self, work: Callable[[], None], *, wait_s: float) -> None:
        """Have the owner run `work`, which counts reads; wait for it up to `wait_s`."""
        with suppress(CannotWrite, Stopped):
            done = self.owner.loop.ask_soon(work, urgency=Urgency.SHORT, key="count")
            if wait([done], timeout=wait_s).done:
                done.result()

    def rebuild(
        self, sources: Sequence[Source], *, all_of_it: bool, reporter: Reporter
    ) -> IndexReport:
        """Derive every row of `sources` again; each old row stays until its file is done.

        `all_of_it` also sets a damaged database aside.
        """

        def work(reporter: Reporter) -> IndexReport:
            store = self.open()
            if all_of_it and (damage := damage_of(self.paths.db)):
                raise StoreCorrupt(f"{self.paths.db} is damaged: {damage}", path=self.paths.db)
            for source in sources:
                if store.paths(source.name) and not self._builder(source).trusts_empty_root:
                    require_files(source)
            for source in sources:  # without its state, the pass below derives every row again
                remove_state(self.paths.flow_state(source.name))
            wanted = self._with_missing(sources, reporter)
            return index_sources(self.owner, wanted, reporter, embed=True)

        return self.ask(work, reporter, patience_s=INDEX_PATIENCE_S)

    def forget(self, name: str, registry: Registry, *, reporter: Reporter) -> Source:
        """Delete the derived rows of a source, then its entry; return that. Raises NotFound."""
        source = registry.get(name)

        def work(_: Reporter) -> None:
            remove_state(self.paths.flow_state(source.name))
            if self.paths.db.exists():
                self.open().forget_source(source.name)
            with suppress(NotFound):  # of an emptied list, whose sources are those with rows
                registry.remove(source.name)

        self._change(source, work, reporter)
        return source

    def move(self, source: Source, *, reporter: Reporter) -> None:
        """Assign the rows of `source` to its new root, to which its folder was moved."""

        def work(_: Reporter) -> None:
            if self.paths.db.exists():
                self.open().move_source(source.name, source.root)

        self._change(source, work, reporter)

    def ask(self, work: Callable[[Reporter], T], reporter: Reporter, *, patience_s: float) -> T:
        """Have the owner run `work`, and return its result. Raises StoreBusy, SidecarError."""
        try:
            done = self.owner.loop.ask(work, reporter, urgency=Urgency.LONG, patience_s=patience_s)
        except Stopped as error:
            kind = NotFound if isinstance(error, SourceGone) else SidecarError
            raise kind(
                f"did not finish: {error}", hint="run it again, or see `memory-sidecar source list`"
            ) from error
        return cast("T", done)  # None only for redundant work, which this cannot be

    # Watching

    @property
    def is_watching(self) -> bool:
        """Whether this process watches the sources."""
        return self._owner is not None and self._owner.loop.runs_in_background

    def states(self) -> dict[str, LiveState]:
        """Return the state of every watched source, by its name."""
        return self._owner.states() if self._owner is not None else {}

    def unscanned(self, sources: Sequence[Source] | None = None) -> set[str]:
        """Return the names of `sources`, by default all, that are watched but not yet scanned."""
        if not self.is_watching:
            return set()
        now = self.sources()  # not `sources`: another process may have changed some meanwhile
        self.owner.watch(*now)
        seen = {name for name, live in self.states().items() if live.refreshed_at or live.error}
        return {each.name for each in (now if sources is None else sources)} - seen

    def wait_fresh(self, names: Collection[str] = (), *, timeout_ms: int) -> bool:
        """A barrier: wait until every save before this call is indexed; False after `timeout_ms`.

        Waits for the sources `names`, all if empty. Scans the disk rather than trust the watch,
        whose events may still be on their way.
        """
        asked = []
        for source in self.sources():
            if names and source.name not in names:
                continue
            self.owner.watch(source)
            recheck = partial(self.owner.refresh, source, Silent(), ScanScope())
            key = f"recheck {source.name}"
            asked.append(self.owner.loop.ask_soon(recheck, urgency=Urgency.BARRIER, key=key))
        done, late = wait(asked, timeout=timeout_ms / 1000)
        return not late and all(each.exception() is None for each in done)

    # Reading

    def start_over(self, reporter: Reporter, *, unless_after: int | None = None) -> None:
        def work(_: Reporter) -> None:
            if unless_after in (None, self.file.generation):
                self.owner.start_over()

        self.ask(work, reporter, patience_s=STORE_PATIENCE_S)
        if self.is_watching:
            self.wait_fresh(timeout_ms=int(1000 * MISSING_PATIENCE_S))

    def _index_missing(
        self,
        known: Collection[str],
        missing: Sequence[Source],
        reporter: Reporter,
        *,
        wanted: Collection[str],
        embeds: bool,
    ) -> None:
        self.owner.watch(*missing)
        has_rows = not set(known).isdisjoint(wanted or known)
        if self.is_watching and has_rows:
            for name, live in self.states().items():
                if live.error and name not in known:
                    reporter.notice(f"{name} cannot be indexed: {live.error}")
            return

        def work(reporter: Reporter) -> None:
            with self.open().reading() as connection:  # another request may have built them
                _, still_missing = self._known_and_missing(connection, missing, Silent())
            if still_missing:
                embed = embeds and not self.is_watching
                index_sources(self.owner, still_missing, reporter, embed=embed)

        wait_s = MISSING_PATIENCE_S if self.is_watching else math.inf
        try:
            self.owner.loop.ask(
                work, reporter, urgency=Urgency.LONG, patience_s=MISSING_PATIENCE_S, wait_s=wait_s
            )
        except (NotFound, PathRefused, CannotWrite, Stopped, TimeoutError) as error:
            if not has_rows and not isinstance(error, (StoreBusy, Stopped, TimeoutError)):
                raise
            reporter.notice(f"{error}: answering from what is indexed")

    # Private steps

    def _change(self, source: Source, work: Callable[[Reporter], None], reporter: Reporter) -> None:
        """Stop watching `source`, then have the owner run `work`, which changes its rows."""

        def unwatched(reporter: Reporter) -> None:
            self.owner.unwatch(source.name)  # again: a pass may have begun meanwhile
            work(reporter)

        self.owner.unwatch(source.name)
        self.ask(unwatched, reporter, patience_s=STORE_PATIENCE_S)

    def _with_missing(self, asked: Sequence[Source], reporter: Reporter) -> list[Source]:
        """Return `asked` and the sources without rows, unless their watch indexes those anyway.

        Deletes the rows of sources that are registered no more, as where their list was lost.
        """
        names = {source.name for source in asked}
        others = [source for source in self.sources() if source.name not in names]
        store = self.open()
        with store.reading() as connection:
            known, missing = self._known_and_missing(connection, others, reporter)
        for name in known - names - {source.name for source in others}:
            store.forget_source(name)
        self.owner.watch(*asked, *missing)
        return list(asked) if self.is_watching else [*asked, *missing]
