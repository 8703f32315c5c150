"""The interface of a builder, which makes documents of files, and the errors of building."""

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
    from memory_sidecar.index.writing import ReadyVectors


class Builder(Protocol):
    """Makes documents of the files of one source; one class for each kind of database.

    The defaults suit a builder that builds each file in this process.
    """

    version: str  # of all that decides a document's rows; when it changes, all files are rebuilt
    trusts_empty_root: bool  # else a root without any file is taken for a disk that is not mounted

    @property
    def is_isolated(self) -> bool:
        """Whether files are built in other processes, so that a crash does not end this one."""
        return False

    def outer_rules_digest(self, folders: Collection[str]) -> str:
        """Return a digest of the ignore rules that are not in rule files of the source itself.

        `folders` are those of the source, some of which may be repositories. "" means that a scan
        must not rely on an earlier one.
        """
        del folders
        return ""

    def outer_state(self) -> str:
        """Return a text whose change makes a whole pass due although no file has changed."""
        return self.outer_rules_digest(())

    def scan(
        self, under: Collection[str] | None, *, known: Mapping[str, Stamp] | None = None
    ) -> Scan:
        """List the files on disk, all or those at and below the paths `under`.

        `known` are the stamps of an earlier scan with the same `outer_rules_digest`: what was not
        ignored then may be taken for not ignored now.
        """

    def preparing_to_build(self, files: Sequence[SourceFile]) -> AbstractContextManager[None]:
        """Open what is needed to build `files`, such as processes, for the block."""
        del files
        return nullcontext()

    def outdated_paths(self, manifest: Mapping[str, ManifestEntry]) -> Collection[str]:
        """Return the paths in `manifest` to build again although their files did not change."""
        del manifest
        return ()

    def has_rows_of(self, stored: str, made: str) -> bool:
        """Whether a file with the fingerprint `stored` has the rows of a document with `made`."""
        return stored == made

    def hand_to_team(
        self, documents: Sequence[Document], gone: Collection[str], at_hand: ReadyVectors
    ) -> Sequence[Document]:
        """Give `documents` and the paths that are `gone` to the team, if there is one.

        Returns the documents that are to be written to the local database.
        """
        del gone, at_hand
        return documents

    def finish(self, store: DerivedStore) -> None:
        """Write rows that no file has, such as commits, after a pass over the whole source."""
        del store

    def build(self, file: SourceFile) -> Document:
        """Build the document of `file`; called from several threads. Raises BuildError."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What a scan found to do: files to build, in that order, and paths whose rows to delete."""

    changed: Sequence[SourceFile]
    gone: Sequence[str]

    def __len__(self) -> int:
        return len(self.changed) + len(self.gone)


class BuildError(Exception):
    """A file could not be built; its earlier rows stay. The message is one line."""


class BuildCrashed(BuildError):
    """Building the file crashed the process that was building it."""


class FileVanished(BuildError):
    """The file was deleted after the scan; the next scan finds it gone."""


class Stopped(BuildError):
    """Work was left undone because its pass, or its database, was ended early."""


class SourceGone(Stopped):
    """The source was removed or moved before the pass over it."""


@contextmanager
def build_errors() -> Iterator[None]:
    """Turn an OSError of the block, which reads a file, into BuildError or FileVanished.

    FileRefused, which a retry does not change, passes through.
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
    """Return the document of a file that is skipped for `reason`."""
    return Document(
        source=source.name,
        file=file,
        fingerprint=fingerprint(version, "skipped", reason),
        language="",
        status=FileStatus.SKIPPED,
        reason=reason,
    )


def fingerprint(version: str, *content: str) -> str:
    """Return a hash over all that decides a document's rows; `version` is the builder's.

    The model is left out: `embed.adopt_model` queues the rows for another model, so that they are
    embedded again, but not built again.
    """
    return hashlib.sha256("\0".join((version, *content)).encode()).hexdigest()
