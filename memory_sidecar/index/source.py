"""One pass over a source, of whatever kind of files:

    scan ──▶ compare with the manifest ──▶ differences ──▶ apply

The manifest is what the database knows of each file. Events are hints: whatever caused the pass,
its scan decides what changed.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from shlex import quote

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import NotFound
from memory_sidecar.core.model import FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.core.results import Reporter
from memory_sidecar.disk.roots import has_files, require_root_is_itself
from memory_sidecar.disk.rule_files import folders_of, rules_above
from memory_sidecar.disk.walk import were_rules_written
from memory_sidecar.index.apply import Applier
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.document import Builder, Differences
from memory_sidecar.index.engine_state import StateBroken
from memory_sidecar.index.running import Progress

SAVED_TOGETHER_NS = 60 * 10**9
MANY_FILES = 50_000  # take minutes on two processors; most projects have fewer of their own
MOST = 0.5  # a folder with a larger share of many files is worth naming

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ScanScope:
    """Which part of a source a pass scans, and how much it trusts what it knows already."""

    under: Collection[str] | None = None  # scan only these paths and what lies below; None: all
    full: bool = False  # read unchanged files again, and accept that a root has no files any more
    # Paths that the caller has just seen: where one is missing now, its file is gone, rather than
    # its disk not mounted.
    seen: Collection[str] | None = None

    def widened(self) -> ScanScope:
        """Return the scope of the whole source; the paths of this one count as seen."""
        return replace(self, under=None, seen=self.seen or self.under)


@dataclass(frozen=True, slots=True)
class PassResult:
    """What one pass over a source did."""

    folders: tuple[str, ...]  # scanned, relative to the root: the ones to watch
    files_total: int
    files_processed: int
    files_failed: int
    files_deleted: int
    chunks_indexed: int
    chunks_deleted: int
    unreadable: tuple[str, ...]  # folders whose files were left as they were
    rules_around: str | None  # what `_rules_around` returned; None: it changed during the scan


def pass_over(
    applier: Applier, scope: ScanScope, progress: Progress, reporter: Reporter
) -> PassResult:
    """Scan the source of `applier` and index what changed; returns when it is committed.

    May be called again between two slices of a running pass. Both share what is to be done: an
    inner pass over the whole source leaves the outer one nothing. Raises NotFound if the root is
    missing or has lost every file, PathRefused if it cannot be read; the rows stay then. Raises
    Stopped after `stop`; what was committed stays.
    """
    try:
        return _attempt(applier, scope, progress, reporter)
    except StateBroken as broken:
        applier.close()
        text = f"the state of {applier.source.name} is broken ({broken}): rebuilding it"
        _log.warning("%s", text)
        applier.state.clear()
        reporter.notice(text)
        return _attempt(applier, scope.widened(), progress, reporter)


def _attempt(
    applier: Applier, scope: ScanScope, progress: Progress, reporter: Reporter
) -> PassResult:
    source, builder, store = applier.source, applier.builder, applier.store
    require_root_is_itself(source)
    version, is_within = builder.version, applier.is_running
    made_by = _made_by(applier)
    if made_by != version and not is_within:
        scope = scope.widened()  # a part would leave the rows of an older builder in the rest
    under = scope.under
    manifest = store.manifest(source.name, under=under)
    around = _rules_around(builder)
    scan, rules = _scan(applier, scope, manifest)
    is_settled = _rules_around(builder) == around
    if under is None and not (scan.files or scope.full or builder.trusts_empty_root):
        require_rows_unneeded(source, store, scope.seen)
    if made_by is None or (made_by != version and not is_within):
        _begin_anew(applier, made_by, reporter)
    for path in builder.outdated_paths(manifest):
        manifest[path] = replace(manifest[path], fingerprint="")
    found = differences(scan, manifest, everything=scope.full or made_by != version)
    if len(found.changed) >= MANY_FILES and not manifest:
        reporter.notice(_many_files_notice(found.changed))
    before, latest = copy(applier.totals), applier.latest
    applier.apply(found, scan, progress, is_whole=under is None)
    if under is None and applier.latest is not latest and applier.latest is not None:
        scan = applier.latest  # by an inner pass, which has noted its end
    elif under is None:
        store.end_scan(source.name, chunker=version, rules=rules)
        builder.finish(store)
        applier.latest = scan
    return PassResult(
        folders=scan.folders,
        files_total=len(scan.files),
        files_processed=applier.totals.files - before.files,
        files_failed=sum(file.path in applier.failed for file in found.changed),
        files_deleted=applier.totals.files_deleted - before.files_deleted,
        chunks_indexed=applier.totals.chunks_indexed - before.chunks_indexed,
        chunks_deleted=applier.totals.chunks_deleted - before.chunks_deleted,
        unreadable=scan.unreadable,
        rules_around=around if is_settled else None,
    )


def _rules_around(builder: Builder) -> str:
    """Return that part of the `outer_rules_digest` which does not depend on folders inside."""
    return builder.outer_rules_digest(()).partition(" ")[0]


def _scan(
    applier: Applier, scope: ScanScope, manifest: Mapping[str, ManifestEntry]
) -> tuple[Scan, str]:
    """Scan the source within `scope`; return the scan and `outer_rules_digest`.

    The digest is "" for a part of the source. It is "", too, if ignore rules were written during
    the scan, so that the next scan does not rely on this one.
    """
    source, builder, store, under = applier.source, applier.builder, applier.store, scope.under
    before = store.rules_of(source.name)
    if under is not None:
        rules, known = builder.outer_rules_digest(()), None
        if rules and rules.partition(" ")[0] == before.partition(" ")[0]:
            above = store.manifest(source.name, under=rules_above(under))
            known = _stamps({**manifest, **above})
        return builder.scan(under, known=known), ""
    began_ns = time.time_ns()
    rules = builder.outer_rules_digest(folders_of(manifest))
    if rules and not scope.full and rules == before:
        scan = builder.scan(None, known=_stamps(manifest))
    else:
        scan, around = builder.scan(None), rules.partition(" ")[0]
        rules = builder.outer_rules_digest(folders_of(file.path for file in scan.files))
        if rules.partition(" ")[0] != around:
            rules = ""
    return scan, "" if were_rules_written(scan.files, since_ns=began_ns) else rules


def _made_by(applier: Applier) -> str | None:
    """Return the version of the builder that made the rows, "" while all are being rebuilt.

    None where the rows and the CocoIndex state do not belong together, as one of them was lost.
    """
    source, store, state = applier.source, applier.store, applier.state
    known = store.source_state(source.name)
    if known is None or known.root != source.root:
        return None
    if state.is_empty and store.manifest(source.name):
        return None
    return known.chunker if known.state_id == state.paired_with else None


def _begin_anew(applier: Applier, made_by: str | None, reporter: Reporter) -> None:
    """Note that the rows of every file are to be written again, whatever may interrupt this pass.

    Else a later pass of builder version `made_by` would take the rows of this pass for its own.
    With None, CocoIndex's state does not belong to the rows, and an empty one is begun.
    """
    source, version, state = applier.source, applier.builder.version, applier.state
    state_id = state.paired_with
    if made_by is None:
        with suppress(Exception):  # the state may have been deleted while it was open
            applier.close()
        state.clear()
        state_id = secrets.token_hex(16)
    elif made_by:
        text = f"rebuilding {source.name}, which another version indexed"
        _log.info("%s (%s, this one is %s)", text, made_by, version)
        reporter.notice(text)
    applier.store.begin_source(source.name, root=source.root, state_id=state_id, chunker=version)
    if made_by is None:
        state.pair(state_id)


def _stamps(manifest: Mapping[str, ManifestEntry]) -> dict[str, Stamp]:
    return {path: each.stamp for path, each in manifest.items()}


def differences(
    scan: Scan, manifest: Mapping[str, ManifestEntry], *, everything: bool
) -> Differences:
    """Return how `scan` differs from `manifest`; with `everything`, count all files as changed.

    Files that failed before count as changed. A file is gone only if the scan could look for it.
    """
    found = {file.path: file for file in scan.files}
    changed = [file for file in scan.files if everything or _differs(file, manifest.get(file.path))]
    gone = [path for path in manifest if path not in found and scan.verifies_absence(path)]
    # The most recently saved files first, as the user works on them. Among files that were saved
    # together, by a checkout for example, small ones first, so that most files are found soon.
    changed.sort(key=lambda file: (-(file.mtime_ns // SAVED_TOGETHER_NS), file.size))
    return Differences(changed, gone)


def _many_files_notice(files: Sequence[SourceFile]) -> str:
    """Return a notice with the number of `files` and the deepest folder that holds most of them."""
    count = f"{len(files):,} files to index, which takes minutes"
    inside = Counter(
        folder
        for file in files
        for at, letter in enumerate(file.path)
        if letter == "/" and (folder := file.path[:at])
    )
    folders = [folder for folder, count in inside.items() if count > MOST * len(files)]
    if not folders:
        return f"{count}; `memory-sidecar index --help` says how to leave folders out"
    folder = max(folders, key=len)
    exclude = quote(f"/{folder}/")
    return (
        f"{count}; {inside[folder]:,} of them lie in {folder}/:"
        f" `memory-sidecar index PATH --exclude {exclude}` leaves that out"
    )


def _differs(file: SourceFile, entry: ManifestEntry | None) -> bool:
    if entry is None or entry.status is FileStatus.FAILED or entry.stamp != file.stamp:
        return True
    if file.skip_reason:
        return entry.reason != file.skip_reason
    if not entry.fingerprint:  # it was skipped unread, and no longer is
        return True
    # An exclude such as `!.env` may be new, or gone: it asks for a file with a key in it.
    was_asked_for = entry.reason == reasons.ASKED_FOR
    is_concerned = entry.status is FileStatus.INDEXED or entry.reason == reasons.SECRETS
    return is_concerned and file.is_asked_for != was_asked_for


def require_rows_unneeded(
    source: Source, store: DerivedStore, seen: Collection[str] | None
) -> None:
    """Raise NotFound if `source` has indexed files, but its root has none, not even ignored ones.

    Files at or below the paths `seen`, which the caller has just seen, may be gone.
    """
    if has_files(source.root):
        return
    known = len(store.manifest(source.name))
    if seen is not None:
        known -= len(store.manifest(source.name, under=seen))
    if known:
        raise NotFound(
            f"{source.root} holds no files any more, but {known} are indexed",
            hint="mount its disk again, `memory-sidecar source move` it or, if they are gone for "
            f"good, run `memory-sidecar index --full` or `source remove {source.name}`",
        )
