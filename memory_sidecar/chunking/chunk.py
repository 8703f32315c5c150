"""A document's text as chunks, each kind of document cut where it is cut itself.

Whatever the text is, the chunks are whole lines in order that together hold every line that is
not blank, and none begins or ends with a blank line.
"""

from __future__ import annotations

from memory_sidecar.chunking.code import chunk_code
from memory_sidecar.chunking.lines import Lines
from memory_sidecar.chunking.outline import has_outline
from memory_sidecar.chunking.packing import split
from memory_sidecar.chunking.prose import chunk_markdown
from memory_sidecar.chunking.sections import chunk_sections
from memory_sidecar.core.model import Chunk

# Part of every fingerprint: raise it with any change that cuts or describes a file differently.
CHUNKER_VERSION = "1"

_SECTIONED = frozenset({"godot", "ini", "toml"})


def chunk_text(text: str, language: str) -> tuple[Chunk, ...]:
    """The chunks of `text`, in a language of `chunking.language`; an unknown one is plain text.

    Chunks are about 1,000 bytes, seldom below 250 or above 1,500. Takes any text. Half a
    surrogate pair becomes U+FFFD, since nothing can store it. Safe to call from many threads.
    """
    lines = Lines(text)
    if has_outline(language):
        return tuple(chunk_code(lines, language))
    if language == "markdown":
        return tuple(chunk_markdown(lines))
    if language in _SECTIONED:
        return tuple(chunk_sections(lines, language))
    return tuple(lines.chunks(split(lines, (0, len(lines.rows)), language)))
