"""The owner of a database: all that changes it. From the watch to the vector, top-down.

    the watch hears of a file ──▶ `Followed`: a deadline ──┐
    a caller asks for something ──▶ its queue ─────────────┤
                                                           ▼
        `Loop`: one thread at a time, which holds the writer's lock
            scan     disk → differences              } `SourceFlow.refresh`, in slices of files
            apply    differences → rows and words    }
            embed    rows → vectors, in slices of texts

What a caller waits for comes before what the owner does by itself; between two slices of one it
does the other. In a daemon `Tending` has the loop begin when a deadline has come. Readers never
come here: they open a snapshot.

What fails for a while (a full disk, a busy file, a lock in other hands) is tried again after a
pause that grows, and `status` says so; a caller who waits is given the error instead.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

from memory_sidecar.core.errors import ModelError, SidecarError, StoreCorrupt
from memory_sidecar.core.model import Source
from memory_sidecar.core.results import Reporter, Silent
from memory_sidecar.core.times import iso_utc
from memory_sidecar.disk.rule_files import folders_of
from memory_sidecar.index.document import Builder, SourceGone, Stopped
from memory_sidecar.index.embed import EmbedPending, adopt_model, adopt_static
from memory_sidecar.index.followed import Followed, LiveState
from memory_sidecar.index.loop import Loop
from memory_sidecar.index.models import Models
from memory_sidecar.index.reading import S, StoreFile
from memory_sidecar.index.report import DATABASE, VECTORS, Activity, Failure
from memory_sidecar.index.source import Look, Refreshed, SourceFlow

WHOLE = Look()
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Owner(Generic[S]):
    """Changes the database in `file`."""

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
        """`sources` are those of which it may hold rows, as they are at the moment."""
        self.activity = Activity()
        self.loop = Loop(
            file.lock,
            name=file.path.name,
            due_s=self._due_s,
            do_due=self._do_due,
            note=self.note,
            around=self._recovering,
            now_s=now_s,
        )
        self.file = file
        self.models = models
        self._sources = sources
        self._builder = builder
        self._embed_pending = embed
        self._now_s = now_s
        self._state = threading.Lock()  # of the next two
        self._followed: dict[str, Followed] = {}
        self._under_way: dict[str, SourceFlow] = {}
        self._seen: set[str] = set()  # sources that were scanned as a whole
        self._has_pending = True  # rows may wait for vectors
        self._wake: Callable[[], None] = lambda: None

    # For any thread

    def tend(self, wake: Callable[[], None]) -> None:
        """Work in threads from now on; `wake` is called when a deadline may have come nearer."""
        self._wake = wake
        self.loop.tend(wake)

    def follow(self, source: Source) -> None:
        """Watch `source` from now on; nothing changes if it is watched already, as it is now."""
        with self._state:
            before = self._followed.get(source.name)
            is_new = before is None or before.source != source
            if not self.loop.is_tended or self.loop.is_closing.is_set() or not is_new:
                return
            self._followed[source.name] = Followed(source, now_s=self._now_s, on_due=self._wake)
        if before is not None:
            before.close()
        self._wake()

    def unfollow(self, name: str) -> None:
        """Watch the source called `name` no longer, and end a pass over it."""
        with self._state:
            followed, flow = self._followed.pop(name, None), self._under_way.get(name)
        if flow is not None:
            flow.stop()
        if followed is not None:
            followed.close()
        self.activity.went_well(name)

    def followed(self) -> list[Followed]:
        with self._state:
            return list(self._followed.values())

    def states(self) -> dict[str, LiveState]:
        """The state of every watched source, by its name."""
        return {
            each.source.name: each.state(self.activity.files(each.source.name))
            for each in self.followed()
        }

    def embed_soon(self) -> None:
        """Give the rows that wait for vectors theirs, without being waited for."""
        self._has_pending = True
        self._wake()

    def note(self, error: Exception, what: str = DATABASE) -> None:
        """Have `status` tell of `error`, until that goes well, and the log once."""
        told = f"{what}: " if what not in (DATABASE, VECTORS) else ""
        message = f"{told}{error}" if str(error) else f"{told}{type(error).__name__}"
        self._say(what, message, error=None if isinstance(error, SidecarError) else error)

    def stop(self) -> None:
        """End soon; what is committed stays."""
        self.loop.stop()
        with self._state:
            flows = list(self._under_way.values())
        for flow in flows:
            flow.stop()

    def close(self, *, until_s: float = math.inf) -> bool:
        """`stop`, and wait for the end until `until_s`; whether it came. It can be used again."""
        self.stop()
        has_ended = self.loop.close(until_s=until_s)
        for each in self.followed():
            self.unfollow(each.source.name)
        if has_ended:
            self._seen.clear()
        return has_ended

    # What work may call, in the thread that runs the loop

    def refresh(self, source: Source, reporter: Reporter, look: Look = WHOLE) -> Refreshed:
        """Scan `source` and apply what changed, as `SourceFlow.refresh`.

        A part is enough only after the whole has been seen by this process.
        """
        is_seen = source.name in self._seen or source.name in self._under_way
        part = look.under if is_seen else None
        look = replace(look, under=part, changed=look.changed or look.under)
        followed = self._followed.get(source.name)
        if part is not None or followed is None or followed.source != source:
            return self._pass_over(source, look, reporter)
        followed.begin(self._known_folders(source), everything=True)
        return self._told(followed, look, reporter)

    def embed(
        self,
        reporter: Reporter,
        *,
        parts: Collection[tuple[str, str]] | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> int:
        """Give the rows of `parts`, or all, their vectors; returns how many got one.

        See `embed_pending`; ends after the slice at which `until` holds. Raises ModelError.
        """
        done = before = 0
        stop = self.loop.is_closing
        for done, total in self._embed_pending(self.file.open(), self.models, parts, stop=stop):
            self.activity.vectors.add(done - before)
            before = done
            reporter.progress("vectors", done, total)
            self.loop.tell("vectors", done, total)
            self.loop.serve()
            if until():
                return done
            if done < total:
                with suppress(Stopped):  # what was saved waits for no more than a slice
                    self._look_at_due()
        if self.loop.is_closing.is_set():
            raise Stopped("the database is being closed")
        return done

    def start_over(self) -> None:
        """Begin a new database, and look at all files again."""
        self.file.start_over()
        self._seen.clear()
        self._has_pending = True
        with self._state:
            flows = list(self._under_way.values())
        for flow in flows:  # they write to the one that was set aside
            flow.stop()
        for each in self.followed():
            each.rescan_soon()

    # What is due

    def _due_s(self) -> float:
        due_s = min((each.due_s for each in self.followed()), default=math.inf)
        return 0.0 if self._has_pending and due_s < math.inf else due_s

    def _do_due(self) -> None:
        """Look at the source that is due first, or else embed."""
        if not self._look_at_due():
            self._embed_all()
        self.activity.went_well(DATABASE)

    def _look_at_due(self) -> bool:
        """Look at the source that is due first; whether there is one."""
        followed = min(self.followed(), key=lambda each: each.due_s, default=None)
        if followed is None or followed.due_s > self._now_s():
            return False
        is_first = followed.refreshed_at is None
        settled = followed.begin(self._known_folders(followed.source), everything=is_first)
        look = Look(under=None if settled.everything else settled.paths)
        try:
            self._told(followed, look, Silent())
        except (Stopped, StoreCorrupt):
            raise
        except Exception as error:  # it has its own deadline for the next try
            self.note(error, followed.source.name)
        return True

    def _embed_all(self) -> None:
        try:
            self.embed(Silent())
        except ModelError as error:
            self._say(VECTORS, error.message)
        else:
            self.activity.went_well(VECTORS)
        self._has_pending = False

    # How

    def _pass_over(self, source: Source, look: Look, reporter: Reporter) -> Refreshed:
        def progress(done: int, total: int) -> None:
            reporter.progress("files", done, total)
            self.loop.tell("files", done, total)

        around = self._under_way.get(source.name)
        if around is not None:  # this comes between two slices of it
            return around.refresh(look, progress, reporter.notice)
        self._require_registered(source)
        flow = self._make_flow(source)
        with self._state:
            self._under_way[source.name] = flow
        if self.loop.is_closing.is_set():
            flow.stop()
        try:
            with self.activity.indexing(source.name) as report:

                def both(done: int, total: int) -> None:
                    report(done, total)
                    progress(done, total)

                refreshed = flow.refresh(look, both, reporter.notice)
        finally:
            with self._state:
                del self._under_way[source.name]
            flow.close()
        if look.under is None:
            self._seen.add(source.name)
        if refreshed.chunks_indexed:
            self._has_pending = True
        return refreshed

    def _require_registered(self, source: Source) -> None:
        """Raises SourceGone for one removed, or moved, since the pass over it was asked for.

        No later pass would see to its rows. A folder that is gone is left to the pass, which tells.
        """
        is_known = any((s.name, s.root) == (source.name, source.root) for s in self._sources())
        if not is_known and source.root.is_dir():
            followed = self._followed.get(source.name)
            if followed is not None and followed.source.root == source.root:
                self.unfollow(source.name)
            raise SourceGone(f"{source.name} is no longer a source")

    def _told(self, followed: Followed, look: Look, reporter: Reporter) -> Refreshed:
        """Pass over a source, and have `followed` and `status` know what came of it."""
        source = followed.source
        refreshed = followed.told(
            lambda: self._pass_over(source, look, reporter), look.under, clock=self.file.clock
        )
        self.activity.went_well(source.name)
        return refreshed

    def _make_flow(self, source: Source) -> SourceFlow:
        store, models = self.file.open(), self.models
        adopt_static(store, models)
        if models.problem is None:
            adopt_model(store, models.files.sha256)  # before the first vector comes
        return SourceFlow(
            source,
            builder=self._builder(source),
            store=store,
            models=models,
            state=self.file.paths.flow_state(source.name),
            between=self.loop.serve,
        )

    def _known_folders(self, source: Source) -> Callable[[], set[str]]:
        """The folders that hold files of `source`, as its last scan left them; "" is its root."""
        return lambda: {"", *folders_of(self.file.open().paths(source.name))}

    def _recovering(self, work: Callable[[Reporter], T], reporter: Reporter) -> T:
        """Do `work`; if the database turns out to be damaged, set it aside and do it again."""
        try:
            return work(reporter)
        except StoreCorrupt as error:
            if not error.is_of(self.file.path):
                raise
            notice = f"{error.message}: rebuilding it"
            _log.warning("%s", notice)
            reporter.notice(notice)
            self.start_over()
            return work(reporter)

    def _say(self, what: str, message: str, *, error: Exception | None = None) -> None:
        """Remember what goes wrong with `what`, and log it once."""
        last = self.activity.last_failure
        if last is None or not last.message.endswith(message):
            _log.warning("%s: %s", self.file.path.stem, message, exc_info=error)
        self.activity.failed(what, Failure(iso_utc(self.file.clock()), message))
