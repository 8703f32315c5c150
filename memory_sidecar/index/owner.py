"""The owner of a database: the only code that writes to it.

    a file changes on disk ──▶ `WatchedSource`: a deadline ──┐
    a caller makes a request ──▶ the queue of the loop ──────┤
                                                             ▼
        `Loop`: one thread at a time, which holds the writer's lock
            scan     disk → differences              } `source.pass_over`, in slices of files
            apply    differences → rows and words    }
            embed    rows → vectors, in slices of texts

Requests come before background work. Between two slices of long work, more urgent requests are
served, and files are indexed that were saved meanwhile, or before the daemon started. In a daemon,
the `Scheduler` starts the loop when a deadline has passed. Readers open snapshots without an owner.

Background work that fails (a full disk, a busy file, a lock held by another process) is retried
with a growing back-off, and `status` shows the failure. A caller who waits gets the error instead.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from memory_sidecar.core.errors import ModelError, SidecarError, StoreCorrupt
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.rule_files import folders_of
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.apply import Applier
from memory_sidecar.index.document import Builder, SourceGone, Stopped
from memory_sidecar.index.embed import EmbedPending, adopt_model, adopt_static
from memory_sidecar.index.loop import Loop
from memory_sidecar.index.report import DATABASE, VECTORS, Activity, Failure
from memory_sidecar.index.source import PassResult, ScanScope, pass_over
from memory_sidecar.index.store_file import S, StoreFile
from memory_sidecar.index.watched import LiveState, WatchedSource

WHOLE = ScanScope()
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Owner(Generic[S]):
    """Writes the database in `file`; each `Database` makes at most one."""

    def __init__(
        self,
        file: StoreFile[S],
        *,
        sources: Callable[[], Sequence[Source]],
        builder: Callable[[Source], Builder],
        models: Models,
        embed: EmbedPending,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`sources` returns what is registered now; `builder` makes the builder of a source."""
        self.activity = Activity()
        self.loop = Loop(
            file.lock,
            name=file.path.name,
            due_s=self._due_s,
            do_due=self._do_due,
            note=self.note,
            around=self._run_recovering,
            now_s=now_s,
        )
        self.file, self.models = file, models
        self._sources, self._builder = sources, builder
        self._embed_pending, self._now_s = embed, now_s
        self._state = threading.Lock()  # guards the next two
        self._watched: dict[str, WatchedSource] = {}
        self._under_way: dict[str, Applier] = {}  # passes that run now, by source
        self._seen: set[str] = set()  # sources that this process has scanned as a whole
        self._has_pending = True  # rows may wait for vectors

    # Called from any thread

    def watch(self, *sources: Source) -> None:
        """Watch the files of `sources`; end any pass over one by an older definition of it."""
        for source in sources:
            with self._state:
                before = self._watched.get(source.name)
                is_new = before is None or before.source != source
                if not self.loop.runs_in_background or self.loop.is_closing.is_set() or not is_new:
                    continue
                self._watched[source.name] = WatchedSource(
                    source,
                    builder := self._builder(source),
                    was_indexed=partial(self._was_indexed, source.name, builder.version),
                    now_s=self._now_s,
                    on_due=self.loop.wake,
                )
                applier = self._under_way.get(source.name)
            if applier is not None and not applier.serves(source):
                applier.stop()
            if before is not None:
                before.close()
            self.loop.wake()

    def unwatch(self, name: str) -> None:
        """Stop watching the source called `name`, and stop the pass over it, if one runs."""
        with self._state:
            watched, applier = self._watched.pop(name, None), self._under_way.get(name)
        if applier is not None:
            applier.stop()
        if watched is not None:
            watched.close()
        self.activity.clear_failure(name)

    def watched_sources(self) -> list[WatchedSource]:
        with self._state:
            return list(self._watched.values())

    def states(self) -> dict[str, LiveState]:
        """Return the state of every watched source, by its name."""
        under_way, stuck = self.activity.files_under_way, self.activity.failure_of(DATABASE)
        watched = {each.source.name: each for each in self.watched_sources()}
        return {name: each.state(under_way(name), stuck) for name, each in watched.items()}

    def embed_soon(self) -> None:
        """Have the rows that wait for vectors embedded in the background."""
        self._has_pending = True
        self.loop.wake()

    def note(self, error: Exception, what: str = DATABASE) -> None:
        """Show `error` in `status` until `what` succeeds (see `record_failure`); log it once."""
        lead = f"{what}: " if what not in (DATABASE, VECTORS) else ""
        message = f"{lead}{str(error) or type(error).__name__}"
        if not ((last := self.activity.last_failure) and last.message.endswith(message)):
            trace = None if isinstance(error, SidecarError) else error
            _log.warning("%s: %s", self.file.path.stem, message, exc_info=trace)
        self.activity.record_failure(what, Failure(iso_utc(self.file.clock()), message))

    def stop(self) -> None:
        """Tell the loop and the running passes to end; what is committed stays."""
        self.loop.stop()
        self._stop_passes()

    def close(self, *, until_s: float = math.inf) -> bool:
        """Stop, wait until `until_s` for the work to end, and return whether it has."""
        self.stop()
        has_ended = self.loop.close(until_s=until_s)
        for each in self.watched_sources():
            self.unwatch(each.source.name)
        if has_ended:
            self._seen.clear()
        return has_ended

    # Called by requests, in the thread that runs the loop

    def refresh(self, source: Source, reporter: Reporter, scope: ScanScope = WHOLE) -> PassResult:
        """Scan `source` within `scope` and apply what changed, as `source.pass_over` does.

        A `scope` of some paths is widened to the whole source until this process has scanned that.
        """
        if source.name not in self._seen and source.name not in self._under_way:
            scope = scope.widened()
        watched = self._watched.get(source.name)
        if scope.under is not None or watched is None or watched.source != source:
            return self._pass_over(source, scope, reporter)
        watched.begin(self._known_folders(source), everything=True)
        return self._watched_pass(watched, scope, reporter)

    def embed(
        self,
        reporter: Reporter,
        *,
        parts: Collection[tuple[str, str]] | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> int:
        """Embed the pending rows of `parts` (see `embed_pending`), or all; return how many.

        Ends after a slice at which `until()` is true. Raises ModelError, and Stopped when closed.
        """
        done = before = 0
        stop = self.loop.is_closing
        for done, total in self._embed_pending(self.file.open(), self.models, parts, stop):
            self.activity.vectors.add(done - before)
            before = done
            self.activity.clear_failure(VECTORS, DATABASE)
            reporter.progress("vectors", done, total)
            self.loop.share_progress("vectors", done, total)
            if until():
                return done
            self._serve_between_slices(total - done)
        if self.loop.is_closing.is_set():
            raise Stopped("the database is being closed")
        return done

    def start_over(self) -> None:
        """Set the database aside, begin an empty one and rescan every watched source."""
        for each in self.watched_sources():
            each.start_over()  # first: a reader of the empty database waits for the scan
        self.file.start_over()
        self._seen.clear()
        self._has_pending = True
        self._stop_passes()  # they write to the database that was set aside

    # Background work

    def _due_s(self) -> float:
        due_s = min((each.due_s for each in self.watched_sources()), default=math.inf)
        return 0.0 if self._has_pending and due_s < math.inf else due_s

    def _do_due(self) -> None:
        """Refresh the source that is due first; if none is, embed."""
        if not self._refresh_due_source():
            self._has_pending = False  # first: rows written meanwhile are embedded next
            try:
                self.embed(Silent())
            except ModelError as error:
                self.note(error, VECTORS)
            except BaseException:
                self._has_pending = True
                raise
            else:
                self.activity.clear_failure(VECTORS)
        self.activity.clear_failure(DATABASE)

    def _serve_between_slices(self, left: int) -> None:
        """Serve requests during long work; if any is `left`, index what was saved meanwhile."""
        self.loop.serve()
        if left and not self.loop.is_closing.is_set():  # else a caller may wait for nothing else
            with suppress(Stopped):
                self._refresh_due_source()

    def _refresh_due_source(self) -> bool:
        """Refresh the source that is due first; return whether there was one."""
        due = [(each.due_during(self._under_way), each) for each in self.watched_sources()]
        due_s, watched = min(due, key=lambda each: each[0], default=(math.inf, None))
        if watched is None or due_s > self._now_s():
            return False
        settled = watched.begin(self._known_folders(watched.source), everything=False)
        scope = ScanScope(under=None if "" in settled else settled)
        try:
            self._watched_pass(watched, scope, Silent())
        except (Stopped, StoreCorrupt):
            raise
        except Exception as error:  # `watched` has set its deadline for the retry
            self.note(error, watched.source.name)
        return True

    def _pass_over(self, source: Source, scope: ScanScope, reporter: Reporter) -> PassResult:
        """Run a pass over `source`; between two slices of a running one, share its applier."""

        def progress(done: int, total: int) -> None:
            reporter.progress("files", done, total)
            self.loop.share_progress("files", done, total)

        running = self._under_way.get(source.name)
        if running is not None and running.serves(source):
            return pass_over(running, scope, progress, reporter)
        if running is not None:  # has another root or other excludes, and ends right after this one
            running.stop()
            with suppress(Exception):  # its state may have been deleted while it was open
                running.close()
        self._require_registered(source)
        applier = self._make_applier(source)
        with self._state:
            self._under_way[source.name] = applier
        if self.loop.is_closing.is_set():
            applier.stop()
        try:
            with self.activity.track_pass(source.name) as report:

                def both(done: int, total: int) -> None:
                    report(done, total)
                    if applier.totals.files:
                        self.activity.clear_failure(source.name, DATABASE)
                    progress(done, total)

                refreshed = pass_over(applier, scope, both, reporter)
        finally:
            with self._state:
                self._under_way.pop(source.name, None)  # a pass within it may have taken its place
            applier.close()
        if scope.under is None:
            self._seen.add(source.name)
            self.file.drop_aside(needed=[each.name for each in self._sources()])
        if refreshed.chunks_indexed or scope.under is None:  # a model may have been installed
            self._has_pending = True
        return refreshed

    def _stop_passes(self) -> None:
        with self._state:
            for applier in self._under_way.values():
                applier.stop()

    def _require_registered(self, source: Source) -> None:
        """Raise SourceGone if `source` was removed or redefined, and end or renew its watch."""
        now = next((each for each in self._sources() if each.name == source.name), None)
        if now == source or (now is None and not source.root.is_dir()):  # which the pass reports
            return
        watched = self._watched.get(source.name)
        if watched is not None and watched.source == source:
            self.watch(now) if now else self.unwatch(source.name)
        raise SourceGone(f"{source.name} is no longer a source, or has another folder or excludes")

    def _watched_pass(
        self, watched: WatchedSource, scope: ScanScope, reporter: Reporter
    ) -> PassResult:
        """Run a pass over a watched source, whose deadlines and failures follow its outcome."""
        source = watched.source
        refreshed = watched.record(
            lambda: self._pass_over(source, scope, reporter), scope.under, clock=self.file.clock
        )
        self.activity.clear_failure(source.name)
        return refreshed

    def _make_applier(self, source: Source) -> Applier:
        """Return a new applier for `source`, once the store fits the installed models."""
        store, models = self.file.open(), self.models
        adopt_static(store, models)
        adopt_model(store, models.sha256)  # before the first vector comes
        return Applier(
            source,
            builder=self._builder(source),
            store=store,
            models=models,
            state=self.file.paths.flow_state(source.name),
            between=self._serve_between_slices,
        )

    def _was_indexed(self, name: str, version: str) -> bool:
        state = self.file.open().source_state(name)
        return bool(state and state.scanned_at and state.chunker == version)

    def _known_folders(self, source: Source) -> Callable[[], set[str]]:
        """Return a function that lists the folders ("": the root) with files in the last scan."""
        return lambda: {"", *folders_of(self.file.open().paths(source.name))}

    def _run_recovering(self, work: Callable[[Reporter], T], reporter: Reporter) -> T:
        """Run `work`; if the database proves to be damaged, start over and run it once more."""
        try:
            return work(reporter)
        except StoreCorrupt as error:
            if not error.is_of(self.file.path):
                raise
            _log.warning("%s", notice := f"{error.message}: rebuilding it")
            reporter.notice(notice)
            self.start_over()
            return work(reporter)
