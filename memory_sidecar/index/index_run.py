"""An index run: a pass over every source in turn, then their vectors, and the report.

In a daemon the vectors are a request of their own, so that no other caller waits for them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_sidecar.core.errors import NotFound, PathRefused, SidecarError
from memory_sidecar.core.model import FileStatus, Source
from memory_sidecar.core.results import IndexReport, Reporter
from memory_sidecar.index.document import Stopped
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import count_pending_of, count_vectors, list_files
from memory_sidecar.index.requests import Urgency
from memory_sidecar.index.source import PassResult, ScanScope

EmbedScope = bool | Sequence[Path]
"""Whether an index run embeds new rows before it returns, or the folders whose rows it embeds."""


class IndexRun:
    """One run over `sources`: first `pass_over`, then perhaps `embed`, both in the owner's thread.

    Both are requests, or parts of one.
    """

    def __init__(self, owner: Owner[Any], sources: Sequence[Source]) -> None:
        self._owner = owner
        self._sources = sources
        self._started_s = time.monotonic()
        self._passes = list[PassResult]()
        self._absent = dict[str, Exception]()
        self._waiting = 0  # rows without a vector after the passes
        self._embedded = 0

    def pass_over(self, reporter: Reporter, *, full: bool = False) -> None:
        """Index what changed in each source, as `Database.update` says.

        Between two sources other requests are served, so that one may be removed meanwhile.
        """
        self._passes, self._absent = [], {}  # the database may have proved damaged, and is new
        for source in self._sources:
            try:
                scope = ScanScope(full=full)
                self._passes.append(self._owner.refresh(source, reporter, scope))
            except (NotFound, PathRefused, Stopped) as error:
                if self._owner.loop.is_closing.is_set():
                    raise
                self._absent[source.name] = error
            if source != self._sources[-1]:
                self._owner.loop.serve(during=Urgency.VECTORS)
        if self._absent and not self._passes:
            raise next(iter(self._absent.values()))
        for name, why in self._absent.items():
            reporter.notice(
                f"{why.message}: its index stays as it was; {why.hint}"
                if isinstance(why, SidecarError)
                else f"{name} was left out: {why}"
            )
        if (problem := self._owner.models.problem) is not None:
            reporter.notice(f"no vectors: {problem.with_hint}")
        self._waiting = self._count_pending()

    def embed(self, scope: EmbedScope, reporter: Reporter) -> None:
        """Embed the rows of the sources, or of a part of them, unless there is no model."""
        if scope and self._owner.models.problem is None:
            folders = () if scope is True else scope
            sources = self._sources
            parts = [(each.name, part) for each in sources for part in _parts_of(each, folders)]
            self._embedded = self._owner.embed(reporter, parts=parts or None)

    def report(self) -> IndexReport:
        """Return what the run did."""
        store, names = self._owner.file.open(), {source.name for source in self._sources}
        passes, pending = self._passes, self._count_pending()
        with store.reading() as connection:
            skipped = list_files(connection, FileStatus.SKIPPED)
            failed = list_files(connection, FileStatus.FAILED)
            return IndexReport(
                sources=tuple(source.name for source in self._sources),
                sources_absent=tuple(self._absent),
                files_total=sum(p.files_total for p in passes),
                files_processed=sum(p.files_processed for p in passes),
                files_deleted=sum(p.files_deleted for p in passes),
                chunks_indexed=sum(p.chunks_indexed for p in passes),
                chunks_deleted=sum(p.chunks_deleted for p in passes),
                chunks_total=count_vectors(connection, store.SCHEMA.corpora).rows,
                # The background may have made some of them before the request for them began.
                vectors_embedded=max(self._embedded, self._waiting - pending),
                vectors_pending=pending,
                files_skipped=tuple(f for f in skipped if f.source in names),
                files_failed=tuple(f for f in failed if f.source in names),
                folders_unreadable=tuple(folder for p in passes for folder in p.unreadable),
                seconds=round(time.monotonic() - self._started_s, 3),
            )

    def _count_pending(self) -> int:
        store, names = self._owner.file.open(), {source.name for source in self._sources}
        with store.reading() as connection:
            return count_pending_of(connection, store.SCHEMA.corpora, names)


def _parts_of(source: Source, folders: Sequence[Path]) -> list[str]:
    """Return the `folders` in `source`, relative to it; [""], the whole source, if none is."""
    real = [Path(os.path.realpath(folder)) for folder in folders]
    inside = [each.relative_to(source.root) for each in real if each.is_relative_to(source.root)]
    return ["" if each == Path() else each.as_posix() for each in inside] or [""]
