"""How files become documents, which of them, and what every kind of document has in common."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memory_sidecar.core.model import Document, FileStatus, Source, SourceFile, Stamp
from memory_sidecar.core.opening import FileRefused

if TYPE_CHECKING:
    from memory_sidecar.core.model import Scan
    from memory_sidecar.index.derived import DerivedStore, ManifestEntry
    from memory_sidecar.index.writing import AtHand


class Builder(Protocol):
    """How the files of one source become documents. Its defaults build each file by itself."""

    believes_empty: bool  # else a root without any file is taken for a disk that is not mounted

    @property
    def version(self) -> str:
        """Changes with whatever decides a document's rows; then every file is built again."""

    @property
    def is_isolated(self) -> bool:
        """Whether a crash while building would end another process than this one."""
        return False

    def rules_elsewhere(self, folders: Collection[str]) -> str:
        """A digest of the ignore rules that lie outside of the source's own rule files.

        `folders` are those of the source, some of which may be repositories. "" where a scan must
        trust nothing of an earlier one.
        """
        del folders
        return ""

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        """What is on disk, or the part of it at and below the paths `under`.

        `known`, the stamps of an earlier scan with the same `rules_elsewhere`, may be trusted if
        that saves time.
        """

    def preparing(self, files: Sequence[SourceFile]) -> AbstractContextManager[None]:
        """Around the building of all of `files`."""
        del files
        return nullcontext()

    def outdated(self, manifest: Mapping[str, ManifestEntry]) -> Collection[str]:
        """Paths in `manifest` that are to be built again even if their files did not change."""
        del manifest
        return ()

    def handed_on(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: AtHand
    ) -> Sequence[Document]:
        """Give `documents`, and the paths that are `gone`, to a team before they are written.

        Returns what is to be written here.
        """
        del gone, at_hand
        return documents

    def finish(self, store: DerivedStore) -> None:
        """Called at the end of a pass over the whole source, for rows that come of no file."""
        del store

    def build(self, file: SourceFile) -> Document:
        """Called from several threads. Raises BuildError where the disk refuses."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Files of one source to be built, the first of them first, and paths to be forgotten."""

    changed: Sequence[SourceFile]
    gone: Sequence[str]

    def __len__(self) -> int:
        return len(self.changed) + len(self.gone)


class BuildError(Exception):
    """A file could not be built. What was written for it before stays; the text is one line."""


class BuildCrashed(BuildError):
    """Building this file ended the process that did it."""


class FileVanished(BuildError):
    """The file was deleted since it was listed. The next scan finds it gone."""


class Stopped(BuildError):
    """Work was left undone because its pass, or its database, was ended early."""


class SourceGone(Stopped):
    """What was to be indexed is no source any more."""


@contextmanager
def build_errors() -> Iterator[None]:
    """Turn what the disk says while a file is read into BuildError and FileVanished.

    A FileRefused, which will not change by itself, passes.
    """
    try:
        yield
    except FileRefused:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileVanished("deleted while it was being indexed") from error
    except OSError as error:
        raise BuildError(error.strerror or str(error)) from error


def skipped_document(source: Source, file: SourceFile, reason: str, *, version: str) -> Document:
    """The document of a file that is left out on purpose."""
    return Document(
        source=source.name,
        file=file,
        fingerprint=fingerprint(version, "skipped", reason),
        language="",
        status=FileStatus.SKIPPED,
        reason=reason,
    )


def fingerprint(version: str, *content: str) -> str:
    """Covers what decides a document's rows; `version` is that of the code which makes them.

    The model is not in it: vectors follow on their own (`embed.adopt_model`), so that
    another model embeds again and builds nothing again.
    """
    return hashlib.sha256("\0".join((version, *content)).encode()).hexdigest()
