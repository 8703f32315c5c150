"""A document's text as chunks, each kind of document cut where it is cut itself.

Whatever the text is, the chunks are whole lines in order that together hold every line that is
not blank, and none begins or ends with a blank line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from memory_sidecar.chunking.code import chunk_code
from memory_sidecar.chunking.lines import Lines
from memory_sidecar.chunking.outline import Outline, has_outline, outline
from memory_sidecar.chunking.packing import split
from memory_sidecar.chunking.prose import chunk_markdown
from memory_sidecar.chunking.sections import chunk_sections
from memory_sidecar.core.model import Chunk

# Part of every fingerprint: raise it with any change that cuts or describes a file differently.
CHUNKER_VERSION = "6"

_SECTIONED = frozenset({"godot", "ini", "toml"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The chunks of a text; where it is code, what it defines and refers to, and its UTF-8."""

    chunks: tuple[Chunk, ...]
    outline: Outline = field(default_factory=Outline)
    data: bytes = b""


def chunk_text(text: str, language: str) -> tuple[Chunk, ...]:
    """The chunks of `text`, as `parse_text` makes them."""
    return parse_text(text, language, with_references=False).chunks


def parse_text(text: str, language: str, *, with_references: bool = True) -> Parsed:
    """`text`, in a language of `chunking.language`, as chunks; an unknown one is plain text.

    Chunks are about 1,000 bytes, seldom below 250 or above 1,500. Takes any text. Half a
    surrogate pair becomes U+FFFD, since nothing can store it. Safe to call from many threads.
    """
    lines = Lines(text)
    if has_outline(language):
        found = outline(lines.data, language, with_references=with_references)
        return Parsed(tuple(chunk_code(lines, language, found)), found, lines.data)
    if language == "markdown":
        return Parsed(tuple(chunk_markdown(lines)))
    if language in _SECTIONED:
        return Parsed(tuple(chunk_sections(lines, language)))
    return Parsed(tuple(lines.chunks(split(lines, (0, len(lines.rows)), language))))
