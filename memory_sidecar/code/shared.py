"""What code asks of a team: which files it has in common, and to take what is new.

A local database holds what differs from the team's: a file that the team has, with the same
content, keeps its names here and leaves its chunks out. So what is tracked of a file is the
fingerprint of its own content, the one that the team has at its path, and when that was looked at:
whatever changes, the file is written again.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.searched import LocalRows, Searched
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.model import CodeFilter, Document
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.derived import DerivedStore, ManifestEntry
from memory_sidecar.index.models import Models
from memory_sidecar.index.report import VectorCounts
from memory_sidecar.index.reporter import Reporter
from memory_sidecar.index.writing import AtHand


@dataclass(frozen=True, slots=True)
class Given:
    """What went up to the team."""

    files: int
    chunks: int
    deleted: int  # files that are not here any more


class SharedSource(Protocol):
    """A source that the team has, too."""

    @property
    def generation(self) -> int:
        """How often the team's rows had been changed when `fingerprints` was read."""

    @property
    def has_moved_on(self) -> bool:
        """Whether a search has seen a later generation."""

    def fingerprints(self, *, anew: bool = False) -> Mapping[str, str] | None:
        """Of the content of each file that the team has, by path; `None` while that is unknown.

        As of a moment ago, unless `anew`.
        """

    def put(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: AtHand
    ) -> Sequence[Document]:
        """Give `documents` to the team, if this machine may; returns what is to be written here."""

    def counts_at(self, path: str) -> VectorCounts:
        """Of the chunks that the team has of a file. Raises DatabaseError and NoIndex."""

    def catch_up(self, store: CodeStore) -> None:
        """Give the team what could not be given before, if this machine may."""

    def give(self, store: CodeStore, *, by_force: bool) -> Given:
        """Make what the team has what is here: rows go up with their vectors, and leave here.

        A file of which the team has another version than when its rows left stays as it is: the
        next pass reads it again. What is absent here is deleted there after a scan of everything.
        `by_force` where another machine indexes it. Raises DatabaseError and Conflict.
        """


class Team(Protocol):
    """A team's code."""

    def begin(self, source: Source, reporter: Reporter) -> bool:
        """Whether the team had nothing of `source`, and has this machine index it from now on."""

    def source(self, source: Source) -> SharedSource | None:
        """`source` as the team has it; `None` where it is of no repository."""

    def searching(
        self,
        local: LocalRows,
        sources: Sequence[Source],
        wanted: CodeFilter,
        reporter: Reporter,
    ) -> AbstractContextManager[Searched | None]:
        """What the team has of `sources`, with `local` laid over it; `None` where it has nothing.

        Says by notice where the team's database does not answer.
        """

    def embed(
        self,
        store: DerivedStore,
        models: Models,
        parts: Collection[tuple[str, str]] | None,
        *,
        stop: threading.Event,
    ) -> Iterator[tuple[int, int]]:
        """As `embed_pending`, and what this machine indexes for the team."""


_NOTHING = "-"  # is what the team has at that path


def halves(tracked: str) -> tuple[str, str]:
    """Of what is tracked: the content's own fingerprint, and the team's, "" for none."""
    own, theirs, *_ = *tracked.split(" "), ""
    return own, "" if theirs == _NOTHING else theirs


def is_left_out(tracked: str) -> bool:
    """Whether the team has the same."""
    own, theirs = halves(tracked)
    return bool(own) and own == theirs


def beside(document: Document, theirs: str, generation: int) -> Document:
    """`document`, of which the team has the fingerprint `theirs`, as it is kept here."""
    own, _ = halves(document.fingerprint)
    if own == theirs and isinstance(document, CodeDocument):
        document = replace(document, chunks=(), words=(), heads=())
    return replace(document, fingerprint=f"{own} {theirs or _NOTHING} {generation}")


def out_of_step(
    manifest: Mapping[str, ManifestEntry], theirs: Mapping[str, str]
) -> Collection[str]:
    """The files that were written beside another version of the team's than it has now."""
    return [
        path
        for path, entry in manifest.items()
        if entry.fingerprint and halves(entry.fingerprint)[1] != theirs.get(path, "")
    ]
