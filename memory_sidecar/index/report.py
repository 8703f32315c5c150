"""What one `index` did, as its caller is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memory_sidecar.flows.source import Refreshed
from memory_sidecar.model import FileStatus
from memory_sidecar.sources.registry import Source
from memory_sidecar.store.derived import DerivedStore
from memory_sidecar.store.report import ListedFile, count_pending, count_rows, list_files


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one `index` did."""

    sources: tuple[str, ...]
    sources_absent: tuple[str, ...]  # of these, left as they were because they are not there
    files_total: int
    files_processed: int
    files_deleted: int
    chunks_indexed: int
    chunks_deleted: int
    chunks_total: int  # of the whole database
    vectors_embedded: int
    vectors_pending: int
    files_skipped: tuple[ListedFile, ...]
    files_failed: tuple[ListedFile, ...]
    folders_unreadable: tuple[str, ...]
    seconds: float


def report_of(
    store: DerivedStore,
    sources: Sequence[Source],
    passes: Sequence[Refreshed],
    *,
    absent: Collection[str],
    embedded: int,
    seconds: float,
) -> IndexReport:
    """The report of `passes` over `sources`, those that are `absent` left out."""
    names = {source.name for source in sources}
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
            chunks_total=count_rows(connection, store.SCHEMA.corpora),
            vectors_embedded=embedded,
            vectors_pending=count_pending(connection, store.SCHEMA.corpora),
            files_skipped=tuple(f for f in skipped if f.source in names),
            files_failed=tuple(f for f in failed if f.source in names),
            folders_unreadable=tuple(folder for p in passes for folder in p.unreadable),
            seconds=seconds,
        )
