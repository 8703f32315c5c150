"""What every kind of document has in common, however its file is built."""

from __future__ import annotations

import hashlib

from memory_sidecar.core.model import Document, FileStatus, SourceFile
from memory_sidecar.disk.registry import Source


class BuildError(Exception):
    """A file could not be built. What was written for it before stays; the text is one line."""


class BuildCrashed(BuildError):
    """Building this file ended the process that did it."""


class FileVanished(BuildError):
    """It was deleted since it was listed. The next scan finds it gone."""


class Stopped(BuildError):
    """It was left as it is, because the pass was ended early."""


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

    The model is not in it: vectors follow on their own (`DerivedStore.adopt_model`), so that
    another model embeds again and builds nothing again.
    """
    return hashlib.sha256("\0".join((version, *content)).encode()).hexdigest()
