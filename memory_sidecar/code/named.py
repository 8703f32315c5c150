"""Chunks that a query names outright: a symbol they define, or the path of their file.

A word counts as a name when it is written like one (`parse_args`, `HttpClient`, `Cart.add`,
`main()`, `src/app.py`) or when it is the whole query. Plain words inside a sentence do not: a
question about how to `set` a `name` is not about functions of these names.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from memory_sidecar.code.lookup import chunks_at_path, chunks_with_symbol
from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.keyword import index_words

MAX_CHUNKS_PER_NAME = 50
MAX_NAMES = 32

_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*(?:\(\))?")
_BETWEEN_WORDS = re.compile(r"[\s\"'`()<>\[\],;]+")
_PATH = re.compile(r"[\w\-+@]\.\w{1,10}$|[^/]/[^/]")
_MAX_PATH = 256
_LOOKS_WRITTEN = re.compile(r"_|\.|::|->|#|\(\)|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")


@dataclass(frozen=True, slots=True)
class Names:
    """What a query names."""

    symbols: tuple[tuple[str, ...], ...]  # each with its qualifiers: ("Cart", "add")
    paths: tuple[str, ...]  # with /, as written

    def defined_by(self, symbols: Collection[str], scope: str) -> bool:
        """Whether a chunk that defines `symbols` inside of `scope` defines one of the names."""
        if not any(name[-1] in symbols for name in self.symbols):
            return False
        around = {*symbols, *scope.split(".")}
        return any(
            name[-1] in symbols and all(qualifier in around for qualifier in name[:-1])
            for name in self.symbols
        )

    def locate(self, filename: str) -> bool:
        """Whether `filename` is one of the paths, or ends in one."""
        return any(filename == path or filename.endswith("/" + path) for path in self.paths)


def names_in(text: str) -> Names:
    """The names that stand in a query."""
    alone = text.strip()
    symbols = []
    for match in _NAME.finditer(alone):
        word = match.group()
        if word == alone or _LOOKS_WRITTEN.search(word):
            symbols.append(tuple(re.split(r"\.|::|->|#", word.removesuffix("()"))))
    words = (word.replace("\\", "/").rstrip(".:?!") for word in _BETWEEN_WORDS.split(alone))
    paths = [w.removeprefix("./") for w in words if len(w) <= _MAX_PATH and _PATH.search(w)]
    return Names(
        symbols=tuple(dict.fromkeys(symbols))[:MAX_NAMES],
        paths=tuple(dict.fromkeys(paths))[:MAX_NAMES],
    )


def named_chunks(connection: Connection, names: Names) -> list[int]:
    """Ids of chunks that may define or hold one of `names`; the caller looks closer."""
    ids: list[int] = []
    for name in names.symbols:
        words = " ".join(index_words(name[-1]).replace("_", " ").split()[:16])
        ids += chunks_with_symbol(connection, words, limit=MAX_CHUNKS_PER_NAME)
    for path in names.paths:
        ids += chunks_at_path(connection, path, limit=MAX_CHUNKS_PER_NAME)
    return ids
