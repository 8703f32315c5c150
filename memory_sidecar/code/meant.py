"""What the names in a question mean: which chunks may define them, and names that nothing defines.

In a question a word counts as a name when it is written like one (`parse_args`, `HttpClient`,
`Cart.add`, `main()`, `src/app.py`) or when it is the whole question. Plain words in a sentence do
not: a question about how to `set` a `name` is not about functions of these names.

A name that nothing defines is looked for in the text of chunks, letter by letter: the key of a
setting, a flag, what another package defines. Where it is nowhere, it means the names that begin
with it, else those that are it or begin with it in upper or lower case, else those that differ by
one typing slip: a letter too many, too few, wrong, or two swapped. A name that fits many places is
taken for none of them.

A message that somebody pasted is found where it stands, or where the code makes it and fills in
values. `No such option: --verbos` stands in no source, but `"No such option: {name}"` does: a
string whose fixed parts all stand in the message, in their order. Several strings in a row, which
the code joins, may make a message, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from memory_sidecar.code.directory import ChunkFile, Directory
from memory_sidecar.code.store import StoredChunk
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.index.keyword import match_expression
from memory_sidecar.index.words import index_words, plain_words

MAX_CHUNKS_PER_NAME = 50
MAX_LOOKED_AT = 5000  # of chunks that define names with the words of a name: some 5 ms
MAX_CHUNKS_SAYING = 10
MAX_FILES_LOCATED = 3  # by the paths in a sentence
MAX_NAMES = 32
MAX_PARTS = 16  # of a name

BETWEEN_NAMES = re.compile(r"\.|::|->|#")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*(?:\(\))?")
_BETWEEN_WORDS = re.compile(r"[\s\"'`()<>\[\],;]+")
_PATH = re.compile(r"[\w\-+@]\.\w{1,10}$|[^/]/[^/]")
_MAX_PATH = 256
_LOOKS_WRITTEN = re.compile(r"_|\.|::|->|#|\(\)|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")

MIN_LETTERS = 4  # of a name that is half of one, or has a slip
MAX_MEANT = 10  # names
MAX_CHUNKS_READ = 50
MAX_COMPARED = 20_000  # with a name that there is not: a tenth of a second
MIN_LIKENESS = 0.7  # of letters in the same order
MAX_NEAREST = 3  # of them are told

MIN_SAID, MAX_SAID = 3, 40  # words in a row, or in fixed parts together, that tell where they stand
LEAST_SHARE = 0.4  # of the words of a message
MAX_LINES = 20  # of what was pasted, a log or a traceback

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|`([^`]*)`")
_ESCAPED_QUOTE = re.compile(r"\\([\"'`])")
_HOLE = re.compile(r"%(?:\(\w+\))?[-+#0-9.]*[a-zA-Z]|[$#]?\{[^{}]*\}|\\\([^()]*\)|\$\w+|\\[nrt]")
_LAST = "\U0010ffff"

FindWords = Callable[[str, int], Sequence[int]]
"""Ids of chunks whose text holds some words in a row, so many at most."""

ReadChunks = Callable[[Sequence[int]], Sequence[StoredChunk]]
"""The chunks with these ids."""


@dataclass(frozen=True, slots=True)
class Names:
    """What a query names."""

    symbols: tuple[tuple[str, ...], ...]  # each with its qualifiers: ("Cart", "add")
    tokens: tuple[str, ...]  # as they are written; and the query itself, where it
    is_alone: bool  # is one word
    paths: tuple[str, ...]  # with /, as written

    def defined_by(self, symbols: Collection[str], scope: str) -> bool:
        """Whether a chunk that defines `symbols` inside of `scope` defines one of these names."""
        if not self.symbols or not any(name[-1] in symbols for name in self.symbols):
            return False
        around = {*symbols, *scope.split(".")}
        return any(
            name[-1] in symbols and all(qualifier in around for qualifier in name[:-1])
            for name in self.symbols
        )

    def located(self, filenames: Iterable[str]) -> list[bool]:
        """Which of `filenames` are one of the paths, or end in one.

        A sentence about `package.json` in a project with many is about none of them.
        """
        ends = tuple("/" + path for path in self.paths)
        located = [f"/{filename}".endswith(ends) for filename in filenames]
        is_told = self.is_alone or sum(located) <= MAX_FILES_LOCATED
        return located if is_told else [False] * len(located)


def names_in(text: str) -> Names:
    """The names that stand in a query."""
    alone = text.strip()
    is_alone = len(alone.split()) == 1
    symbols, tokens = [], [alone.removesuffix("()")] if is_alone else []
    for match in _NAME.finditer(alone):
        word = match.group()
        if word == alone or _LOOKS_WRITTEN.search(word):
            tokens.append(word.removesuffix("()"))
            symbols.append(tuple(BETWEEN_NAMES.split(tokens[-1])))
    words = (word.replace("\\", "/").rstrip(".:?!") for word in _BETWEEN_WORDS.split(alone))
    paths = [w.removeprefix("./") for w in words if len(w) <= _MAX_PATH and _PATH.search(w)]
    return Names(
        symbols=tuple(dict.fromkeys(symbols))[:MAX_NAMES],
        tokens=tuple(dict.fromkeys(tokens))[:MAX_NAMES],
        is_alone=is_alone,
        paths=tuple(dict.fromkeys(paths))[:MAX_NAMES],
    )


def named_chunks(connection: Connection, names: Names, directory: Directory) -> list[int]:
    """Ids of chunks that may define or hold one of `names`; the caller looks closer."""
    ids: list[int] = []
    for name in names.symbols:
        ids += _with_symbol(connection, name[-1], limit=MAX_CHUNKS_PER_NAME)
    for path in names.paths:
        ids += _in_files(connection, directory.files_at(path), limit=MAX_CHUNKS_PER_NAME)
    return ids


def indexed_name(name: str) -> str:
    """The words that stand in a row in the index of what defines `name`.

    In camelCase it stands there as one word, too, which longer names do not hold.
    """
    parts, _, whole = index_words(name).partition("\n")
    words = [whole] if whole == name.lower() else parts.replace("_", " ").split()
    return " ".join(words[:MAX_PARTS])


def meant_by(
    connection: Connection,
    names: Names,
    sources: Collection[str],
    *,
    find: FindWords,
    read: ReadChunks,
) -> tuple[Names, list[int]]:
    """What those of `names` mean that nothing in `sources`, or in all, defines.

    `connection` knows the definitions, `find` and `read` the chunks. Returns `names`
    with the names that may be meant, and the ids of the chunks in which one stands.
    """
    known = _Definitions(connection, sources)
    symbols: list[tuple[str, ...]] = []
    chunks: list[int] = []
    for token in names.tokens:
        if known.has(BETWEEN_NAMES.split(token)[-1]):
            continue
        standing = _chunks_with(token, find, read)
        if not standing and len(token) >= MIN_LETTERS and _IDENTIFIER.fullmatch(token):
            likes = known.beginning(token) or known.in_any_case(token) or known.one_slip_from(token)
            symbols += [(like,) for like in likes]
        elif names.is_alone and len(standing) <= MAX_CHUNKS_SAYING:
            chunks += standing
    return replace(names, symbols=(*names.symbols, *symbols)), chunks


def is_one_slip(name: str, other: str) -> bool:
    """Whether one letter more, less or another, or two swapped, make `other` of `name`."""
    start = 0
    while start < min(len(name), len(other)) and name[start] == other[start]:
        start += 1
    name, other = name[start:], other[start:]
    while name and other and name[-1] == other[-1]:
        name, other = name[:-1], other[:-1]
    return max(len(name), len(other)) <= 1 or (len(name) == 2 and name == other[::-1])


def nearest_names(connection: Connection, sources: Collection[str], name: str) -> list[str]:
    """The names that `sources`, or all, define and that `name` is most like, the likest first.

    `parseArgs` is like `parse_args` and like `HttpParseArgs`.
    """
    known: dict[str, list[str]] = {}
    for other in _Definitions(connection, sources).all()[:MAX_COMPARED]:
        known.setdefault(_plain(other), []).append(other)
    like = get_close_matches(_plain(name), known, n=MAX_NEAREST, cutoff=MIN_LIKENESS)
    return [other for plain in like for other in known[plain]]


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


class _Definitions:
    """The names that some sources define."""

    def __init__(self, connection: Connection, sources: Collection[str]) -> None:
        self._connection = connection
        self._sources = json.dumps(sorted(sources))

    def all(self) -> list[str]:
        return self._between("", _LAST)

    def has(self, name: str) -> bool:
        return bool(self._between(name, name))

    def beginning(self, start: str) -> list[str]:
        """The names that begin with `start`; none where there are many."""
        return _unless_many(self._between(start, start + _LAST))

    def in_any_case(self, start: str) -> list[str]:
        """The names that are `start` in other case, else those that begin so; none where many."""
        found = self._with_first_letter(start, start=start)
        same = [name for name in found if len(name) == len(start)]
        return _unless_many(same or found)

    def one_slip_from(self, name: str) -> list[str]:
        """The names that one typing slip in `name` makes, of its first letter; none where many."""
        near = self._with_first_letter(name, length=len(name))
        return _unless_many(
            [other for other in near if is_one_slip(name, other)]
            or [other for other in near if is_one_slip(name.lower(), other.lower())]
        )

    def _with_first_letter(self, name: str, *, length: int = 0, start: str = "") -> list[str]:
        """As `_between`, the names whose first letter is that of `name` in either case."""
        return [
            other
            for first in sorted({name[0].lower(), name[0].upper()})
            for other in self._between(first, first + _LAST, length=length, start=start)
        ]

    def _between(self, low: str, high: str, *, length: int = 0, start: str = "") -> list[str]:
        """The names from `low` to `high` that begin with `start` in any case of ASCII letters.

        With `length` only those of that length or one more or less.
        """
        of_these = (
            " AND (?3 = '[]' OR file IN (SELECT id FROM code_files"
            " WHERE source IN (SELECT value FROM json_each(?3))))"
        )
        return column(
            self._connection,
            "SELECT DISTINCT name FROM code_definitions WHERE name BETWEEN ?1 AND ?2"
            " AND (?4 = 0 OR length(name) BETWEEN ?4 - 1 AND ?4 + 1)"
            f" AND (?5 = '' OR lower(substr(name, 1, length(?5))) = lower(?5)){of_these}",
            (low, high, self._sources, length, start),
        )


def _unless_many(names: list[str]) -> list[str]:
    return names if len(names) <= MAX_MEANT else []


def _chunks_with(token: str, find: FindWords, read: ReadChunks) -> Sequence[int]:
    """Ids of the chunks that hold `token`, letter by letter; of very many, without that look."""
    words = plain_words(token)
    if not token.isascii() or not words:
        return []
    ids = find(" ".join(words), MAX_CHUNKS_READ)
    if len(ids) == MAX_CHUNKS_READ:
        return ids
    stands = re.compile(rf"(?<![\w-]){re.escape(token)}(?![\w-])")
    return [each.chunk_id for each in read(ids) if stands.search(each.chunk.code)]


def _with_symbol(connection: Connection, name: str, *, limit: int) -> list[int]:
    """Ids of chunks that define `name`, as it is written."""
    return column(
        connection,
        "SELECT c.id FROM code_chunks c JOIN (SELECT rowid FROM chunk_words"
        " WHERE chunk_words MATCH ? LIMIT ?) w ON c.id = w.rowid"
        " WHERE instr(' ' || c.symbols || ' ', ' ' || ? || ' ') LIMIT ?",
        (f"symbols : ({match_expression([indexed_name(name)])})", MAX_LOOKED_AT, name, limit),
    )


def _in_files(connection: Connection, files: Iterable[ChunkFile], *, limit: int) -> list[int]:
    """Ids of chunks of `files`."""
    ids: list[int] = []
    for file in files:
        if len(ids) >= limit:
            break
        ids += column(
            connection,
            "SELECT id FROM code_chunks WHERE source = ? AND filename = ? LIMIT ?",
            (file.source, file.path, limit - len(ids)),
        )
    return ids


def words_said(text: str) -> str:
    """The words of `text`, to be found in a row; "" where these are too few or too many."""
    words = [word for word in plain_words(text) if word.isascii()]
    return " ".join(words) if MIN_SAID <= len(words) <= MAX_SAID else ""


def chunks_making(text: str, ids: Sequence[int], read: ReadChunks) -> list[int]:
    """The chunks whose strings make most of a message in `text`; none where many do."""
    lines = [
        (line, max(MIN_SAID, LEAST_SHARE * words))
        for line in text.lower().splitlines()[:MAX_LINES]
        if (words := len(plain_words(line))) >= MIN_SAID
    ]
    if not lines:
        return []
    made = {chunk.chunk_id: _most_made(lines, chunk.chunk.code) for chunk in read(ids)}
    most = max(made.values(), default=0)
    found = [chunk_id for chunk_id, words in made.items() if words == most]
    return found if most and len(found) <= MAX_CHUNKS_SAYING else []


def _most_made(lines: Sequence[tuple[str, float]], code: str) -> int:
    """How many words of one of `lines`, each with the least that counts, strings in `code` make."""
    found = (str(match[match.lastindex or 0]) for match in _STRING.finditer(code))
    strings = [_fixed_parts(string) for string in found if " " in string]
    made = [(_made(line, strings), least) for line, least in lines]
    return max(words if words >= least else 0 for words, least in made)


def _fixed_parts(string: str) -> list[str]:
    parts = _HOLE.split(_ESCAPED_QUOTE.sub(r"\1", string.lower()))
    return [part for part in map(str.strip, parts) if part]


def _made(line: str, strings: Iterable[Sequence[str]]) -> int:
    """The most words of `line` that strings, of two words or more, make one behind the other."""
    most = words = at = 0
    for parts in strings:
        end = _end_in(line, parts, at)
        if end < 0:
            words, end = 0, _end_in(line, parts, 0)
        if end < 0:
            at = 0
        elif (more := sum(len(plain_words(part)) for part in parts)) > 1:
            words, at = words + more, end
            most = max(most, words)
    return most


def _end_in(line: str, parts: Iterable[str], at: int) -> int:
    """Where `parts` end in `line`, one behind the other from `at`; -1: they do not stand there."""
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return -1
        at += len(part)
    return at
