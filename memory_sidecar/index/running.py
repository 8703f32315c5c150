"""What a pass that runs has done so far, and what passes within it did in its place."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from itertools import compress

from memory_sidecar.core.model import Document, FileStatus, Scan, SourceFile
from memory_sidecar.index.derived import ManifestEntry

Progress = Callable[[int, int], None]
"""Called every BEAT_S with files done and files in total, in the thread that applies. What it
raises ends the pass."""


class Pass:
    """The running totals of one `Applier.apply`. Counted from several threads."""

    def __init__(
        self, total: int, progress: Progress, *, is_full: bool, around: Pass | None, began_at: int
    ) -> None:
        """`around`: the outer pass, if this one runs between two of its slices.

        `total` counts files, `began_at` is epoch ms.
        """
        self.total = total
        self.began_at = began_at
        self.is_overtaken = False  # by an inner pass over the whole source, which has ended since
        self.later: Scan | None = None  # the scan of such a pass
        self.failures: list[tuple[SourceFile, str]] = []
        self.unwritten: dict[str, ManifestEntry] = {}  # built, but not written: fingerprint known
        self.done_within = set[str]()  # paths that an inner pass has brought up to date since
        self.processed = 0  # files, as below by this pass and those within it
        self.deleted = 0
        self.chunks_indexed = 0
        self.chunks_deleted = 0
        self._progress = progress
        self._is_full = is_full
        self._around = around
        self._there = set[str]()  # the paths of `later`
        self._done = 0
        self._shown = 0
        self._lock = threading.Lock()

    def overtake(self, scan: Scan, *, is_full: bool) -> None:
        """Mark this pass and its outer ones as done by an inner pass over the whole source.

        A full pass, which reads unchanged files too, is overtaken only by another full one: else
        it leaves out the files that `scan`, that of the inner pass, does not have.
        """
        self.later = scan
        self._there = {file.path for file in scan.files}
        self.is_overtaken |= is_full or not self._is_full
        if self._around is not None:
            self._around.overtake(scan, is_full=is_full)

    def leave_out(self, paths: Collection[str]) -> None:
        """Leave `paths` to an inner pass, which saw later files there; so do the outer ones."""
        for path in paths:
            self.done_within.add(path)
            self.unwritten.pop(path, None)
        self.failures = [each for each in self.failures if each[0].path not in self.done_within]
        if self._around is not None:
            self._around.leave_out(paths)

    def count_within(self, inner: Pass) -> None:
        """Count what `inner`, which has ended, did in place of this pass."""
        self.processed += inner.processed
        self.deleted += inner.deleted
        self.chunks_indexed += inner.chunks_indexed
        self.chunks_deleted += inner.chunks_deleted

    def left_of(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Return those of `files` that no inner pass has done, or not found, since; count both."""
        is_left = [
            file.path not in self.done_within and (self.later is None or file.path in self._there)
            for file in files
        ]
        self.advance(is_left.count(False))
        return list(compress(files, is_left))

    def still_gone(self, paths: Sequence[str]) -> list[str]:
        """Return those of `paths` that no inner pass has done or found again; count both."""
        left = [path for path in paths if path not in self.done_within and path not in self._there]
        self.advance(len(paths) - len(left))
        return left

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

    def report(self, within: int = 0) -> None:
        """Report the progress of this pass and its outer ones; an inner one did `within` files.

        It never falls, though this pass counts what the inner one did only when it gets there.
        """
        self._shown = min(max(self._done + within, self._shown), self.total)
        self._progress(self._shown, self.total)
        if self._around is not None:
            self._around.report(self._shown)
