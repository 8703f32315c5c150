"""One pass over a source, whatever kind of file is in it: top-down.

    scan ──▶ compare with the manifest ──▶ differences ──▶ apply

Events are hints: whatever woke this flow, the scan decides what changed.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote

from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.disk.recheck import were_rules_written
from memory_sidecar.disk.rule_files import folders_of, rules_above
from memory_sidecar.disk.walk import require_root_is_itself
from memory_sidecar.index.apply import Applier, Progress
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.document import Differences
from memory_sidecar.index.engine_state import StateBroken
from memory_sidecar.index.schema import new_state_id

SAVED_TOGETHER_NS = 60 * 10**9
MANY_FILES = 50_000  # minutes of two processors: more than most projects have of their own
MOST = 0.5  # of many files: the folder that they lie in is worth naming

Notice = Callable[[str], None]
"""Tells the caller who waits for a pass."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """How much of a source a pass looks at, and how closely."""

    under: Collection[str] | None = None  # these paths alone, with what lies below them
    # The caller saw these just now: where they are missing, they are believed to be gone.
    changed: Collection[str] | None = None
    full: bool = False  # every file is read again, and a root without any file is believed


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


class SourceFlow(Applier):
    """Keeps the rows of one source in line with its files.

    One thread uses it, which holds the database's writer lock from `refresh` to `close`. Between
    two slices of a pass it may be asked to `refresh` once more; if that was of the whole source,
    the pass around has nothing left to do.
    """

    def refresh(self, look: Look, progress: Progress, notice: Notice) -> Refreshed:
        """Scan the source and index what changed; returns when it is committed.

        Raises NotFound where the root is not there or has lost every file, PathRefused where it
        cannot be read: its rows stay. Raises Stopped after `stop`, with what was committed before.
        """
        try:
            return self._refresh(look, progress, notice)
        except StateBroken as broken:
            self.close()
            aside = self._state.set_aside()
            told = f"the state of {self._source.name} is broken ({broken}): rebuilding it"
            _log.warning("%s; it is kept as %s", told, aside)
            notice(told)
            whole = replace(look, under=None, changed=look.changed or look.under)
            return self._refresh(whole, progress, notice)

    def _refresh(self, look: Look, progress: Progress, notice: Notice) -> Refreshed:
        require_root_is_itself(self._source)
        name, version, around = self._source.name, self._builder.version, self.under_way
        made_by, under = self._made_by(), look.under
        if made_by != version and around is None:
            under = None  # a part would leave the rest as it is
        manifest = self._store.manifest(name, under=under)
        scan, rules = self._scan(look, under, manifest)
        is_believed = scan.files or look.full or self._builder.believes_empty
        if under is None and not is_believed:
            require_rows_unneeded(self._source, self._store, look.changed or look.under)
        if made_by is None:
            self._begin_anew()
        for path in self._builder.outdated(manifest):
            manifest[path] = replace(manifest[path], fingerprint="")
        found = differences(scan, manifest, everything=look.full or made_by != version)
        if len(found.changed) >= MANY_FILES and not manifest:
            notice(_many(found.changed))
        done = self.apply(found, progress, is_full=look.full)
        if under is None:
            self._store.end_scan(name, chunker=version, rules=rules)
            self._builder.finish(self._store)
            if around is not None:
                around.overtake(is_full=look.full)
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

    def _scan(
        self, look: Look, under: Collection[str] | None, manifest: Mapping[str, ManifestEntry]
    ) -> tuple[Scan, str]:
        """What is on disk, or the part `under` some paths, and the digest of rules from elsewhere.

        The digest is "" where rules were written meanwhile: the next scan trusts nothing of this.
        """
        before = self._store.rules_of(self._source.name)
        if under is not None:
            rules, known = self._builder.rules_elsewhere(()), None
            if rules and rules.partition(" ")[0] == before.partition(" ")[0]:
                above = self._store.manifest(self._source.name, under=rules_above(under))
                known = _stamps({**manifest, **above})
            return self._builder.scan(under, known=known), ""
        began_ns = time.time_ns()
        rules = self._builder.rules_elsewhere(folders_of(manifest))
        if rules and not look.full and rules == before:
            scan = self._builder.scan(None, known=_stamps(manifest))
        else:
            scan, around = self._builder.scan(None), rules.partition(" ")[0]
            rules = self._builder.rules_elsewhere(folders_of(file.path for file in scan.files))
            if rules.partition(" ")[0] != around:
                rules = ""
        return scan, "" if were_rules_written(scan.files, since_ns=began_ns) else rules

    def _made_by(self) -> str | None:
        """The builder's version that made the rows, "" while they are being made anew.

        `None` where rows and CocoIndex state do not belong together: one of them was lost.
        """
        known = self._store.source_state(self._source.name)
        if known is None or known.root != self._source.root:
            return None
        if self._state.is_empty and self._store.manifest(self._source.name):
            return None
        return known.chunker if known.state_id == self._state.paired_with else None

    def _begin_anew(self) -> None:
        """Begin with a CocoIndex state that knows no file, so that every file is written again.

        The rows stay until then: after a kill all of them are there, and the next pass goes on.
        """
        with suppress(Exception):  # its state may have been taken away under it
            self.close()
        self._state.clear()
        state_id = new_state_id()
        self._store.begin_source(self._source.name, root=self._source.root, state_id=state_id)
        self._state.pair(state_id)


def _stamps(manifest: Mapping[str, ManifestEntry]) -> dict[str, Stamp]:
    return {path: each.stamp for path, each in manifest.items()}


def differences(
    scan: Scan, manifest: Mapping[str, ManifestEntry], *, everything: bool
) -> Differences:
    """What `scan` found to be other than `manifest` has it; `everything` as if all had changed.

    Files that failed are tried again. A file is gone only where the scan could look for it.
    """
    found = {file.path: file for file in scan.files}
    changed = [file for file in scan.files if everything or _differs(file, manifest.get(file.path))]
    gone = [path for path in manifest if path not in found and scan.verifies_absence(path)]
    # The most recently saved first: that is what is being worked on. Of what was saved together,
    # by a checkout for example, small files first: most files are then found soonest.
    changed.sort(key=lambda file: (-(file.mtime_ns // SAVED_TOGETHER_NS), file.size))
    return Differences(changed, gone)


def _many(files: Sequence[SourceFile]) -> str:
    """A notice of how many `files` there are, and of the deepest folder that holds most of them."""
    told = f"{len(files):,} files to index, which takes minutes"
    inside = Counter(
        folder
        for file in files
        for at, letter in enumerate(file.path)
        if letter == "/" and (folder := file.path[:at])
    )
    folders = [folder for folder, count in inside.items() if count > MOST * len(files)]
    if not folders:
        return f"{told}; `memory-sidecar index --help` says how to leave folders out"
    folder = max(folders, key=len)
    exclude = quote(f"/{folder}/")
    return (
        f"{told}; {inside[folder]:,} of them lie in {folder}/:"
        f" `memory-sidecar index PATH --exclude {exclude}` leaves that out"
    )


def _differs(file: SourceFile, entry: ManifestEntry | None) -> bool:
    if entry is None or entry.status is FileStatus.FAILED or entry.stamp != file.stamp:
        return True
    # What was left out unread and now is let through has no fingerprint yet.
    return entry.reason != file.skip_reason if file.skip_reason else not entry.fingerprint


def require_rows_unneeded(
    source: Source, store: DerivedStore, changed: Collection[str] | None
) -> None:
    """Raises NotFound where files are indexed and none is left: their disk may not be mounted.

    The files that a caller says it `changed` may be gone, since it saw them there just now.
    """
    known = len(store.manifest(source.name))
    if changed is not None:
        known -= len(store.manifest(source.name, under=changed))
    if known:
        raise NotFound(
            f"{source.root} holds no files any more, but {known} are indexed",
            hint="mount its disk again, or, if they are gone for good, run "
            f"`memory-sidecar index --full` or `source remove {source.name}`",
        )
