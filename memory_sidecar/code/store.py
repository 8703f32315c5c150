"""The database of code: writes the rows of documents, and the words and vectors of chunks.

Asides of a project are tests, documentation, data and examples: those that a question does not ask
for rank lower (see `ranking`), and data waits longest for its vectors.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory_sidecar.chunking.chunk import CHUNKER_VERSION
from memory_sidecar.code.directory import ChunkDirectory, ChunkFile
from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.history import delete_history
from memory_sidecar.core.model import Chunk, Document
from memory_sidecar.core.times import Clock
from memory_sidecar.index.derived import DerivedStore, note_change
from memory_sidecar.index.schema import Corpus, Schema, Write

PROSE = re.compile(
    r"\.(?:md|mdx|markdown|rst|adoc|rdoc|(?<!cmakelists\.)txt)$"
    r"|(?:^|/)(?=(?-i:[A-Z]))(?:readme|licen[cs]e[\w-]*|copying|change(?:log|s)|history|news"
    r"|authors|contribut\w+|install|todo|notice)$",
    re.IGNORECASE,
)
# The kinds of asides: the paths of such files, and the words by which a question asks for them.
_ASIDES = (
    (
        "tests",
        re.compile(
            r"^(?!(.*/)?(?-i:src/(main|\w+Main))/).*?("
            r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e|conftest|testdata|testutils?|regress)"
            r"([/_.\-]|$)|(?-i:[a-z]Test(s|(Case|Helper|Util)\w*)?)(\.|/)|\.Tests?/|\.feature$|^t/)",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(tests?|tested|testing|specs?|benchmarks?|coverage|fixtures?|mocks?"
            r"|unittest|flaky)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "docs",
        re.compile(
            rf"{PROSE.pattern}|[a-z]\.[1-8](\.in|\.prebuilt)?$|\.(ronn|pod|texi)$"
            r"|^doc/|(^|/)(docs|documentation|man)/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(docs?|documentation|document(ed|ing|s)?|readme|changelog|changes|guide|tutorial"
            r"|examples?|comments?|docstrings?|typos?|markdown|links?|contributing|license|faq"
            r"|wiki|website)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "data",
        re.compile(
            r"\.(json|jsonl|csv|tsv|svg|snap|lock|map)$"
            r"|(^|/)(fixtures?|(__)?snapshots?(__)?|generated|_?vendor(s|ed)?"
            r"|(third|3rd)[_-]?party)/|^(deps|extern(als?)?|subprojects)/"
            r"|\.min\.(?:[cm]?js|css)$|(^|/)PKG-INFO$|\.pb\.\w+$|_pb2(_grpc)?\.pyi?$|[_.]generated\."
            r"|\.xcodeproj/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(json\w*|schemas?|csv|svg|data|datasets?|fixtures?|snapshots?|config\w*|settings?"
            r"|manifest|packages?|dependenc\w*|versions?|lock\w*|generated|vendor\w*)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examples",
        re.compile(
            r"(^|/)(_?examples?|samples?|demos?|tutorials?|bench(es|marks?)?|perf)/"
            r"|(^|[/.])playgrounds?/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(examples?|samples?|demos?|playgrounds?|tutorials?|benchmark\w*)\b", re.IGNORECASE
        ),
    ),
)


# "A store in memory for tests" asks for code that tests use, not for a test.
_FOR_TESTS = re.compile(r"\bfor (?:an? |the )?(?:unit )?test(?:s|ing)?\b", re.IGNORECASE)


def asides_to(text: str, *, asks_for_guide: bool) -> frozenset[str]:
    """Return the kinds of files that the question `text` does not ask for.

    For a guide these are all but docs.
    """
    if asks_for_guide:
        return frozenset(kind for kind, _, _ in _ASIDES if kind != "docs")
    text = _FOR_TESTS.sub("", text)
    return frozenset(kind for kind, _, asked in _ASIDES if not asked.search(text))


@lru_cache(maxsize=1 << 14)  # every question asks for the same paths
def asides_of(path: str) -> frozenset[str]:
    """Return the kinds of asides that the file at `path` is; most are of none."""
    return frozenset(kind for kind, pattern, _ in _ASIDES if pattern.search(path))


def is_aside(path: str) -> bool:
    """Whether the file is a test, an example, documentation, data, generated or vendored."""
    return bool(asides_of(path))


def is_data(path: str) -> bool:
    """Whether the file is data, generated or vendored."""
    return "data" in asides_of(path)


CHUNKS = Corpus(
    name="chunk",
    rows="code_chunks",
    text="head",
    columns=("body", "symbols", "path"),
    weights=(1.0, 2.0, 4.0),
    source="source",
    path="filename",
    has_static=True,
)


class CodeStore(DerivedStore):
    """`codebase.sqlite`: the chunks, names and commits of all registered sources."""

    SCHEMA = Schema(kind="code", version=8, scripts=("code/codebase.sql",), corpora=(CHUNKS,))

    def __init__(self, path: Path, *, clock: Clock) -> None:
        super().__init__(path, clock=clock)
        self.directory = ChunkDirectory()

    def unload(self) -> None:
        super().unload()
        self.directory.unload()

    def drop_team_chunks(self, source: str, tracked: Mapping[str, str]) -> None:
        """Delete the chunks of files whose chunks the team's database has; keep their names.

        `tracked` has the new fingerprint of each file, by path: see `code.builder`.
        """
        with self.writing() as write:
            note_change(write)
            for path, fingerprint in tracked.items():
                write.delete_rows(CHUNKS, "source = ? AND filename = ?", (source, path))
                write.connection.execute(
                    "UPDATE files SET fingerprint = ?, chunks = 0 WHERE source = ? AND path = ?",
                    (fingerprint, source, path),
                )

    def _replace_rows(self, write: Write, document: Document) -> None:
        """Write the rows of a document; unchanged chunks keep their row, words and vectors.

        That is most chunks of a large file that is saved.
        """
        assert isinstance(document, CodeDocument)
        path = document.file.path
        kept = _reusable_rows(write, document)
        self._delete_rows(write, document.source, path, but=kept.values())
        _move_rows(write, {row_id: document.chunks[number] for number, row_id in kept.items()})
        rows = zip(document.chunks, document.found, strict=True)
        for number, (chunk, found) in enumerate(rows):
            if number in kept:
                continue
            write.connection.execute(
                "INSERT INTO code_chunks (source, filename, location, language, code, start_line,"
                " end_line, symbols, scope, signature, head, updated_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(document.source, path, chunk.location, document.language, chunk.code),
                    *(chunk.start_line, chunk.end_line, join_symbols(chunk.symbols)),
                    *(chunk.scope, chunk.signature, found.text, write.now),
                ),
            )
            write.index_row(CHUNKS, found, can_wait=is_data(path))
        file = ChunkFile(document.source, path, document.language)
        document.names.insert(write.connection, file)

    def _delete_rows(
        self, write: Write, source: str, path: str | None, *, but: Collection[int] = ()
    ) -> None:
        condition = "source = ?" if path is None else "source = ? AND filename = ?"
        values = [each for each in (source, path) if each is not None]
        others = "id NOT IN (SELECT value FROM json_each(?))"
        write.delete_rows(CHUNKS, f"{condition} AND {others}", [*values, json.dumps([*but])])
        write.connection.execute(f"DELETE FROM code_files WHERE {condition}", values)
        if path is None:
            delete_history(write.connection, source)


def _reusable_rows(write: Write, document: CodeDocument) -> dict[int, int]:
    """Return the ids of stored rows that equal chunks of `document`, by the number of the chunk.

    Rows made by another version of the chunker do not count, nor do rows without a static vector
    when static vectors are being written.
    """
    rows: Any = write.connection.execute(
        "SELECT c.id, c.code, c.symbols, c.scope, c.signature, c.head FROM code_chunks c"
        " JOIN sources s ON s.name = c.source AND s.chunker = ?"
        " WHERE c.source = ? AND c.filename = ? AND c.language = ?"
        " AND (NOT ? OR c.id IN (SELECT id FROM chunk_static)) ORDER BY c.start_line DESC",
        (
            *(CHUNKER_VERSION, document.source, document.file.path, document.language),
            write.brings_static,
        ),
    )
    known: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row_id, *texts in rows:
        known[tuple(texts)].append(row_id)
    kept = {}
    for number, (chunk, found) in enumerate(zip(document.chunks, document.found, strict=True)):
        symbols = join_symbols(chunk.symbols)
        if alike := known.get((chunk.code, symbols, chunk.scope, chunk.signature, found.text)):
            kept[number] = alike.pop()
    return kept


def _move_rows(write: Write, chunks: Mapping[int, Chunk]) -> None:
    """Update the lines of unchanged `chunks`, by row id. They count as written, like all."""
    places = [
        (chunk.location, chunk.start_line, chunk.end_line, write.now, row_id)
        for row_id, chunk in chunks.items()
    ]
    # Free all locations first: (source, filename, location) is unique.
    write.connection.executemany(
        "UPDATE code_chunks SET location = id WHERE id = ?", [(row_id,) for row_id in chunks]
    )
    write.connection.executemany(
        "UPDATE code_chunks SET location = ?, start_line = ?, end_line = ?, updated_at = ?"
        " WHERE id = ?",
        places,
    )
    write.queue_again(CHUNKS, chunks)
    write.indexed += len(chunks)
    write.deleted += len(chunks)


def join_symbols(symbols: Iterable[str]) -> str:
    """Return the column `symbols` of a chunk, in which U+00A0 is a space within a symbol."""
    return " ".join(symbol.replace(" ", "\u00a0") for symbol in symbols)


def split_symbols(column: str) -> list[str]:
    """Return what `join_symbols` joined."""
    return [symbol.replace("\u00a0", " ") for symbol in column.split(" ")] if column else []


def chunk_from_row(row: Sequence[Any]) -> Chunk:
    """Make a chunk of the columns start_line, end_line, code, symbols, scope, signature."""
    start, end, code, symbols, scope, signature = row
    return Chunk(
        start_line=start,
        end_line=end,
        code=code,
        symbols=tuple(split_symbols(symbols)),
        scope=scope,
        signature=signature,
    )


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it is stored, with its id and its file."""

    chunk_id: int
    source: str
    filename: str
    language: str
    chunk: Chunk
