"""One file becomes a document: read, language, chunks, words. Pure but for the reading.

Kept apart from the flow so that other processes can do it: see `flows.workers`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from memory_sidecar.chunking.chunk import CHUNKER_VERSION, chunk_text
from memory_sidecar.chunking.language import detect_language
from memory_sidecar.model import Document, FileStatus, SourceFile
from memory_sidecar.sources.read import FileGone, ReadFailed, ReadSkipped, read_text
from memory_sidecar.sources.registry import Source
from memory_sidecar.store.keyword import ChunkWords


class BuildError(Exception):
    """A file could not be built. What was written for it before stays; the text is one line."""


class FileVanished(BuildError):
    """It was deleted since it was listed. The next scan finds it gone."""


@dataclass(frozen=True, slots=True)
class BuiltDocument:
    """A document, and the words of each of its chunks."""

    document: Document
    words: tuple[ChunkWords, ...] = ()


def build_document(source: Source, file: SourceFile, max_file_bytes: int) -> BuiltDocument:
    """The document of `file`, whose name gives no reason to skip it.

    Raises BuildError where the disk refuses, to be tried again.
    """
    match read_text(source.root, file, max_file_bytes=max_file_bytes):
        case ReadSkipped(reason=reason):
            return skipped_document(source, file, reason)
        case ReadFailed(reason=reason):
            raise BuildError(reason)
        case FileGone():
            raise FileVanished("deleted while it was being indexed")
        case read:
            language = detect_language(file.path, read.text[:200])
            document = Document(
                source=source.name,
                file=file,
                fingerprint=_fingerprint(language, read.content_hash),
                language=language,
                status=FileStatus.INDEXED,
                chunks=chunk_text(read.text, language),
            )
            return BuiltDocument(document, tuple(map(ChunkWords.of, document.chunks)))


def skipped_document(source: Source, file: SourceFile, reason: str) -> BuiltDocument:
    """The document of a file that is left out on purpose."""
    return BuiltDocument(
        Document(
            source=source.name,
            file=file,
            fingerprint=_fingerprint("skipped", reason),
            language="",
            status=FileStatus.SKIPPED,
            reason=reason,
        )
    )


def _fingerprint(kind: str, content: str) -> str:
    """Covers what decides a document's rows.

    The model is not in it: vectors follow on their own (`CodeStore.adopt_model`), so that another
    model embeds again and chunks nothing again.
    """
    return hashlib.sha256(f"{CHUNKER_VERSION}\0{kind}\0{content}".encode()).hexdigest()
