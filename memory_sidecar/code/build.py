"""A source file becomes a document: read, language, chunks, words. Pure but for the reading.

Kept apart from the flow so that other processes can do it: see `code.workers`.
"""

from __future__ import annotations

from memory_sidecar.chunking.chunk import CHUNKER_VERSION, chunk_text
from memory_sidecar.chunking.language import detect_language
from memory_sidecar.code.head import head_of
from memory_sidecar.code.store import ChunkWords, CodeDocument
from memory_sidecar.core.model import Document, FileStatus, SourceFile
from memory_sidecar.disk.read import FileGone, ReadFailed, ReadSkipped, read_text
from memory_sidecar.disk.registry import Source
from memory_sidecar.index.document import (
    BuildError,
    FileVanished,
    fingerprint,
    skipped_document,
)


def build_document(source: Source, file: SourceFile, max_file_bytes: int) -> Document:
    """The document of `file`, whose name gives no reason to skip it.

    Raises BuildError where the disk refuses, to be tried again.
    """
    match read_text(source.root, file, max_file_bytes=max_file_bytes):
        case ReadSkipped(reason=reason):
            return skipped_document(source, file, reason, version=CHUNKER_VERSION)
        case ReadFailed(reason=reason):
            raise BuildError(reason)
        case FileGone():
            raise FileVanished("deleted while it was being indexed")
        case read:
            language = detect_language(file.path, read.text[:200])
            chunks = chunk_text(read.text, language)
            return CodeDocument(
                source=source.name,
                file=file,
                fingerprint=fingerprint(CHUNKER_VERSION, language, read.content_hash),
                language=language,
                status=FileStatus.INDEXED,
                chunks=chunks,
                words=tuple(map(ChunkWords.of, chunks)),
                heads=tuple(head_of(file.path, chunk) for chunk in chunks),
            )
