"""How the files of a project become documents; `index.source` tells the whole way.

Where a team shares the source, a local database holds what differs from the team's: of a file that
the team has with the same content, the names are kept here and the chunks left out. So three things
are tracked of a file: the fingerprint of its content, the team's fingerprint at its path, and the
generation at which the team was asked. When one of them changes, the file is written again.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from memory_sidecar.chunking.chunk import CHUNKER_VERSION
from memory_sidecar.code.document import CodeDocument, build_document
from memory_sidecar.code.history import update_history
from memory_sidecar.code.results import Published
from memory_sidecar.code.store import CodeStore
from memory_sidecar.code.workers import MAX_PROCESSES, WORTH_PROCESSES, Workers
from memory_sidecar.core.model import Document, Scan, Source, SourceFile, Stamp
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.settings import Settings, narrow_settings
from memory_sidecar.disk.ignores import valid_excludes
from memory_sidecar.disk.rule_files import rules_elsewhere
from memory_sidecar.disk.walk import walk
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.writing import AtHand

_many = threading.RLock()
"""Held by the thread that has processes; another one builds without them, and waits for nothing."""


_GLOB_SYNTAX = re.compile(r"[\\*?\[\]{}!]")


class SharedSource(Protocol):
    """A source that the team has, too."""

    @property
    def generation(self) -> int:
        """How often the team's rows had been changed when `fingerprints` was read."""

    @property
    def has_moved_on(self) -> bool:
        """Whether a search has seen a later generation."""

    def fingerprints(self, *, anew: bool = False) -> Mapping[str, str] | None:
        """The fingerprints of all files that the team has, by path; `None` while they are unknown.

        As of a moment ago, unless `anew`.
        """

    def put(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: AtHand
    ) -> Sequence[Document]:
        """Give `documents` to the team, if this machine may; returns what is to be written here."""

    def counts_at(self, path: str) -> VectorCounts:
        """How many chunks the team has of a file, and vectors. Raises DatabaseError and NoIndex."""

    def catch_up(self, store: CodeStore) -> None:
        """Give the team what could not be given before, if this machine may."""

    def give(self, store: CodeStore, *, by_force: bool) -> Published:
        """Make what the team has what is here: rows go up with their vectors, and leave here.

        A file of which the team has another version than when its rows left stays as it is: the
        next pass reads it again. What is absent here is deleted there after a scan of everything.
        `by_force` where another machine indexes it. Raises DatabaseError and Conflict.
        """


class CodeBuilder:
    """Implements `index.document.Builder`. Many files are built by other processes."""

    believes_empty = False  # a mount point without its disk is an empty folder

    def __init__(
        self,
        source: Source,
        *,
        settings: Settings,
        own: Iterable[Path] = (),
        shared_by: Callable[[Source], SharedSource | None] | None = None,
    ) -> None:
        """Leaves out `own`, our own files; `shared_by` tells what a team has of the source."""
        self._source = replace(source, excludes=source.excludes + _own_globs(source.root, own))
        self.shared = shared_by(source) if shared_by is not None else None
        self._settings = settings
        self._workers: Workers | None = None

    @property
    def version(self) -> str:
        return CHUNKER_VERSION

    @property
    def is_isolated(self) -> bool:
        return self._workers is not None

    def rules_elsewhere(self, folders: Collection[str]) -> str:
        narrowed = narrow_settings(self._source.root, self._settings)
        return rules_elsewhere(
            os.fspath(self._source.root), folders, self._source.excludes + narrowed.excludes
        )

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        narrowed = narrow_settings(self._source.root, self._settings)
        return walk(
            self._source.root,
            max_file_bytes=narrowed.max_file_bytes,
            excludes=self._source.excludes + valid_excludes(narrowed.excludes),
            under=under,
            known=known,
        )

    @contextmanager
    def preparing(self, files: Sequence[SourceFile]) -> Iterator[None]:
        around = self._workers  # of the pass that this one came into, if any
        is_worth = len(files) >= WORTH_PROCESSES and _many.acquire(blocking=False)
        self._workers = None
        try:
            if is_worth:
                most = min(os.cpu_count() or 1, MAX_PROCESSES)
                self._workers = Workers(
                    self._source,
                    files,
                    max_file_bytes=self._settings.max_file_bytes,
                    processes=min(most, len(files) // WORTH_PROCESSES),
                )
            yield
        finally:
            if self._workers is not None:
                self._workers.close()
            self._workers = around
            if is_worth:
                _many.release()

    def build(self, file: SourceFile) -> Document:
        if self._workers is not None:
            document = self._workers.build(file)
        else:
            document = build_document(self._source, file, self._settings.max_file_bytes)
        theirs = self.shared.fingerprints() if self.shared else None
        if self.shared is None or theirs is None:
            return document
        return beside(document, theirs.get(file.path, ""), self.shared.generation)

    def outdated(self, manifest: Mapping[str, ManifestEntry]) -> Collection[str]:
        theirs = self.shared.fingerprints(anew=True) if self.shared else {}
        return out_of_step(manifest, theirs) if theirs is not None else ()

    def handed_on(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: AtHand
    ) -> Sequence[Document]:
        return self.shared.put(documents, gone, at_hand) if self.shared else documents

    def finish(self, store: DerivedStore) -> None:
        update_history(self._source, store)
        if self.shared is not None and isinstance(store, CodeStore):
            self.shared.catch_up(store)


def _own_globs(root: Path, own: Iterable[Path]) -> tuple[str, ...]:
    """What of `own` files lies inside of `root`. Indexed, every write would cause the next one."""
    real = [Path(real_path(path)) for path in own]
    inside = [path.relative_to(root) for path in real if root in path.parents]
    return tuple("/" + _GLOB_SYNTAX.sub(r"\\\g<0>", path.as_posix()) for path in inside)


_NOTHING = "-"  # is what the team has at that path


def halves(tracked: str) -> tuple[str, str]:
    """The fingerprints in what is tracked: of the content here, of the team's, "" for none."""
    own, theirs, *_ = *tracked.split(" "), ""
    return own, "" if theirs == _NOTHING else theirs


def is_left_out(tracked: str) -> bool:
    """Whether the team has the same."""
    own, theirs = halves(tracked)
    return bool(own) and own == theirs


def beside(document: Document, theirs: str, generation: int) -> Document:
    """`document`, of which the team has the fingerprint `theirs`, as it is kept here."""
    own, _ = halves(document.fingerprint)
    if own == theirs and isinstance(document, CodeDocument):
        document = replace(document, chunks=(), found=())
    return replace(document, fingerprint=f"{own} {theirs or _NOTHING} {generation}")


def out_of_step(
    manifest: Mapping[str, ManifestEntry], theirs: Mapping[str, str]
) -> Collection[str]:
    """The files that were written beside another version of the team's than it has now."""
    return [
        path
        for path, entry in manifest.items()
        if entry.fingerprint and halves(entry.fingerprint)[1] != theirs.get(path, "")
    ]
