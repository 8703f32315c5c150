"""Disk → differences: what a scan found to be other than the rows say, if it is believed."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import FileStatus, SourceFile
from memory_sidecar.disk.registry import Source
from memory_sidecar.disk.rule_files import check_rules
from memory_sidecar.disk.walk import Scan, check_root
from memory_sidecar.index.derived import DerivedStore, ManifestEntry

SAVED_TOGETHER_NS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Look:
    """How much of a source a pass looks at, and how closely."""

    under: Collection[str] | None = None  # these paths alone, with what lies below them
    # These were there just now, as the caller knows, so that they are believed to be gone.
    changed: Collection[str] | None = None
    full: bool = False  # every file is read again, and a root without any file is believed
    # Quicker; may miss what rules from outside of the source have come to ignore or let through.
    recheck: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """Files of one source to be built, the first of them first, and paths to be forgotten."""

    changed: Sequence[SourceFile]
    gone: Sequence[str]

    def __len__(self) -> int:
        return len(self.changed) + len(self.gone)


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


def _differs(file: SourceFile, entry: ManifestEntry | None) -> bool:
    if entry is None or entry.status is FileStatus.FAILED or entry.stamp != file.stamp:
        return True
    # What was left out unread and now is let through has no fingerprint yet.
    return entry.reason != file.skip_reason if file.skip_reason else not entry.fingerprint


def require_root_is_itself(source: Source) -> None:
    """A link in the place of the root, or above it, leads to files that were not registered."""
    root = os.fspath(source.root)
    if (real := os.path.realpath(root)) != root:
        raise PathRefused(
            f"{root} is a link to {real} now",
            hint=f"bring the folder back, or `memory-sidecar source remove {source.name}`",
        )


def problem_of(source: Source) -> str:
    """Why no scan of `source` would begin, as far as its root tells; "" where one would."""
    root = os.fspath(source.root)
    try:
        require_root_is_itself(source)
        check_root(root)
        check_rules(root, root)
    except (NotFound, PathRefused) as error:
        return error.message
    return ""


def require_rows_unneeded(
    source: Source, store: DerivedStore, changed: Collection[str] | None
) -> None:
    """A mount point without its disk is an empty folder: that is no reason to forget files.

    Those that the caller says `changed` may be gone: it knows that they were there just now.
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
