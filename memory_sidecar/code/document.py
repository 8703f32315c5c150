"""Builds the document of a source file: its chunks, with words and heads, and its names.

Each definition is a row. All places where a file uses one name share a row, because they are read
together and outnumber definitions thirty to one. This module imports little, so that worker
processes start fast: see `code.workers`.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, get_args

from memory_sidecar.chunking.chunk import Parsed, parse_text
from memory_sidecar.chunking.keys import NESTING, SECTIONED
from memory_sidecar.chunking.lines import CHUNKER_VERSION
from memory_sidecar.chunking.notebook import read_program
from memory_sidecar.chunking.outline import Definition
from memory_sidecar.chunking.references import How, Reference
from memory_sidecar.chunking.renames import Rename
from memory_sidecar.core import reasons
from memory_sidecar.core.model import Chunk, Document, FileStatus, Findable, Source, SourceFile
from memory_sidecar.disk.read import read_text
from memory_sidecar.index.document import build_errors, fingerprint, skipped_document
from memory_sidecar.index.words import index_words

if TYPE_CHECKING:
    from memory_sidecar.code.model import ChunkFile
    from memory_sidecar.core.sqlite import Connection

_LETTERS: Final[dict[How, str]] = {how: how[0] for how in get_args(How)}
_HOW: Final[dict[str, How]] = {letter: how for how, letter in _LETTERS.items()}
_PLACE = re.compile(r"([ctiao])(\d+)(?::(\d+))?(?:\.([^=]*))?(?:=(.*))?")  # c12:3.self, i4=./cart
HEAD_CHARACTERS = 200  # 66 tokens of code in the mean; 5 % have more than 86
SIGNATURE_CHARACTERS = 80

_COMMENT = re.compile(r"(?:(?:#+|/?\*+|--+|;+|<!--)\s|//+[/!]?\s*|\"{3}|'{3})\s*(?=\w)")
_MARKS = tuple("#/*-;<\"'")  # first characters of comments
_HAS_WORD_CHARACTER = re.compile(r"\w")
_HAS_A_WORD = re.compile(r"[^\W\d_]{2}")  # a12/04.py has none


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A definition. `start_line` is the line of its name, from 1; `end_line` its last."""

    name: str
    path: str  # dotted, with everything that encloses it
    kind: str
    signature: str
    start_line: int
    end_line: int

    @property
    def scope(self) -> str:
        """The path of the enclosing definition, or empty."""
        return self.path.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a file uses a name."""

    line: int  # from 1
    how: How
    within: int | None  # the number of the enclosing definition in its file, from 0
    receiver: str  # what stands before the dot: see `chunking.references`
    module: str = ""  # what an import is from, what an `impl` of the type implements, a path
    # that leads to the type of the receiver: see `chunking.references.Reference`


@dataclass(frozen=True, slots=True)
class FileNames:
    """The names that one file defines and uses."""

    definitions: tuple[DefinitionRow, ...] = ()
    places: tuple[tuple[str, str], ...] = ()  # each used name, and its places for `read_places`
    renames: tuple[Rename, ...] = ()

    @classmethod
    def of(cls, parsed: Parsed) -> FileNames:
        """Take the names from the outline of `parsed`; empty if the language has none."""
        named = [d for d in parsed.outline.definitions if d.symbol]
        rows = tuple(
            DefinitionRow(
                d.symbol, d.path, d.kind, d.signature(parsed.data), d.name_row + 1, d.stop
            )
            for d in named
        )
        places = _places(named, parsed.outline.references)
        return cls(rows, tuple(places), parsed.outline.renames)

    def insert(self, connection: Connection, file: ChunkFile) -> None:
        """Insert the rows of a file, which must have none yet."""
        if not self.definitions and not self.places:
            return
        connection.execute(
            "INSERT INTO code_files (source, filename, language) VALUES (?, ?, ?)", file
        )
        file_id = connection.last_insert_rowid()
        connection.executemany(
            "INSERT INTO code_definitions VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (file_id, at, d.name, d.path, d.kind, d.signature, d.start_line, d.end_line)
                for at, d in enumerate(self.definitions)
            ],
        )
        connection.executemany(
            "INSERT INTO code_references VALUES (?, ?, ?)",
            [(file_id, name, places) for name, places in self.places],
        )
        connection.executemany(
            "INSERT INTO code_renames VALUES (?, ?, ?, ?)",
            [(file_id, *rename) for rename in self.renames],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeDocument(Document):
    """A file of code: its chunks, and the names that it defines and uses."""

    chunks: tuple[Chunk, ...] = ()
    names: FileNames = field(default_factory=FileNames)


def build_document(source: Source, file: SourceFile, max_file_bytes: int) -> Document:
    """Read `file` and build its document; a skipped one for e.g. binary content.

    Raises BuildError if the disk fails, so that the file is tried again.
    """
    with build_errors():
        read = read_text(source.root, file, max_file_bytes=max_file_bytes)
    if read.skip_reason:
        return skipped_document(source, file, read.skip_reason, version=CHUNKER_VERSION)
    text, language = read_program(file.path, read.text)
    parsed = parse_text(text, language)
    chunks = parsed.chunks
    is_cut = file.size > max_file_bytes  # a notebook: its outputs were left out
    reason = reasons.read_as(read.encoding) if read.encoding else ""
    reason = reasons.fits_without_outputs(max_file_bytes) if is_cut else reason
    return CodeDocument(
        source=source.name,
        file=file,
        fingerprint=fingerprint(CHUNKER_VERSION, language, read.content_hash),
        language=language,
        status=FileStatus.INDEXED,
        reason=reasons.ASKED_FOR if file.is_asked_for else reason,
        chunks=chunks,
        found=findable(
            file.path, language, chunks, [head_of(file.path, chunk) for chunk in chunks]
        ),
        names=FileNames.of(parsed),
    )


def findable(
    path: str, language: str, chunks: Sequence[Chunk], heads: Sequence[str]
) -> tuple[Findable, ...]:
    """Return the words and the head by which each of `chunks` of the file at `path` is found.

    The words of data are also those of the keys around them.
    """
    path_words = index_words(path)
    has_keys = language in NESTING | SECTIONED
    return tuple(
        Findable((index_words(text), index_words(" ".join(chunk.symbols)), path_words), head)
        for chunk, head in zip(chunks, heads, strict=True)
        for is_apart in [has_keys and chunk.scope not in chunk.code]
        for text in [f"{chunk.scope}\n{chunk.code}" if is_apart else chunk.code]
    )


def head_of(path: str, chunk: Chunk) -> str:
    """Return the head of a chunk, the text that the model embeds: path, scope, comments, code."""
    comments, code = [], []
    room = HEAD_CHARACTERS  # left for code; all comments are put before it
    for line in chunk.code.splitlines():
        if room <= 0 and not line.lstrip().startswith(_MARKS):
            continue
        words = " ".join(line.split())
        if marker := _COMMENT.match(words):
            comments.append(words[marker.end() :])
        elif _HAS_WORD_CHARACTER.search(words) and words.rstrip(" {:;,=(") not in chunk.signature:
            code.append(words)
            room -= len(words)
    lines = [
        path if _HAS_A_WORD.search(path.rpartition(".")[0] or path) else "",
        chunk.scope,
        chunk.signature[:SIGNATURE_CHARACTERS],
        " ".join(chunk.symbols) if len(chunk.symbols) > 1 else "",
        *comments,
        *code,
    ]
    return "\n".join(filter(None, lines))[:HEAD_CHARACTERS]


def read_places(text: str) -> Iterator[Place]:
    """Parse the places in a row of `code_references`, in order."""
    for place in text.split(" "):
        found = _PLACE.fullmatch(place)
        if found:
            letter, line, within, receiver, module = found.groups("")
            number = int(within) if within else None
            yield Place(int(line), _HOW[letter], number, receiver, module)


def _places(
    definitions: Sequence[Definition], references: Sequence[Reference]
) -> Iterator[tuple[str, str]]:
    """Return each used name with its places, in the format that `read_places` parses."""
    starts, numbers = _innermost(definitions)
    by_name: dict[str, dict[str, None]] = {}
    for name, row, how, receiver, module, byte in references:
        place = f"{_LETTERS[how]}{row + 1}"
        if within := numbers[bisect_right(starts, (row, byte)) - 1]:
            place += f":{within}"
        if receiver:
            place += f".{receiver}"
        if module:
            place += f"={module}"
        if name in by_name:
            by_name[name][place] = None
        else:
            by_name[name] = {place: None}
    for name, places in by_name.items():
        yield name, " ".join(places)


def _innermost(definitions: Sequence[Definition]) -> tuple[list[tuple[int, int]], list[str]]:
    """Return where the innermost definition changes, and its number from each such place on.

    A place is a row and a byte, which is 0 unless another definition begins earlier in that row.
    The number is "" outside of definitions. Mere bindings of values do not count.
    """
    starts, numbers = [(-1, 0)], [""]
    around: list[tuple[int, str]] = []  # stop, number
    last = -1  # row in which a definition began

    def leave(row: int) -> None:
        while around and around[-1][0] <= row:
            starts.append((around.pop()[0], 0))
            numbers.append(around[-1][1] if around else "")

    for number, each in enumerate(definitions):
        if not each.is_binding:
            leave(each.start)
            around.append((each.stop, str(number)))
            starts.append((each.start, each.head[0][0] if each.start == last else 0))
            numbers.append(str(number))
            last = each.start
    leave(sys.maxsize)
    return starts, numbers
