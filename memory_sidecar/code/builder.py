"""How the files of a project become documents; `index.source` tells the whole way."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from memory_sidecar.chunking.chunk import CHUNKER_VERSION
from memory_sidecar.code.build import build_document
from memory_sidecar.code.workers import MAX_PROCESSES, WORTH_PROCESSES, Workers
from memory_sidecar.core.model import Document, SourceFile, Stamp
from memory_sidecar.core.settings import Settings, narrowed_by
from memory_sidecar.disk.ignores import valid_excludes
from memory_sidecar.disk.registry import Source
from memory_sidecar.disk.rule_files import rules_elsewhere
from memory_sidecar.disk.walk import Scan, walk

_many = threading.RLock()
"""Held by the thread that has processes; another one builds without them, and waits for nothing."""


class CodeBuilder:
    """Implements `index.document.Builder`. Many files are built by other processes."""

    believes_empty = False  # a mount point without its disk is an empty folder

    def __init__(self, source: Source, *, settings: Settings) -> None:
        self._source = source
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
                self._workers = Workers(
                    self._source,
                    files,
                    max_file_bytes=self._settings.max_file_bytes,
                    processes=min(os.cpu_count() or 1, MAX_PROCESSES),
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
            return self._workers.build(file)
        return build_document(self._source, file, self._settings.max_file_bytes)
