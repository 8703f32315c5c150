"""One pass over a source, whatever kind of file is in it: top-down.

    scan ──▶ compare with the manifest ──▶ differences ──▶ apply

Events are hints: whatever woke this flow, the scan decides what changed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from memory_sidecar.disk.registry import Source
from memory_sidecar.index.apply import Applier, Progress
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.document import Builder
from memory_sidecar.index.embed import KnownVectors
from memory_sidecar.index.engine_state import EngineState, StateBroken
from memory_sidecar.index.scan import differences, require_root_is_itself, require_rows_unneeded
from memory_sidecar.index.schema import new_state_id

_log = logging.getLogger(__name__)


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
        """`state` is the source's folder of state, `threads` how many build.

        `give_way` is called before each step of a long pass, and may take a moment. `between` is
        called between two slices of a pass, and may `refresh` this source. If that was all of it,
        the pass that it came into has nothing left to do.
        """
        self.source = source
        self._builder = builder
        self._store = store
        self._state = EngineState(state)
        self._applier = Applier(
            source,
            builder=builder,
            store=store,
            state=self._state,
            known_vectors=known_vectors,
            threads=threads,
            give_way=give_way,
            between=between,
        )

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
            self._applier.close()
            aside = self._state.set_aside()
            notice = f"the state of {self.source.name} is broken ({broken}): making it again"
            _log.warning("%s; it is kept as %s", notice, aside)
            refreshed = self._refresh(None, full, recheck, progress, changed=changed)
            return replace(refreshed, notice=notice)

    def _refresh(
        self,
        under: Collection[str] | None,
        full: bool,
        recheck: bool,
        progress: Progress | None,
        *,
        changed: Collection[str] | None,
    ) -> Refreshed:
        require_root_is_itself(self.source)
        name, version, around = self.source.name, self._builder.version, self._applier.under_way
        made_by = self._made_by()
        if made_by != version and around is None:
            under = None  # a part would leave the rest as it is
        manifest = self._store.manifest(name, under=under)
        known = {path: entry.stamp for path, entry in manifest.items()} if recheck else None
        scan = self._builder.scan(under, known=known)
        if under is None and not scan.files and not full and not self._builder.believes_empty:
            require_rows_unneeded(self.source, self._store, changed)
        if made_by is None:
            self._begin_anew()
        found = differences(scan, manifest, everything=full or made_by != version)
        done = self._applier.apply(found, progress, is_full=full)
        if under is None:
            self._store.end_scan(name, chunker=version)
            if around is not None:
                around.overtake(is_full=full)
        return Refreshed(
            folders=scan.folders,
            files_total=len(scan.files),
            files_processed=done.processed,
            files_failed=len(done.failures),
            files_deleted=len(found.gone),
            chunks_indexed=done.chunks_indexed,
            chunks_deleted=done.chunks_deleted,
            unreadable=scan.unreadable,
        )

    def stop(self) -> None:
        """End a refresh that is under way, soon, and any later one. Any thread may call this."""
        self._applier.stop()

    def close(self) -> None:
        """Let go of CocoIndex's state; finishes what is under way."""
        self._applier.close()

    def _made_by(self) -> str | None:
        """The builder's version that made the rows, "" while they are being made anew.

        `None` where rows and CocoIndex state do not belong together: one of them was lost.
        """
        known = self._store.source_state(self.source.name)
        if known is None or known.root != self.source.root:
            return None
        return known.chunker if known.state_id == self._state.paired_with else None

    def _begin_anew(self) -> None:
        """Begin with a CocoIndex state that knows no file, so that every file is written again.

        The rows stay until then: after a kill all of them are there, and the next pass goes on.
        """
        with suppress(Exception):  # its state may have been taken away under it
            self._applier.close()
        self._state.clear()
        state_id = new_state_id()
        self._store.begin_source(self.source.name, root=self.source.root, state_id=state_id)
        self._state.pair(state_id)
