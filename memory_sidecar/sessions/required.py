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
    phrases: tuple[str, ...]
    prefixes: tuple[str, ...]

    @classmethod
    def of(cls, query: str) -> Required:
        """A quote without its counterpart, or around no word, is no sign."""
        phrases = [phrase for phrase in _PHRASE.findall(query) if _WORD.search(phrase)]
        prefixes = _PREFIX.findall(_PHRASE.sub(" ", query))
        text = _PREFIX.sub(r"\1", _PHRASE.sub(r" \1 ", query))
        return cls(
            text=" ".join(text.split()),
            phrases=tuple(dict.fromkeys(phrases))[:MAX_REQUIRED],
            prefixes=tuple(dict.fromkeys(prefixes))[:MAX_REQUIRED],
        )

    @property
    def is_any(self) -> bool:
        """Whether the query insists on something."""
        return bool(self.phrases or self.prefixes)
