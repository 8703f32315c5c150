"""Scans a source of code and builds its documents, for the passes of `index.source`.

Where a team shares the source, the local database holds what differs from the team's: if the team
has a file with the same content, only its names are stored here, not its chunks. So the fingerprint
column of a file tracks three things, separated by spaces: the fingerprint of its content, the
team's fingerprint at its path ("-" for none), and the generation of the team's rows when they were
read. When one of them changes, the file is written again.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

from memory_sidecar.chunking.lines import CHUNKER_VERSION
from memory_sidecar.code.document import CodeDocument, build_document
from memory_sidecar.code.history import update_history
from memory_sidecar.code.results import Published
from memory_sidecar.code.store import CodeStore
from memory_sidecar.code.workers import GROUP_BYTES, Workers
from memory_sidecar.core import reasons
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.model import Document, FileStatus, Scan, Source, SourceFile, Stamp
from memory_sidecar.core.opening import real_path
from memory_sidecar.core.process import available_cores
from memory_sidecar.core.settings import Settings, narrow_settings, narrowing_problem
from memory_sidecar.disk.ignores import check_excludes, valid_excludes
from memory_sidecar.disk.repository import commits_around
from memory_sidecar.disk.rule_files import rules_elsewhere
from memory_sidecar.disk.ruling import EXCLUDE, OWN_FOLDER, SETTING, Excludes
from memory_sidecar.disk.walk import walk
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.writing import ReadyVectors

WORTH_BYTES = 3 << 19  # worth one more process: starting one takes as long as building .5 MB
FILE_BYTES = 4 << 10  # the fixed cost of a file, as the text that takes as long to build
MAX_PROCESSES = 4  # 50 to 65 MB each; the writing process cannot keep more of them busy

_processes = threading.RLock()
"""Held by the one thread that has worker processes; others build without them and do not wait."""


_GLOB_SYNTAX = re.compile(r"[\\*?\[\]{}!]")


class SharedSource(Protocol):
    """A source whose index a team shares; `team.source` implements it."""

    @property
    def generation(self) -> int:
        """The team's count of changes to its rows when `fingerprints` last read them."""

    @property
    def has_moved_on(self) -> bool:
        """Whether a search has seen another version of the team's rows than `fingerprints` read."""

    def fingerprints(self, *, anew: bool = False) -> Mapping[str, str] | None:
        """Return the fingerprints of all files that the team has, by path; `None` while unknown.

        They may be cached for a moment unless `anew`.
        """

    def put(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: ReadyVectors
    ) -> Sequence[Document]:
        """Write to the team if this machine indexes for it; return the documents to write here."""

    def counts_at(self, path: str) -> VectorCounts:
        """Count the team's chunks of a file, and its vectors. Raises DatabaseError and NoIndex."""

    def catch_up(self, store: CodeStore) -> None:
        """Write to the team what could not be written before, if this machine indexes for it."""

    @property
    def problem(self) -> str:
        """Why the last write to the team failed; "" if it did not."""

    def claim(self, *, by_force: bool) -> bool:
        """Make this machine the indexer of the branch that is checked out, new to the team or not.

        `by_force` takes over from another machine. Returns whether all vectors there have to be
        made again, because another model made them. Raises UsageError without a branch,
        DatabaseError and Conflict.
        """

    def give(self, store: CodeStore) -> Published:
        """Make the team's rows those of this machine: move rows with their vectors to the team.

        If the team now has another version of a file whose rows were moved before, the next pass
        has to read that file again. After a scan of everything, files absent here are deleted
        there. Raises DatabaseError and Conflict.
        """


def unusable_excludes(source: Source, settings: Settings) -> list[str]:
    """Say which excludes of `settings` and of the source's own file cannot be used, and why."""
    problems = [narrowing_problem(source.root)]
    for glob in narrow_settings(source.root, settings).excludes:
        try:
            check_excludes((glob,))
        except UsageError as error:
            problems.append(error.message)
    return [f"{source.name} is indexed without an exclude: {each}" for each in problems if each]


def worth_processes(files: Sequence[SourceFile]) -> int:
    """Return how many processes to build `files` with; 0 if this one is as fast."""
    work = sum(FILE_BYTES + min(file.size, GROUP_BYTES) for file in files)
    return min(available_cores(), MAX_PROCESSES, work // WORTH_BYTES)


class CodeBuilder:
    """Implements `index.document.Builder`; worker processes build if there are many files."""

    version = CHUNKER_VERSION
    trusts_empty_root = False  # a mount point without its disk is an empty folder

    def __init__(
        self,
        source: Source,
        *,
        settings: Settings,
        own: Iterable[Path] = (),
        shared_by: Callable[[Source], SharedSource | None] | None = None,
    ) -> None:
        """`own`: files of ours, never indexed. `shared_by` finds the source at the team."""
        self._source = source
        self._own_globs = _own_globs(source.root, own)
        self.shared = shared_by(source) if shared_by is not None else None
        self._settings = settings
        self._max_file_bytes = settings.max_file_bytes  # less where the source says so
        self._workers: Workers | None = None

    @property
    def is_isolated(self) -> bool:
        return self._workers is not None

    def excludes(self) -> Excludes:
        """Return the globs that a scan excludes now, and by what."""
        return self._excludes_by(narrow_settings(self._source.root, self._settings))

    def _excludes_by(self, narrowed: Settings) -> Excludes:
        return {
            EXCLUDE: self._source.excludes,
            OWN_FOLDER: self._own_globs,
            SETTING: valid_excludes(narrowed.excludes),
        }

    def outer_rules_digest(self, folders: Collection[str]) -> str:
        return rules_elsewhere(
            os.fspath(self._source.root), folders, chain.from_iterable(self.excludes().values())
        )

    def outer_state(self) -> str:
        return f"{self.outer_rules_digest(())} {commits_around(self._source.root)}"

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        narrowed = narrow_settings(self._source.root, self._settings)
        self._max_file_bytes = narrowed.max_file_bytes
        return walk(
            self._source.root,
            max_file_bytes=narrowed.max_file_bytes,
            excludes=tuple(chain.from_iterable(self._excludes_by(narrowed).values())),
            under=under,
            known=known,
        )

    @contextmanager
    def preparing_to_build(self, files: Sequence[SourceFile]) -> Iterator[None]:
        outer = self._workers  # of an outer pass in which this one runs, if any
        processes = worth_processes(files)
        is_worth = processes > 0 and _processes.acquire(blocking=False)
        self._workers = None
        try:
            if is_worth:
                self._workers = Workers(
                    self._source, files, max_file_bytes=self._max_file_bytes, processes=processes
                )
            yield
        finally:
            if self._workers is not None:
                self._workers.close()
            self._workers = outer
            if is_worth:
                _processes.release()

    def build(self, file: SourceFile) -> Document:
        if self._workers is not None:
            document = self._workers.build(file)
        else:
            document = build_document(self._source, file, self._max_file_bytes)
        theirs = self.shared.fingerprints() if self.shared else None
        if self.shared is None or theirs is None:
            return document
        return track_with_team(document, theirs.get(file.path, ""), self.shared.generation)

    def outdated_paths(self, manifest: Mapping[str, ManifestEntry]) -> Collection[str]:
        # The scan compares file sizes; only reading a notebook shows how large its text is.
        limit = self._max_file_bytes
        outdated = [
            path
            for path, entry in manifest.items()
            if entry.reason.startswith(reasons.TOO_LARGE) or _is_cut_to(limit, entry)
            if entry.reason not in (reasons.larger_than(limit), reasons.fits_without_outputs(limit))
        ]
        theirs = self.shared.fingerprints(anew=True) if self.shared else {}
        return outdated if theirs is None else [*outdated, *outdated_paths(manifest, theirs)]

    def has_rows_of(self, stored: str, made: str) -> bool:
        # The team's fingerprint may differ, unless chunks that were left out are needed here now.
        is_same = split_tracked(stored)[0] == split_tracked(made)[0]
        return is_same and is_left_out(stored) <= is_left_out(made)

    def hand_to_team(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: ReadyVectors
    ) -> Sequence[Document]:
        return self.shared.put(documents, gone, at_hand) if self.shared else documents

    def finish(self, store: DerivedStore) -> None:
        update_history(self._source, store)
        if self.shared is not None and isinstance(store, CodeStore):
            self.shared.catch_up(store)


def _is_cut_to(limit: int, entry: ManifestEntry) -> bool:
    """Whether a file is indexed though it is larger than `limit`, as notebooks may be."""
    size, _, _ = entry.stamp
    is_indexed = entry.status is FileStatus.INDEXED and entry.reason != reasons.ASKED_FOR
    return is_indexed and size > limit


def _own_globs(root: Path, own: Iterable[Path]) -> tuple[str, ...]:
    """Return globs for `own` files below `root`: indexing them would change them, and never end."""
    real = [Path(real_path(path)) for path in own]
    inside = [path.relative_to(root) for path in real if root in path.parents]
    return tuple("/" + _GLOB_SYNTAX.sub(r"\\\g<0>", path.as_posix()) for path in inside)


_NOT_AT_TEAM = "-"  # in place of the team's fingerprint


def split_tracked(tracked: str) -> tuple[str, str]:
    """Return the fingerprints of the content here and at the team, "" for none there."""
    own, theirs, *_ = *tracked.split(" "), ""
    return own, "" if theirs == _NOT_AT_TEAM else theirs


def is_left_out(tracked: str) -> bool:
    """Whether the team has the same content, so that no chunks are stored here."""
    own, theirs = split_tracked(tracked)
    return bool(own) and own == theirs


def track_with_team(document: Document, theirs: str, generation: int) -> Document:
    """Return `document` as it is stored here, where the team has the fingerprint `theirs`."""
    own, _ = split_tracked(document.fingerprint)
    if own == theirs and isinstance(document, CodeDocument):
        document = replace(document, chunks=(), found=())
    return replace(document, fingerprint=f"{own} {theirs or _NOT_AT_TEAM} {generation}")


def track_left_out(own: str) -> str:
    """Return what to track of a file with this fingerprint, whose chunks were moved to the team."""
    return f"{own} {own}"


def outdated_paths(
    manifest: Mapping[str, ManifestEntry], theirs: Mapping[str, str]
) -> Collection[str]:
    """Return the files that were written here when the team had another version than now."""
    return [
        path
        for path, entry in manifest.items()
        if entry.fingerprint and split_tracked(entry.fingerprint)[1] != theirs.get(path, "")
    ]
