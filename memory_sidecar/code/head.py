"""What the model sees of a chunk: its head, about 64 tokens that tell what it is about.

Where it stands, what it defines, what its comments say, then its code. A head takes the model a
quarter of the time of a whole chunk and ranks as well: what a function does is told by its name,
its place and its first lines. `docs/ranking.md` has the figures.
"""

from __future__ import annotations

import re

from memory_sidecar.core.model import Chunk

HEAD_CHARACTERS = 200  # 66 tokens of code in the mean; 5 % have more than 86
SIGNATURE_CHARACTERS = 80

_COMMENT = re.compile(r"(?:(?:#+|/?\*+|--+|;+|<!--)\s|//+[/!]?\s*|\"{3}|'{3})\s*(?=\w)")
_SAYS_SOMETHING = re.compile(r"\w")


def head_of(path: str, chunk: Chunk) -> str:
    """The head of a `chunk` of the file at `path`, on a few lines."""
    comments, code = [], []
    for line in chunk.code.splitlines():
        words = " ".join(line.split())
        if marker := _COMMENT.match(words):
            comments.append(words[marker.end() :])
        elif _SAYS_SOMETHING.search(words) and words.rstrip(" {:;,=(") not in chunk.signature:
            code.append(words)
    lines = [
        path,
        chunk.scope,
        chunk.signature[:SIGNATURE_CHARACTERS],
        " ".join(chunk.symbols) if len(chunk.symbols) > 1 else "",
        *comments,
        *code,
    ]
    return "\n".join(filter(None, lines))[:HEAD_CHARACTERS]
