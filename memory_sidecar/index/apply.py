"""Differences → rows: builds each changed file, and writes what became of it.

    differences ──▶ CocoIndex, a component for each file:
        build its document ──▶ one transaction: rows, words, static vectors, vectors already known

The vectors that are not known yet follow behind (`embed`).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.core.model import Document, FileStatus, Source, SourceFile
from memory_sidecar.core.process import require_descriptors
from memory_sidecar.core.sqlite import named_errors
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
from memory_sidecar.index.embed import vectors_at_hand
from memory_sidecar.index.engine_state import EngineState
from memory_sidecar.index.models import Models

if TYPE_CHECKING:
    from memory_sidecar.index.engine import Change, Engine

FEW_FILES = 20  # a save, or what a caller waits for: those give way to no query
BUILD_THREADS = 2 * min(os.cpu_count() or 1, 8)  # some of them wait for other processes
ENGINE_DESCRIPTORS = 16  # without them CocoIndex panics, and is of no use until the process ends
SLICE_FILES = 512  # of a pass: between two slices, what a caller waits for is done

Progress = Callable[[int, int], None]
"""Called now and then with files done and files to do, in the thread that applies. What it raises
ends the pass."""


class Pass:
    """What became of some differences. Counted from several threads."""

    def __init__(
        self,
        total: int,
        progress: Progress,
        *,
        is_full: bool,
        around: Pass | None,
        began_at: int,
    ) -> None:
        """`around` is the pass that this one comes between the slices of; `began_at` epoch ms."""
        self.total = total
        self.began_at = began_at
        self.is_overtaken = False  # a later one, of everything, came to its end in between
        self.failures: list[tuple[SourceFile, str]] = []
        self.unwritten: dict[str, ManifestEntry] = {}  # built, and in the end passed over
        self.processed = 0
        self.chunks_indexed = 0
        self.chunks_deleted = 0
        self._progress = progress
        self._is_full = is_full
        self._around = around
        self._done = 0
        self._lock = threading.Lock()

    def overtake(self, *, is_full: bool) -> None:
        """Have this pass, and those around it, skip what a later pass over everything has done.

        A full pass, which reads every file whatever its times say, is only overtaken by another.
        """
        self.is_overtaken |= is_full or not self._is_full
        if self._around is not None:
            self._around.overtake(is_full=is_full)

    def count_built(self, file: SourceFile, made: Document) -> None:
        entry = ManifestEntry(file.stamp, made.fingerprint, made.status, made.reason)
        with self._lock:
            self.unwritten[file.path] = entry
            self._done += 1

    def count_written(self, documents: Sequence[Document], *, indexed: int, deleted: int) -> None:
        with self._lock:
            self.chunks_indexed += indexed
            self.chunks_deleted += deleted
            for document in documents:
                self.unwritten.pop(document.file.path, None)
                self.processed += document.status is FileStatus.INDEXED

    def advance(self, files: int) -> None:
        self._done += files

    def report(self) -> None:
        self._progress(min(self._done, self.total), self.total)


class Applier:
    """Writes the rows of `source`, by an engine that is opened when there is something to do.

    One thread uses it, which holds the database's writer lock until `close`.
    """

    def __init__(
        self,
        source: Source,
        *,
        builder: Builder,
        store: DerivedStore,
        models: Models,
        state: Path,
        between: Callable[[], object],
    ) -> None:
        """`state` is the source's folder of state.

        Queries to `models` come before each step of a long pass. `between` is called between two
        slices of one, and may begin another.
        """
        self.under_way: Pass | None = None
        self._source = source
        self._builder = builder
        self._store = store
        self._state = EngineState(state)
        self._at_hand = vectors_at_hand(models, store.SCHEMA.corpora)
        self._give_way = models.gate.pass_through
        self._between = between
        self._is_stopped = threading.Event()
        self._is_ending = threading.Event()  # the engine that runs: nothing more is built for it
        self._engine: Engine | None = None
        self._crashes: CrashLog | None = None

    def apply(self, found: Differences, progress: Progress, *, is_full: bool) -> Pass:
        """Bring the rows in line with `found`; returns what became of it when it is committed.

        `is_full` where all of it is to be read whatever its times say. Raises Stopped after `stop`,
        and StateBroken.
        """
        around = self.under_way
        done = self.under_way = Pass(
            len(found), progress, is_full=is_full, around=around, began_at=self._store.now()
        )
        try:
            if found:
                with named_errors(self._state.folder):
                    self._run(found, done)
        except BaseException:
            with suppress(Exception):  # it fails again for the same reason
                self.close()
            raise
        finally:
            self.under_way = around
        return done

    def stop(self) -> None:
        """End `apply` soon, and any later one. Any thread may call this."""
        self._is_stopped.set()
        self._is_ending.set()

    def close(self) -> None:
        """Let go of CocoIndex's state; finishes what is under way."""
        engine, self._engine = self._engine, None
        crashes, self._crashes = self._crashes, None
        try:
            if engine is not None:
                engine.close()
                self._state.end()
        finally:
            if crashes is not None:  # not before: what is under way is noted until it is done
                crashes.close()

    def _run(self, found: Differences, done: Pass) -> None:
        # A file left out by its name is never built: a row says why, and CocoIndex, which costs
        # most of a millisecond a file, need not know it.
        left_out = [file for file in found.changed if file.skip_reason]
        to_build = [file for file in found.changed if not file.skip_reason]
        with self._builder.preparing(to_build):
            try:
                # First: another file may have taken over the name of a session or a memory.
                self._forget(found.gone, left_out)
                for part in _slices(to_build):
                    self._opened_engine().apply(part, beat=self._beat)
                    self._state.end()
                    self._between()
                    if done.is_overtaken:
                        return
            except BaseException:
                self._is_ending.set()  # before what builds is taken away
                raise
        self._beat()
        if done.failures:
            self._store.fail(self._source.name, done.failures)
        if done.unwritten:
            self._store.touch(self._source.name, done.unwritten)

    def _forget(self, gone: Sequence[str], left_out: Sequence[SourceFile]) -> None:
        """Delete the rows of files that are gone or left out, except one that says why it is."""
        if not (gone or left_out):
            return
        # Ourselves, too: CocoIndex deletes no row that its state does not know of.
        no_target = [*gone, *(file.path for file in left_out)]
        self._opened_engine().apply(Differences([], no_target), beat=self._beat)
        unread = [self._skipped(file, file.skip_reason) for file in left_out]
        self._write(
            [(path, None) for path in gone]
            + [(each.file.path, replace(each, fingerprint="")) for each in unread]
        )
        self._pass.advance(len(no_target))

    def _opened_engine(self) -> Engine:
        if self._engine is None:
            require_descriptors(ENGINE_DESCRIPTORS)
            # CocoIndex takes 150 ms to import, which a pass that finds no change does without.
            from memory_sidecar.index.engine import Engine

            self._is_ending = threading.Event()
            self._state.begin()
            engine = Engine(
                self._state.engine,
                name=self._source.name,
                build=self._build,
                write=self._write,
                threads=BUILD_THREADS,
                is_stopped=self._is_ending,
            )
            engine.start()
            self._state.begun()
            self._engine = engine
            self._crashes = CrashLog(self._state.folder, "in_flight")
        return self._engine

    @property
    def _pass(self) -> Pass:
        assert self.under_way
        return self.under_way

    def _beat(self) -> None:
        if self._is_stopped.is_set():
            raise Stopped("its source was removed or moved, or its database is being closed")
        self._pass.report()

    def _make_way(self) -> None:
        if self._pass.total > FEW_FILES:
            self._give_way()

    def _build(self, file: SourceFile) -> Document:
        """The target state of one file. Called from several threads."""
        self._make_way()
        document = self._document(file)
        self._pass.count_built(file, document)
        return document

    def _document(self, file: SourceFile) -> Document:
        if self._is_ending.is_set():
            raise Stopped
        assert self._crashes
        key = json.dumps([file.path, *file.stamp])
        if self._crashes.is_barred(key):
            return self._skipped(file, "crashed the indexer three times")
        try:
            if self._builder.is_isolated:
                return self._builder.build(file)
            with self._crashes.under_way(key):
                return self._builder.build(file)
        except FileVanished:
            raise
        except Exception as error:
            if self._is_ending.is_set():
                raise Stopped from error
            if isinstance(error, BuildCrashed):
                self._crashes.count_crash(key)
            if isinstance(error, BuildError):
                self._pass.failures.append((file, str(error)))
            raise

    def _skipped(self, file: SourceFile, reason: str) -> Document:
        return skipped_document(self._source, file, reason, version=self._builder.version)

    def _write(self, changes: Sequence[Change]) -> None:
        """CocoIndex's sink: one transaction."""
        self._make_way()
        documents = [document for _, document in changes if document is not None]
        # One question to the cache, and one to the table, for all texts of a transaction.
        at_hand = self._at_hand([text for d in documents for text in d.embedded_texts])
        gone = [path for path, document in changes if document is None]
        elsewhere = sum(len(each.embedded_texts) for each in documents)
        documents = [*self._builder.handed_on(documents, gone, at_hand)]
        elsewhere -= sum(len(each.embedded_texts) for each in documents)
        indexed, deleted = self._store.write(
            self._one_by_one(documents),
            gone=[(self._source.name, path) for path in gone],
            at_hand=at_hand,
            queued_at=self._pass.began_at,
        )
        self._pass.count_written(documents, indexed=indexed + elsewhere, deleted=deleted)

    def _one_by_one(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The documents, with room for a query between two: writing hundreds takes a second."""
        for document in documents:
            self._make_way()
            yield document


def _slices(changed: Sequence[SourceFile]) -> Iterator[Differences]:
    for at in range(0, len(changed), SLICE_FILES):
        yield Differences(changed[at : at + SLICE_FILES], gone=())
