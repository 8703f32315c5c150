"""A saved file becomes searchable: this is the whole way, top-down, whatever kind of file it is.

    scan ──▶ compare with the manifest ──▶ batch ──▶ CocoIndex, a component for each file:
        build its document ──▶ one transaction: rows, words, vectors already known

How a file is built is told by a `Builder`: `flows.codebase`, `flows.memories`, `flows.sessions`.
The vectors that are not known yet follow behind (`flows.vectors`). Events are hints: whatever
woke this flow, the scan decides what changed.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from memory_sidecar.core.crash_log import CrashLog
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import Document, FileStatus, SourceFile, Stamp
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.registry import Source
from memory_sidecar.disk.walk import Scan
from memory_sidecar.index.derived import (
    DerivedStore,
    ManifestEntry,
    Removal,
    Replacement,
    Standing,
    WriteCounts,
)
from memory_sidecar.index.document import (
    BuildCrashed,
    BuildError,
    FileVanished,
    Stopped,
    skipped_document,
)
from memory_sidecar.index.engine import Batch, Built, Engine, Write
from memory_sidecar.index.engine_state import StateBroken, UncleanEnds
from memory_sidecar.index.identity import new_state_id
from memory_sidecar.index.vectors import Vector

_STATE_ID_FILE = "state_id"
_OPENED_FILE = "opened"
_ENGINE_FOLDER = "cocoindex"
FEW_FILES = 20  # a save, or what somebody waits for: those give way to nobody
SAVED_TOGETHER_NS = 60 * 10**9
SLICE_FILES = 512  # of a pass: between two slices, what a caller waits for is done

_log = logging.getLogger(__name__)

KnownVectors = Callable[[Collection[str]], Mapping[str, Vector]]
"""The vectors that are at hand for these texts, by text; never computes one."""

Progress = Callable[[int, int], None]
"""Called now and then with files done and files to do, in the thread that called `refresh`. What
it raises ends the pass."""


class Builder(Protocol):
    """How the files of one source become documents."""

    @property
    def version(self) -> str:
        """Of whatever decides a document's rows: another one, and every file is built again."""

    @property
    def believes_empty(self) -> bool:
        """Whether a root without any file is believed; one on a disk of its own is not."""

    @property
    def is_isolated(self) -> bool:
        """Whether a crash while building would end another process than this one."""

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        """What is on disk, or the part of it at and below the paths `under`.

        `known`, the stamps of an earlier scan, may be trusted if that saves time.
        """

    def preparing(self, files: Sequence[SourceFile]) -> AbstractContextManager[None]:
        """Around the building of all of `files`."""

    def build(self, file: SourceFile) -> Document:
        """Called from several threads. Raises BuildError where the disk refuses."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What one pass over a source did."""

    folders: tuple[str, ...]  # scanned, relative to the root: what a watcher would watch
    files_total: int
    files_processed: int
    files_failed: int
    files_deleted: int
    chunks_indexed: int
    chunks_deleted: int
    unreadable: tuple[str, ...]  # folders whose files were left as they were
    notice: str = ""  # what was broken, and is made again


def remove_state(state: Path) -> None:
    """Remove a source's folder of state, as far as that goes; never through a link.

    Raises PathRefused where the folder that it should lie in is a link.
    """
    try:
        folder, name = Tree(state.parents[2], is_own=True).enter_above(state)
    except FileNotFoundError:
        return
    except FileRefused as error:
        raise PathRefused(
            f"{error.filename} is a {error.reason}", hint="make it a folder, or remove it"
        ) from error
    with folder:
        shutil.rmtree(folder.at(name), ignore_errors=True, dir_fd=folder.fd)  # but no link


class SourceFlow:
    """Keeps the rows of one source in line with its files.

    One thread uses it, which holds the database's writer lock from `refresh` to `close`.
    """

    def __init__(
        self,
        source: Source,
        *,
        builder: Builder,
        store: DerivedStore,
        state: Path,
        known_vectors: KnownVectors,
        threads: int,
        give_way: Callable[[], None] = lambda: None,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """`give_way` is called before each step of a long pass, and may take a moment.

        `between` is called between two slices of a pass, and may `refresh` this source. If that was
        all of it, the pass that it came into has nothing left to do.
        """
        self.source = source
        self._builder = builder
        self._store = store
        self._state = state
        self._known_vectors = known_vectors
        self._threads = threads
        self._give_way = give_way
        self._between = between
        self._is_stopped = threading.Event()
        self._is_ending = threading.Event()  # the engine that runs: nothing more is built for it
        self._unclean_ends = UncleanEnds(state / _OPENED_FILE)
        self._engine: Engine | None = None
        self._crashes: CrashLog | None = None
        self._pass = _Pass(None, 0)

    def refresh(
        self,
        *,
        under: Collection[str] | None = None,
        changed: Collection[str] | None = None,
        full: bool = False,
        recheck: bool = False,
        progress: Progress | None = None,
    ) -> Refreshed:
        """Scan the source and index what changed; returns when it is committed.

        `under` scans these paths alone, with what lies below them. `changed` are paths that the
        caller knows to have been there just now, so that they are believed to be gone. `full`
        reads every file again, whatever its times say, and believes a root without any file.
        `recheck` is quicker, and may miss what rules from outside of the source have come to
        ignore or to let through.

        Raises NotFound where the root is not there or has lost every file, PathRefused where it
        cannot be read: its rows stay. Raises Stopped after `stop`, with what was committed before.
        """
        changed = changed or under
        try:
            return self._refresh(under, full, recheck, progress, changed=changed)
        except StateBroken as broken:
            self._close_engine()
            notice = self._set_state_aside(broken)
            refreshed = self._refresh(None, full, recheck, progress, changed=changed)
            return replace(refreshed, notice=notice)

    def _refresh(
        self,
        under: Collection[str] | None,
        full: bool,
        recheck: bool,
        progress: Progress | None,
        *,
        changed: Collection[str] | None = None,
    ) -> Refreshed:
        self._require_root_is_itself()
        version = self._builder.version
        made_by = self._made_by()
        if made_by != version and not self._pass.is_under_way:
            under = None  # a part would leave the rest as it is
        manifest = self._store.manifest(self.source.name, under=under)
        known = {path: entry.stamp for path, entry in manifest.items()} if recheck else None
        scan = self._builder.scan(under, known=known)
        if under is None and not scan.files and not full and not self._builder.believes_empty:
            self._require_rows_unneeded(changed)
        if made_by is None:
            self._pair_state()
        batch = changes(scan, manifest, everything=full or made_by != version)
        total = len(batch.changed) + len(batch.gone)
        around = self._pass  # that this one comes between the slices of, if any
        done = self._pass = _Pass(
            progress, total, is_full=full, around=around, began_at=self._store.now()
        )
        try:
            if batch.changed or batch.gone:
                self._apply(batch)
        finally:
            self._pass = around
        if under is None:
            self._store.end_scan(self.source.name, chunker=version)
            around.overtake(is_full=full)
        return Refreshed(
            folders=scan.folders,
            files_total=len(scan.files),
            files_processed=done.processed,
            files_failed=len(done.failures),
            files_deleted=len(batch.gone),
            chunks_indexed=done.chunks_indexed,
            chunks_deleted=done.chunks_deleted,
            unreadable=scan.unreadable,
        )

    def stop(self) -> None:
        """End a refresh that is under way, soon, and any later one. Any thread may call this."""
        self._is_stopped.set()
        self._is_ending.set()

    def close(self) -> None:
        """Let go of CocoIndex's state; finishes what is under way."""
        self._close_engine()

    def _set_state_aside(self, broken: StateBroken) -> str:
        """Keep what cannot be read for whoever wants to know why; everything in it is derived."""
        aside = self._state.with_name(f"{self._state.name}.broken")
        with named_errors(self._state):
            remove_state(aside)
            self._state.replace(aside)
        notice = f"the state of {self.source.name} is broken ({broken}): making it again"
        _log.warning("%s; it is kept as %s", notice, aside)
        return notice

    def _close_engine(self) -> None:
        engine, self._engine = self._engine, None
        crashes, self._crashes = self._crashes, None
        try:
            if engine is not None:
                engine.close()
                self._unclean_ends.end()
        finally:
            if crashes is not None:  # not before: what is under way is noted until it is done
                crashes.close()

    def _apply(self, batch: Batch) -> None:
        with named_errors(self._state):
            try:
                self._run_engine(batch)
            except BaseException:
                with suppress(Exception):  # it fails again for the same reason
                    self._close_engine()
                raise

    def _run_engine(self, batch: Batch) -> None:
        # A file left out by its name is never built: a row says why, and CocoIndex, which costs
        # most of a millisecond a file, need not know it.
        left_out = [file for file in batch.changed if file.skip_reason]
        to_build = [file for file in batch.changed if not file.skip_reason]
        if no_target := [*batch.gone, *(file.path for file in left_out)]:
            # First: what a session or a memory is called may have gone to another file. And
            # ourselves, too: CocoIndex deletes no row that its state does not know of.
            self._opened_engine().apply(Batch(changed=[], gone=no_target), beat=self._beat)
            unread = [self._skipped(file, file.skip_reason) for file in left_out]
            self._write(
                [Write(path, None) for path in batch.gone]
                + [Write(each.file.path, replace(each, fingerprint="")) for each in unread]
            )
            self._pass.advance(len(no_target))
        with self._builder.preparing(to_build):
            try:
                for part in _slices(to_build):
                    self._opened_engine().apply(part, beat=self._beat)
                    self._unclean_ends.end()
                    self._between()
                    if self._pass.is_overtaken:
                        return
            except BaseException:
                self._is_ending.set()  # before what builds is taken away
                raise
        self._beat()
        if self._pass.failures:
            self._store.fail(self.source.name, self._pass.failures)
        if self._pass.unwritten:
            self._store.touch(self.source.name, list(self._pass.unwritten.values()))

    def _opened_engine(self) -> Engine:
        if self._engine is None:
            self._is_ending = threading.Event()
            self._unclean_ends.begin()
            engine = Engine(
                self._state / _ENGINE_FOLDER,
                name=self.source.name,
                build=self._build,
                write=self._write,
                threads=self._threads,
                is_stopped=self._is_ending,
            )
            engine.start()
            self._engine = engine
            self._crashes = CrashLog(self._state, "in_flight")
        return self._engine

    def _beat(self) -> None:
        if self._is_stopped.is_set():
            raise Stopped("the pass was ended early")
        self._pass.report()

    def _require_root_is_itself(self) -> None:
        """A link in the place of the root, or above it, leads to files that nobody registered."""
        root = os.fspath(self.source.root)
        if (real := os.path.realpath(root)) != root:
            raise PathRefused(
                f"{root} is a link to {real} now",
                hint=f"bring the folder back, or `memory-sidecar source remove {self.source.name}`",
            )

    def _require_rows_unneeded(self, changed: Collection[str] | None) -> None:
        """A mount point without its disk is an empty folder: that is no reason to forget files.

        Those that the caller says `changed` may be gone: it knows that they were there just now.
        """
        known = len(self._store.manifest(self.source.name))
        if changed is not None:
            known -= len(self._store.manifest(self.source.name, under=changed))
        if known:
            raise NotFound(
                f"{self.source.root} holds no files any more, but {known} are indexed",
                hint="mount its disk again, or, if they are gone for good, run "
                f"`memory-sidecar index --full` or `source remove {self.source.name}`",
            )

    def _made_by(self) -> str | None:
        """The builder's version that made the rows, "" while they are being made anew.

        `None` where rows and CocoIndex state do not belong together: one of them was lost.
        """
        known = self._store.source_state(self.source.name)
        id_file = self._state / _STATE_ID_FILE
        paired = id_file.read_bytes().decode("ascii", "replace") if id_file.is_file() else ""
        is_paired = known and known.state_id == paired and known.root == self.source.root
        return known.chunker if known and is_paired else None

    def _pair_state(self) -> None:
        """Begin with a CocoIndex state that knows no file, so that every file is written again.

        The rows stay until then: after a kill all of them are there, and the next pass goes on.
        """
        with suppress(Exception):  # its state may have been taken away under it
            self._close_engine()
        with named_errors(self._state):
            remove_state(self._state)
            self._state.mkdir(parents=True)
            state_id = new_state_id()
            self._store.begin_source(self.source.name, root=self.source.root, state_id=state_id)
            (self._state / _STATE_ID_FILE).write_text(state_id, encoding="ascii")

    def _build(self, file: SourceFile) -> Built:
        """The target state of one file. Called from several threads."""
        self._make_way()
        document = self._document(file)
        self._pass.count_built(file, document)
        return Built(document.fingerprint, document)

    def _make_way(self) -> None:
        if self._pass.total > FEW_FILES:
            self._give_way()

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
        return skipped_document(self.source, file, reason, version=self._builder.version)

    def _write(self, writes: Sequence[Write]) -> None:
        """CocoIndex's sink: one transaction."""
        self._make_way()
        documents = [write.payload for write in writes if isinstance(write.payload, Document)]
        # One question to the cache for all texts of a transaction.
        vectors = self._known_vectors([text for d in documents for text in d.embedded_texts])
        changes: list[Replacement | Removal] = [
            Removal(self.source.name, write.path) for write in writes if write.payload is None
        ]
        changes += [Replacement(document, vectors) for document in documents]
        counts = self._store.write(changes, queued_at=self._pass.began_at)
        self._pass.count_written(documents, counts)


def _slices(changed: Sequence[SourceFile]) -> Iterator[Batch]:
    for at in range(0, len(changed), SLICE_FILES):
        yield Batch(changed=changed[at : at + SLICE_FILES], gone=())


def changes(scan: Scan, manifest: Mapping[str, ManifestEntry], *, everything: bool) -> Batch:
    """What a scan found to be other than the manifest has it.

    Files that failed are tried again. A file is gone only where the scan could look for it.
    """
    found = {file.path: file for file in scan.files}
    changed = [file for file in scan.files if everything or _differs(file, manifest.get(file.path))]
    gone = [path for path in manifest if path not in found and scan.verifies_absence(path)]
    # The most recently saved first: that is what someone is working on. Of what was saved together,
    # by a checkout for example, small files first: most files are then found soonest.
    changed.sort(key=lambda file: (-(file.mtime_ns // SAVED_TOGETHER_NS), file.size))
    return Batch(changed=changed, gone=gone)


def _differs(file: SourceFile, entry: ManifestEntry | None) -> bool:
    if entry is None or entry.status is FileStatus.FAILED or entry.stamp != file.stamp:
        return True
    # What was left out unread and now is let through has no fingerprint yet.
    return entry.reason != file.skip_reason if file.skip_reason else not entry.fingerprint


class _Pass:
    """Counts of one refresh, from several threads."""

    def __init__(
        self,
        progress: Progress | None,
        total: int,
        *,
        is_full: bool = False,
        around: _Pass | None = None,
        began_at: int = 0,
    ) -> None:
        self.began_at = began_at  # epoch ms
        self._progress = progress
        self.total = total
        self.is_overtaken = False  # a later one, of everything, came to its end in between
        self._is_full = is_full
        self._around = around
        self._done = 0
        self._lock = threading.Lock()
        self.failures: list[tuple[SourceFile, str]] = []
        self.unwritten: dict[str, Standing] = {}  # by path: built, and in the end passed over
        self.processed = 0
        self.chunks_indexed = 0
        self.chunks_deleted = 0

    @property
    def is_under_way(self) -> bool:
        return self._around is not None

    def overtake(self, *, is_full: bool) -> None:
        """Have this pass, and those that it came into, leave what the later one has done.

        What is to be read again whatever its times say, only one that does so, too, can do.
        """
        self.is_overtaken |= is_full or not self._is_full
        if self._around is not None:
            self._around.overtake(is_full=is_full)

    def count_built(self, file: SourceFile, document: Document) -> None:
        with self._lock:
            self.unwritten[file.path] = Standing(file, document.status, document.reason)
            self._done += 1

    def count_written(self, documents: Sequence[Document], counts: WriteCounts) -> None:
        with self._lock:
            self.chunks_indexed += counts.indexed
            self.chunks_deleted += counts.deleted
            for document in documents:
                self.unwritten.pop(document.file.path, None)
                self.processed += document.status is FileStatus.INDEXED

    def advance(self, files: int) -> None:
        self._done += files

    def report(self) -> None:
        if self._progress is not None:
            self._progress(min(self._done, self.total), self.total)
