"""A source file becomes a document: read, language, chunks, words, heads. Pure but for the reading.

Kept apart from the flow so that other processes can do it: see `code.workers`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memory_sidecar.chunking.chunk import CHUNKER_VERSION, parse_text
from memory_sidecar.code.names import FileNames
from memory_sidecar.core.language import detect_language
from memory_sidecar.core.model import Chunk, Document, FileStatus, Source, SourceFile
from memory_sidecar.disk.read import FileGone, ReadFailed, ReadSkipped, read_text
from memory_sidecar.index.document import (
    BuildError,
    FileVanished,
    fingerprint,
    skipped_document,
)
from memory_sidecar.index.words import index_words


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """What the keyword arm finds a chunk by, beside its path, as FTS5 is given it."""

    body: str
    symbols: str

    @classmethod
    def of(cls, chunk: Chunk) -> ChunkWords:
        return cls(body=index_words(chunk.code), symbols=index_words(" ".join(chunk.symbols)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDocument(Document):
    """A file as chunks, each with its words and its head, and as names; its builder draws them."""

    chunks: tuple[Chunk, ...] = ()
    words: tuple[ChunkWords, ...] = ()
    heads: tuple[str, ...] = ()
    names: FileNames = field(default_factory=FileNames)

    @property
    def embedded_texts(self) -> tuple[str, ...]:
        return self.heads


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
            language = detect_language(file.path, read.text)
            parsed = parse_text(read.text, language)
            chunks = parsed.chunks
            return CodeDocument(
                source=source.name,
                file=file,
                fingerprint=fingerprint(CHUNKER_VERSION, language, read.content_hash),
                language=language,
                status=FileStatus.INDEXED,
                chunks=chunks,
                words=tuple(map(ChunkWords.of, chunks)),
                heads=tuple(head_of(file.path, chunk) for chunk in chunks),
                names=FileNames.of(parsed),
            )


HEAD_CHARACTERS = 200  # 66 tokens of code in the mean; 5 % have more than 86
SIGNATURE_CHARACTERS = 80

_COMMENT = re.compile(r"(?:(?:#+|/?\*+|--+|;+|<!--)\s|//+[/!]?\s*|\"{3}|'{3})\s*(?=\w)")
_MARKS = tuple("#/*-;<\"'")  # which a comment begins with
_SAYS_SOMETHING = re.compile(r"\w")
_HAS_A_WORD = re.compile(r"[^\W\d_]{2}")  # a12/04.py has none


def head_of(path: str, chunk: Chunk) -> str:
    """The head of a `chunk` of the file at `path`, on a few lines."""
    comments, code = [], []
    room = HEAD_CHARACTERS  # for code; comments come before it, wherever they stand
    for line in chunk.code.splitlines():
        if room <= 0 and not line.lstrip().startswith(_MARKS):
            continue
        words = " ".join(line.split())
        if marker := _COMMENT.match(words):
            comments.append(words[marker.end() :])
        elif _SAYS_SOMETHING.search(words) and words.rstrip(" {:;,=(") not in chunk.signature:
            code.append(words)
            room -= len(words)
    lines = [
        path if _HAS_A_WORD.search(path.rpartition(".")[0] or path) else "",
        chunk.scope,
        chunk.signature[:SIGNATURE_CHARACTERS],
        " ".join(chunk.symbols) if len(chunk.symbols) > 1 else "",
        *comments,
        *code,
    ]
    return "\n".join(filter(None, lines))[:HEAD_CHARACTERS]
