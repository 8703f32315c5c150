"""What a query insists on: `"a phrase"` and `word*` must occur, the other words only rank."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PHRASE = re.compile(r'"([^"]*)"')
_PREFIX = re.compile(r"(?<!\S)([^\W_]\w*)\*(?!\S)")
_WORD = re.compile(r"[^\W_]")
MAX_REQUIRED = 16


@dataclass(frozen=True, slots=True)
class Required:
    """A query, taken apart."""

    text: str  # all of it, without the signs
    phrases: tuple[str, ...]  # as FTS5 expressions

    @classmethod
    def of(cls, query: str) -> Required:
        """A quote without its counterpart, or around no word, is no sign."""
        phrases = [f'"{phrase}"' for phrase in _PHRASE.findall(query) if _WORD.search(phrase)]
        prefixes = [f'"{word}"*' for word in _PREFIX.findall(_PHRASE.sub(" ", query))]
        text = _PREFIX.sub(r"\1", _PHRASE.sub(r" \1 ", query))
        found = dict.fromkeys((*phrases, *prefixes))
        return cls(" ".join(text.split()), tuple(found)[:MAX_REQUIRED])
