"""Reads chunks by what they are: their file, a name they define, their id.

In a question a word counts as a name when it is written like one (`parse_args`, `HttpClient`,
`Cart.add`, `main()`, `src/app.py`) or when it is all of it. Plain words inside a sentence do not: a
question about how to `set` a `name` is not about functions of these names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory_sidecar.code.directory import ChunkFile, Directory
from memory_sidecar.code.store import CHUNKS, chunk_from_row
from memory_sidecar.core.model import Chunk, CodeFilter
from memory_sidecar.core.sqlite import Connection, integers
from memory_sidecar.index.keyword import match_expression
from memory_sidecar.index.report import VectorCounts, count_vectors, source_names
from memory_sidecar.index.words import index_words, plain_words


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk with where it comes from."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk


def chunks_with_symbol(connection: Connection, name: str, *, limit: int) -> list[int]:
    """Ids of chunks that define `name`, as it is written."""
    return integers(
        connection.execute(
            "SELECT c.id FROM code_chunks c JOIN (SELECT rowid FROM chunk_words"
            " WHERE chunk_words MATCH ? LIMIT ?) w ON c.id = w.rowid"
            " WHERE instr(' ' || c.symbols || ' ', ' ' || ? || ' ') LIMIT ?",
            (f"symbols : ({match_expression([indexed_name(name)])})", MAX_LOOKED_AT, name, limit),
        )
    )


def chunks_in_files(connection: Connection, files: Iterable[ChunkFile], *, limit: int) -> list[int]:
    """Ids of chunks of `files`."""
    ids: list[int] = []
    for file in files:
        if len(ids) >= limit:
            break
        ids += integers(
            connection.execute(
                "SELECT id FROM code_chunks WHERE source = ? AND filename = ? LIMIT ?",
                (file.source, file.path, limit - len(ids)),
            )
        )
    return ids


def chunks_saying(connection: Connection, text: str) -> list[int]:
    """Ids of chunks that hold the words of `text` in a row, as of an error message.

    None for a text of few words, or where so many hold it that it tells none of them.
    """
    words = [word for word in plain_words(text) if word.isascii()]
    if not MIN_SAID <= len(words) <= MAX_SAID:
        return []
    ids = chunks_with_words(connection, " ".join(words), limit=MAX_CHUNKS_SAYING + 1)
    return ids if len(ids) <= MAX_CHUNKS_SAYING else []


def chunks_with_words(connection: Connection, words: str, *, limit: int) -> list[int]:
    """Ids of chunks whose text holds `words` in a row."""
    return integers(
        connection.execute(
            "SELECT rowid FROM chunk_words WHERE chunk_words MATCH ? LIMIT ?",
            (f"body : ({match_expression([words])})", limit),
        )
    )


def count_chunk_vectors(
    connection: Connection, directory: Directory, sources: tuple[str, ...]
) -> VectorCounts:
    """How far the vectors of the chunks of `sources` are, of all chunks without them."""
    counts = count_vectors(connection, [CHUNKS])
    if not sources or set(sources) >= set(source_names(connection)):
        return counts
    rows: Any = connection.execute(
        "SELECT coalesce(sum(chunks), 0) FROM files"
        " WHERE source IN (SELECT value FROM json_each(?))",
        (json.dumps(sources),),
    ).get
    pending: Any = 0
    if counts.pending:
        # To ask for the source of each takes a quarter of a query while 40,000 wait.
        pending = connection.execute(
            "SELECT coalesce(sum((SELECT count(*) FROM chunk_pending"
            " WHERE id BETWEEN value ->> 0 AND value ->> 1)), 0) FROM json_each(?)",
            (json.dumps(directory.runs_of(CodeFilter(sources=sources))),),
        ).get
    return VectorCounts(rows, pending)


def count_at_path(connection: Connection, source: str, path: str) -> VectorCounts:
    """How many chunks the file at `path` has, and how many of them wait for a vector."""
    counted: Any = connection.execute(
        "SELECT count(*), count(p.id) FROM code_chunks c LEFT JOIN chunk_pending p ON p.id = c.id"
        " WHERE c.source = ? AND c.filename = ?",
        (source, path),
    ).fetchone()
    return VectorCounts(*counted)


def read_symbols(connection: Connection, ids: Sequence[int]) -> dict[int, tuple[list[str], str]]:
    """What the chunks with these ids define, and their scope; those that are gone are left out."""
    # As one text: hundreds of rows would let go of Python's lock, and wait for it, as many times.
    rows: Any = connection.execute(
        "SELECT json_group_array(json_array(id, symbols, scope)) FROM code_chunks"
        " WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).get
    return {chunk_id: (symbols.split(), scope) for chunk_id, symbols, scope in json.loads(rows)}


def read_chunks(connection: Connection, ids: Sequence[int]) -> list[StoredChunk]:
    """The chunks with these ids; those that are gone are left out."""
    rows: list[Any] = connection.execute(
        "SELECT id, source, filename, language, start_line, end_line, code, symbols, scope,"
        " signature FROM code_chunks WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    return [
        StoredChunk(chunk_id, source, filename, language, chunk_from_row(rest))
        for chunk_id, source, filename, language, *rest in rows
    ]


def read_around(connection: Connection, stored: StoredChunk, *, lines: int) -> tuple[str, str]:
    """The text of the same file before and behind a chunk, so many lines of it or a few more."""
    first, last = stored.chunk.start_line, stored.chunk.end_line
    rows: list[Any] = connection.execute(
        "SELECT start_line, code FROM code_chunks"
        " WHERE source = ? AND filename = ? AND end_line >= ? AND start_line <= ?"
        " ORDER BY start_line",
        (stored.source, stored.filename, first - lines, last + lines),
    ).fetchall()
    before = "".join(f"{code}\n" for start, code in rows if start < first)
    after = "".join(f"\n{code}" for start, code in rows if start > last)
    return before, after


MAX_CHUNKS_PER_NAME = 50
MAX_LOOKED_AT = 5000  # of chunks that define names with the words of a name: some 5 ms
MIN_SAID, MAX_SAID = 3, 40  # words in a row that tell where they stand
MAX_CHUNKS_SAYING = 10
MAX_NAMES = 32
MAX_PARTS = 16  # of a name

BETWEEN_NAMES = re.compile(r"\.|::|->|#")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|->|#)[^\W\d]\w*)*(?:\(\))?")
_BETWEEN_WORDS = re.compile(r"[\s\"'`()<>\[\],;]+")
_PATH = re.compile(r"[\w\-+@]\.\w{1,10}$|[^/]/[^/]")
_MAX_PATH = 256
_LOOKS_WRITTEN = re.compile(r"_|\.|::|->|#|\(\)|[a-z0-9][A-Z]|[A-Z]{2,}[a-z]")


@dataclass(frozen=True, slots=True)
class Names:
    """What a query names."""

    symbols: tuple[tuple[str, ...], ...]  # each with its qualifiers: ("Cart", "add")
    tokens: tuple[str, ...]  # as they are written; and the query itself, where it
    is_alone: bool  # is one word
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


def indexed_name(name: str) -> str:
    """The words that stand in a row in the index of what defines `name`.

    In camelCase it stands there as one word, too, which longer names do not hold.
    """
    parts, _, whole = index_words(name).partition("\n")
    words = [whole] if whole == name.lower() else parts.replace("_", " ").split()
    return " ".join(words[:MAX_PARTS])


def named_chunks(connection: Connection, names: Names, directory: Directory) -> list[int]:
    """Ids of chunks that may define or hold one of `names`; the caller looks closer."""
    ids: list[int] = []
    for name in names.symbols:
        ids += chunks_with_symbol(connection, name[-1], limit=MAX_CHUNKS_PER_NAME)
    for path in names.paths:
        ids += chunks_in_files(connection, directory.files_at(path), limit=MAX_CHUNKS_PER_NAME)
    return ids
