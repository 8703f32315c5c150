"""Builds the changed files of one source and writes their rows.

    differences ──▶ CocoIndex, a component for each file:
        build its document ──▶ one transaction: rows, words, static vectors, vectors already known

The missing vectors are made afterwards (`embed`).
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.core.errors import SidecarError, one_line
from memory_sidecar.core.model import Document, FileStatus, Scan, Source, SourceFile
from memory_sidecar.core.process import require_descriptors
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.embedding.models import Models
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.document import (
    BuildCrashed,
    Builder,
    BuildError,
    Differences,
    FileVanished,
    Stopped,
    skipped_document,
)
from memory_sidecar.index.embed import vector_lookup
from memory_sidecar.index.engine_state import EngineState
from memory_sidecar.index.running import Pass, Progress, Todo, Totals, in_slices

if TYPE_CHECKING:
    from memory_sidecar.index.engine import DocumentChange, Engine

UNPAUSED_FILES = 20  # a pass over at most so many, such as a save, does not pause for queries
ENGINE_DESCRIPTORS = 16  # with fewer left, CocoIndex panics and stays unusable in this process
# Between two slices of a pass, the requests of callers are served and saved files are indexed.
SLICE_FILES = 512

_log = logging.getLogger(__name__)


class Applier:
    """Writes the rows of `source` through an engine, which is opened at the first difference.

    One thread uses it, for a pass and those between its slices, and holds the writer's lock.
    """

    def __init__(
        self,
        source: Source,
        *,
        builder: Builder,
        store: DerivedStore,
        models: Models,
        state: Path,
        between: Callable[[int], object],
    ) -> None:
        """`state` is the state folder of the source.

        Each step of a long pass first waits for queries to `models`. After each slice, `between` is
        called with the number of files left; it does urgent work, which may include an inner pass.
        """
        self.source = source
        self.builder = builder
        self.store = store
        self.state = EngineState(state)
        self.totals = Totals()
        self.latest: Scan | None = None  # the last scan of the whole source that was fully applied
        self.failed = set[str]()  # paths of files whose last build failed
        self._todo = Todo()
        self._passes: list[Pass] = []  # running now, each between two slices of the one before
        self._unwritten: dict[str, ManifestEntry] = {}  # built in this slice, but not written
        self._failures: list[tuple[SourceFile, str]] = []  # of this slice
        self._gone: list[str] = []  # files whose rows the next transaction deletes
        self._built: list[Document] = []  # not written yet: they go in that transaction, too
        self._at_hand = vector_lookup(models, store.SCHEMA.corpora)
        self._give_way = models.gate.pass_through
        self._between = between
        self._is_stopped = threading.Event()
        self._faults: set[tuple[object, ...]] = set()  # internal errors logged: type, file, line
        self._is_ending = threading.Event()  # tells the running engine to build nothing more
        self._engine: Engine | None = None
        self._crashes: CrashLog | None = None

    @property
    def is_running(self) -> bool:
        """Whether a pass runs now, perhaps between two of its slices."""
        return bool(self._passes)

    @property
    def _is_small(self) -> bool:
        return self._passes[-1].files <= UNPAUSED_FILES

    def apply(self, found: Differences, scan: Scan, progress: Progress, *, is_whole: bool) -> None:
        """Bring the rows in line with what `scan` has `found`; returns when that is committed.

        `is_whole`: the scan was of the whole source. Raises StateBroken, and Stopped after `stop`.
        """
        self._todo.add(found, scan, is_whole=is_whole)
        self._passes.append(Pass(len(found), self.store.now(), progress))
        try:
            if found:
                with named_errors(self.state.folder):
                    try:
                        self._run(found)
                    except OSError:  # such as a full disk: the process did not crash
                        self.state.note_usable()
                        raise
        except BaseException:
            with suppress(Exception):  # closing may fail for the same reason
                self.close()
            raise
        finally:
            self._passes.pop()

    def serves(self, source: Source) -> bool:
        """Whether this applier is for `source` with exactly this definition, and not stopped."""
        return source == self.source and not self._is_stopped.is_set()

    def stop(self) -> None:
        """End `apply` soon, and any later one. Any thread may call this."""
        self._is_stopped.set()
        self._is_ending.set()

    def close(self) -> None:
        """Finish what the engine does, and close CocoIndex's state."""
        engine, self._engine = self._engine, None
        crashes, self._crashes = self._crashes, None
        self._gone, self._built = [], []  # what a failed pass left there is found again
        try:
            if engine is not None:
                engine.close()
                self.state.note_usable()
        finally:
            if crashes is not None:  # last: the log notes what the engine still builds
                crashes.close()

    def _run(self, found: Differences) -> None:
        # CocoIndex, which takes most of a millisecond for a file, need not know of skipped ones.
        left_out = [file for file in found.changed if file.skip_reason]
        wanted = [file for file in found.changed if not file.skip_reason]
        slices = in_slices(wanted, most=SLICE_FILES)
        to_build = [*chain.from_iterable(slices)]
        with self.builder.preparing_to_build(to_build):
            try:
                # Deletions first: a new file may have the id of a session or memory that is gone.
                for at in range(0, max(len(found.gone), len(left_out)), SLICE_FILES):
                    if at:
                        self._pause(len(found) - at)
                    part = slice(at, at + SLICE_FILES)
                    gone = self._todo.take_gone(found.gone[part])
                    self._forget(gone, self._todo.take(left_out[part]))
                    self._todo.end_slice()
                    self.totals.files_deleted += len(gone)
                left = len(to_build)
                for each in slices:
                    left -= len(each)
                    if files := self._todo.take(each):
                        self._write_slice(files)
                        self._pause(left)
                self._write()
            except BaseException:
                self._is_ending.set()  # before `preparing_to_build` closes the build processes
                raise
        self._beat()

    def _write_slice(self, files: Sequence[SourceFile]) -> None:
        """Build `files` and write their rows."""
        self._unwritten, self._failures = {}, []
        self._opened_engine().apply(Differences(files, gone=()), beat=self._beat)
        self._write()
        if lost := self._lost(self._unwritten):
            # CocoIndex counts these files as written, and syncs its state. So a power cut lost the
            # last commits of the database alone, or a person has restored an older copy of that.
            _log.warning("%s: the rows of %d files were lost", self.source.name, len(lost))
            for path in lost:
                del self._unwritten[path]
            self._forget([*lost], [])
            again = Differences([file for file in files if file.path in lost], gone=())
            self._opened_engine().apply(again, beat=self._beat)
        self.state.note_usable()
        self._todo.end_slice()
        if self._unwritten:
            self.store.touch(self.source.name, self._unwritten)
        self.failed.difference_update(file.path for file in files)
        if self._failures:
            self.failed.update(file.path for file, _ in self._failures)
            self.store.fail(self.source.name, self._failures)

    def _lost(self, made: Mapping[str, ManifestEntry]) -> set[str]:
        """Return the paths of `made` without rows here, though CocoIndex has them as written."""
        here = self.store.manifest(self.source.name, under=made) if made else {}
        return {
            path
            for path, each in made.items()
            if path not in here
            or not self.builder.has_rows_of(here[path].fingerprint, each.fingerprint)
        }

    def _forget(self, gone: Sequence[str], left_out: Sequence[SourceFile]) -> None:
        """Delete the rows of files that are gone or left out; note the reason for the latter.

        In a small pass the former go with its documents: renamed files are always found.
        """
        if not (gone or left_out):
            return
        self._gone += gone
        no_target = [*gone, *(file.path for file in left_out)]
        self._opened_engine().apply(Differences([], no_target), beat=self._beat)
        self.failed.difference_update(no_target)
        unread = [self._skipped(file, file.skip_reason) for file in left_out]
        if unread or not self._is_small:
            self._built += [replace(each, fingerprint="") for each in unread]
            self._write()

    def _opened_engine(self) -> Engine:
        if self._engine is None:
            require_descriptors(ENGINE_DESCRIPTORS)
            # Importing CocoIndex takes 150 ms, which a pass without changes saves.
            from memory_sidecar.index.engine import Engine

            self._is_ending = threading.Event()
            self.state.note_opening()
            engine = Engine(
                self.state.engine,
                name=self.source.name,
                build=self._build,
                write=self._write_built,
                is_stopped=self._is_ending,
            )
            engine.start()
            self._engine = engine  # before what may fail: one left open keeps others from the state
            self.state.note_made()
            self._crashes = CrashLog(self.state.folder, "in_flight")
        return self._engine

    def _beat(self) -> None:
        """Report progress; raise Stopped after `stop`."""
        if self._is_stopped.is_set():
            raise Stopped(
                "its source was removed or moved, or has other excludes by now, or its database is"
                " being closed"
            )
        for each in self._passes:
            each.progress(*self._todo.progress)

    def _pause(self, left: int) -> None:
        """Do what is urgent between two slices; raise Stopped if that stopped this pass."""
        self._between(left)
        self._beat()

    def _make_way(self) -> None:
        """Wait for running queries, unless the pass has few files."""
        if not self._is_small:
            self._give_way()

    def _build(self, file: SourceFile) -> Document:
        """Build the document of one file, for CocoIndex. Called from several threads."""
        self._make_way()
        document = self._document(file)
        self._unwritten[file.path] = ManifestEntry(
            file.stamp, document.fingerprint, document.status, document.reason
        )
        return document

    def _document(self, file: SourceFile) -> Document:
        if self._is_ending.is_set():
            raise Stopped
        assert self._crashes
        key = json.dumps([self.builder.version, file.path, *file.stamp])
        if self._crashes.is_barred(key):
            return self._skipped(file, "crashed the indexer three times")
        try:
            if self.builder.is_isolated:
                document = self.builder.build(file)
                self._crashes.reset(key)
                return document
            with self._crashes.under_way(key):
                return self.builder.build(file)
        except FileVanished:
            raise
        except Exception as error:
            if self._is_ending.is_set():
                raise Stopped from error
            if isinstance(error, BuildCrashed):
                self._crashes.count_crash(key)
            if isinstance(error, SidecarError | OSError | MemoryError):
                raise  # any other file would fail, too
            if isinstance(error, BuildError):
                self._failures.append((file, str(error)))
                raise
            # A fault of ours, which must not keep the other files from being indexed.
            why = one_line(f"internal error: {type(error).__name__}: {error}")
            *_, (frame, line) = traceback.walk_tb(error.__traceback__)
            fault = (type(error), frame.f_code.co_filename, line)  # all of a worker have one line
            trace = None if fault in self._faults else error
            self._faults.add(fault)
            _log.warning("%s of %s: %s", file.path, self.source.name, why, exc_info=trace)
            self._failures.append((file, why))
            raise BuildError(why) from error

    def _skipped(self, file: SourceFile, reason: str) -> Document:
        return skipped_document(self.source, file, reason, version=self.builder.version)

    def _write_built(self, changes: Sequence[DocumentChange]) -> None:
        """Write the documents that CocoIndex sends; `_forget` sees to what it has deleted."""
        self._built += [document for _, document in changes if document is not None]
        if not self._gone:  # of a renamed folder, perhaps, whose files come here one by one
            self._write()

    def _write(self) -> None:
        """Write the documents of `_built`, and delete the rows of `_gone`, in one transaction."""
        if not (self._built or self._gone):
            return
        self._make_way()
        (gone, self._gone), (documents, self._built) = (self._gone, []), (self._built, [])
        # Looks up all texts of the transaction at once, in the cache and the static table.
        at_hand = self._at_hand([text for d in documents for text in d.embedded_texts])
        elsewhere = sum(len(each.embedded_texts) for each in documents)
        documents = [*self.builder.hand_to_team(documents, gone, at_hand)]
        elsewhere -= sum(len(each.embedded_texts) for each in documents)
        indexed, deleted = self.store.write(
            self._one_by_one(documents),
            gone=[(self.source.name, path) for path in gone],
            at_hand=at_hand,
            queued_at=self._passes[-1].began_at,
        )
        for document in documents:
            self._unwritten.pop(document.file.path, None)
            self.totals.files += document.status is FileStatus.INDEXED
        self.totals.chunks_indexed += indexed + elsewhere
        self.totals.chunks_deleted += deleted
        self._todo.count_written(len(documents))

    def _one_by_one(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents, letting queries go first before each: hundreds take a second."""
        for document in documents:
            self._make_way()
            yield document
