"""What passes over one source have found to do, and have done so far.

A pass that runs between two slices of another shares both with it: the outer pass skips the files
that the inner one has written, and takes the others as the inner one saw them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.index.document import Differences

LARGE_BYTES = 32 << 10  # a file of this size takes 10 ms or more to build
SLICE_BYTES = 2 << 20  # takes a second or two, as 400 files of most projects do

Progress = Callable[[int, int], None]
"""Called every BEAT_S with files done and files in total, in the thread that applies. What it
raises ends the pass."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of `Applier.apply`."""

    files: int
    began_at: int  # epoch ms
    progress: Progress


@dataclass(slots=True)
class Totals:
    """What the passes of one applier have written so far."""

    files: int = 0
    files_deleted: int = 0
    chunks_indexed: int = 0
    chunks_deleted: int = 0


class Todo:
    """The files that passes over one source have still to write, each as it was seen last."""

    def __init__(self) -> None:
        self._left: dict[str, SourceFile | None] = {}  # by path; None: its rows are to be deleted
        self._total = 0
        self._in_hand = 0  # files of the slice under way that are not written yet

    @property
    def progress(self) -> tuple[int, int]:
        """Files done, and in total; the former never falls."""
        return self._total - len(self._left) - self._in_hand, self._total

    def add(self, found: Differences, scan: Scan, *, is_whole: bool) -> None:
        """Add what `scan` (`is_whole`: of the whole source) has `found`; update what was left."""
        there = {file.path: file for file in scan.files}
        for path in list(self._left if is_whole else there):
            if self._left.pop(path, None) and path in there:
                self._left[path] = there[path]
        before = len(self._left)
        self._left |= {file.path: file for file in found.changed}
        self._left |= dict.fromkeys(found.gone)
        self._total += len(self._left) - before

    def take(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Take in hand those of `files` that are left, each as it was seen last."""
        taken = [now for file in files if (now := self._left.pop(file.path, None))]
        self._in_hand = len(taken)
        return taken

    def take_gone(self, paths: Iterable[str]) -> list[str]:
        """Take those of `paths` whose rows are still to be deleted."""
        taken = [path for path in paths if self._left.get(path, path) is None]
        for path in taken:
            del self._left[path]
        return taken

    def count_written(self, files: int) -> None:
        self._in_hand -= files

    def end_slice(self) -> None:
        """Count the files in hand as done, including unchanged ones, which were not written."""
        self._in_hand = 0


def in_slices(files: Sequence[SourceFile], *, most: int) -> list[list[SourceFile]]:
    """Split `files` into slices of at most `most` and SLICE_BYTES; a larger file is alone.

    Each slice begins with its large files, so that its end does not wait for one.
    """
    slices: list[list[SourceFile]] = []
    left = 0
    for file in files:
        left -= file.size
        if not slices or left < 0 or len(slices[-1]) == most:
            slices.append([])
            left = SLICE_BYTES - file.size
        slices[-1].append(file)
    return [sorted(part, key=lambda file: file.size < LARGE_BYTES) for part in slices]
