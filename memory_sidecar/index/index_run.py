"""An index run: a pass over every source in turn, then their vectors, and the report."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_sidecar.core.errors import NotFound, PathRefused, SidecarError
from memory_sidecar.core.model import FileStatus, Source
from memory_sidecar.core.results import IndexReport, Reporter
from memory_sidecar.index.owner import Owner
from memory_sidecar.index.report import count_pending_of, count_vectors, list_files
from memory_sidecar.index.source import PassResult, ScanScope

EmbedScope = bool | Sequence[Path]
"""Whether an index run embeds new rows before it returns, or the folders whose rows it embeds."""


def index_sources(
    owner: Owner[Any],
    sources: Sequence[Source],
    reporter: Reporter,
    *,
    full: bool = False,
    embed: EmbedScope,
) -> IndexReport:
    """Index `sources` as `Database.update` says, within a request in the owner's thread."""
    started = time.monotonic()
    passes: list[PassResult] = []
    absent: dict[str, SidecarError] = {}
    for source in sources:
        try:
            passes.append(owner.refresh(source, reporter, ScanScope(full=full)))
        except (NotFound, PathRefused) as error:
            absent[source.name] = error
    if absent and not passes:
        raise next(iter(absent.values()))
    for why in absent.values():
        reporter.notice(f"{why.message}: its index stays as it was; {why.hint}")
    embedded = 0
    if (problem := owner.models.problem) is not None:
        reporter.notice(f"no vectors: {problem.with_hint}")
    elif embed:
        folders = () if embed is True else embed
        parts = [(each.name, part) for each in sources for part in _parts_of(each, folders)]
        embedded = owner.embed(reporter, parts=parts or None)
    store, names = owner.file.open(), {source.name for source in sources}
    with store.reading() as connection:
        skipped = list_files(connection, FileStatus.SKIPPED)
        failed = list_files(connection, FileStatus.FAILED)
        return IndexReport(
            sources=tuple(source.name for source in sources),
            sources_absent=tuple(absent),
            files_total=sum(p.files_total for p in passes),
            files_processed=sum(p.files_processed for p in passes),
            files_deleted=sum(p.files_deleted for p in passes),
            chunks_indexed=sum(p.chunks_indexed for p in passes),
            chunks_deleted=sum(p.chunks_deleted for p in passes),
            chunks_total=count_vectors(connection, store.SCHEMA.corpora).rows,
            vectors_embedded=embedded,
            vectors_pending=count_pending_of(connection, store.SCHEMA.corpora, names),
            files_skipped=tuple(f for f in skipped if f.source in names),
            files_failed=tuple(f for f in failed if f.source in names),
            folders_unreadable=tuple(folder for p in passes for folder in p.unreadable),
            seconds=round(time.monotonic() - started, 3),
        )


def _parts_of(source: Source, folders: Sequence[Path]) -> list[str]:
    """Return the `folders` in `source`, relative to it; [""], the whole source, if none is."""
    real = [Path(os.path.realpath(folder)) for folder in folders]
    inside = [each.relative_to(source.root) for each in real if each.is_relative_to(source.root)]
    return ["" if each == Path() else each.as_posix() for each in inside] or [""]
