"""What an index needs to know of whoever watches its sources; `handlers.live` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_sidecar.flows.source import Progress, Refreshed
from memory_sidecar.handlers.activity import FilesUnderWay
from memory_sidecar.sources.registry import Source


@dataclass(frozen=True, slots=True)
class LiveState:
    """How a watched source is doing."""

    name: str
    is_current: bool  # every change that was heard of is indexed
    waiting: int  # files and folders that are heard to have changed, and not looked at yet
    indexing: FilesUnderWay | None  # the pass that found changes, while it goes on
    refreshed_at: int | None  # epoch ms
    error: str  # of the last refresh, "" when it went well
    polled: tuple[str, ...]  # folders that are polled, because the system's watch limit is reached
    notice: str  # what to do about that


class Follower(Protocol):
    """Keeps sources up to date by itself."""

    def index(self, source: Source, *, full: bool, progress: Progress) -> Refreshed:
        """Watch `source` from now on, and return when it is indexed as it is now.

        `progress` is called now and then; what it raises ends the waiting, not the indexing.
        Raises what stood in the way.
        """

    def follow(self, source: Source) -> None:
        """Watch `source` from now on."""

    def forget(self, name: str) -> None:
        """Watch the source called `name` no longer."""

    def look_again(self) -> None:
        """Scan every source once more: rows may have been lost."""

    def embed_soon(self) -> None:
        """Give the rows that wait for vectors theirs, without being waited for."""

    def wait_fresh(self, *, timeout_ms: int) -> bool:
        """Whether every save before this call is indexed within `timeout_ms`."""

    def states(self) -> Sequence[LiveState]:
        """Of every watched source."""
