"""How the files of a project become documents; `index.source` tells the whole way."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from memory_sidecar.chunking.chunk import CHUNKER_VERSION
from memory_sidecar.code.document import build_document
from memory_sidecar.code.shared import SharedSource, beside, out_of_step
from memory_sidecar.code.store import CodeStore
from memory_sidecar.code.workers import MAX_PROCESSES, WORTH_PROCESSES, Workers
from memory_sidecar.core.model import Document, Scan, Source, SourceFile, Stamp
from memory_sidecar.core.settings import Settings, narrowed_by
from memory_sidecar.disk.ignores import valid_excludes
from memory_sidecar.disk.rule_files import rules_elsewhere
from memory_sidecar.disk.walk import walk
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.writing import AtHand

_many = threading.RLock()
"""Held by the thread that has processes; another one builds without them, and waits for nothing."""


_GLOB_SYNTAX = re.compile(r"[\\*?\[\]{}!]")


def own_globs(root: Path, own: Iterable[Path]) -> tuple[str, ...]:
    """What of `own` files lies inside of `root`. Indexed, every write would cause the next one."""
    real = [path.resolve() for path in own]
    inside = [path.relative_to(root) for path in real if root in path.parents]
    return tuple("/" + _GLOB_SYNTAX.sub(r"\\\g<0>", path.as_posix()) for path in inside)


class CodeBuilder:
    """Implements `index.document.Builder`. Many files are built by other processes."""

    believes_empty = False  # a mount point without its disk is an empty folder

    def __init__(
        self, source: Source, *, settings: Settings, shared: SharedSource | None = None
    ) -> None:
        """`shared` is what a team has of `source`."""
        self._source = source
        self.shared = shared
        self._settings = settings
        self._workers: Workers | None = None

    @property
    def version(self) -> str:
        return CHUNKER_VERSION

    @property
    def is_isolated(self) -> bool:
        return self._workers is not None

    def rules_elsewhere(self, folders: Collection[str]) -> str:
        narrowed = narrowed_by(self._source.root, self._settings)
        return rules_elsewhere(
            os.fspath(self._source.root), folders, self._source.excludes + narrowed.excludes
        )

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        narrowed = narrowed_by(self._source.root, self._settings)
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
        if self.shared is not None and isinstance(store, CodeStore):
            self.shared.catch_up(store)
