"""A file of a project as it is built: chunks with their words and heads, and names."""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_sidecar.code.names import FileNames
from memory_sidecar.core.model import Chunk, Document
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
