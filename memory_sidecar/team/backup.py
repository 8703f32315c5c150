"""Exports a team's code into one file, and imports it: sources with words and vectors.

The file is a zip with the rows of each table as COPY streams them, from one snapshot. The import
assigns new ids in the same order. Memories are not in it: each machine has them as files.
"""

from __future__ import annotations

import json
import os
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import IO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import msgspec
import numpy as np
import psycopg
from psycopg.errors import ProgramLimitExceeded

from memory_sidecar.code.store import CHUNK_COLUMNS
from memory_sidecar.core.atomic import TEMPORARY_PREFIX, sweep
from memory_sidecar.core.errors import Conflict, NotFound, StoreForeign, StoreNewer
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.results import Reporter, convert
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.index.codes import Ids
from memory_sidecar.team.code_write import copy_words
from memory_sidecar.team.connection import Connected
from memory_sidecar.team.held import delete_source
from memory_sidecar.team.link import TeamLink
from memory_sidecar.team.postings import unpack_entries
from memory_sidecar.team.schema import VERSION, declare_nearest, make_schema, require_schema

HEADER = "memory-sidecar.json"
BLOCK_BYTES = 1 << 20
MAX_HEADER_BYTES = 64 << 20
WORDS_AT_ONCE = 10_000  # rows of `words` that are renumbered in memory at once

# RuntimeError: a zip that is encrypted
_DAMAGED = (
    *(BadZipFile, zlib.error, EOFError, RuntimeError),
    *(KeyError, ValueError, TypeError, msgspec.ValidationError),
)
# The server's errors for malformed rows, and for rows that are duplicates or lack a value.
_MALFORMED = (psycopg.DataError, psycopg.IntegrityError, ProgramLimitExceeded)

_OF_SOURCES = "source = ANY(%s)"
_TABLES: Final = {
    "files": f"{_OF_SOURCES} AND fingerprint <> ''",
    "chunks": f"file IN (SELECT id FROM files WHERE {_OF_SOURCES})",
    "words": _OF_SOURCES,
    "chunk_static": _OF_SOURCES,
    "chunk_vectors": _OF_SOURCES,
    "chunk_pending": _OF_SOURCES,
}
_NEW_IDS = (
    "CREATE TEMP TABLE {0}_ids ON COMMIT DROP AS"
    " SELECT id, nextval(pg_get_serial_sequence('{0}', 'id'))::int AS new"
    " FROM (SELECT id FROM imported_{0} ORDER BY id) AS imported"
)
_INSERT = (
    "INSERT INTO files OVERRIDING SYSTEM VALUE SELECT i.new, s.new, f.path, f.language,"
    " f.fingerprint, coalesce(c.new, 0), f.chunks, 1 FROM imported_files f"
    " JOIN files_ids i USING (id) JOIN sources_ids s ON s.id = f.source"
    " LEFT JOIN chunks_ids c ON c.id = f.first_chunk",
    f"INSERT INTO chunks SELECT c.new, f.new, {CHUNK_COLUMNS}, head, tokens FROM imported_chunks"
    " JOIN chunks_ids c USING (id) JOIN files_ids f ON f.id = file",
    *(
        f"INSERT INTO {table} SELECT c.new, s.new, f.new{more} FROM imported_{table}"
        " JOIN chunks_ids c USING (id) JOIN sources_ids s ON s.id = source"
        " JOIN files_ids f ON f.id = file"
        for table, more in (
            ("chunk_static", ", embedding"),
            ("chunk_vectors", ", embedding"),
            ("chunk_pending", ""),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class ExportedSource:
    """A source in an exported file."""

    id: int
    repository: str
    branch: str
    folder: str
    model: str
    static: str
    chunks: int
    tokens: int


def export_code(link: TeamLink, file: Path, repository: str) -> Sequence[ExportedSource]:
    """Write the sources of `repository` (all for "") to `file`, whole or not at all.

    Raises NotFound if there is none, NoIndex, DatabaseError, and SidecarError for the file.
    """
    part = file.with_name(TEMPORARY_PREFIX + secrets.token_hex(8))  # new: no link, nor another's
    sweep(Tree(file.parent), file.parent, pattern="")
    with named_errors(file), link.reading() as connection:
        require_schema(connection, link)
        rows = connection.execute(
            "SELECT id, repository, branch, folder, model, static, chunks, tokens FROM sources"
            " WHERE %(only)s IN ('', repository) AND lease_until < 'infinity' ORDER BY id",
            {"only": repository},
        )
        sources = [ExportedSource(*row) for row in rows]
        if not sources:
            raise NotFound(
                f"{link.shown} has nothing of {repository or 'any repository'}",
                hint="`memory-sidecar index PATH` uploads one",
            )
        try:
            with ZipFile(part, "x", ZIP_DEFLATED) as kept:
                header = {"version": VERSION, "sources": [asdict(each) for each in sources]}
                kept.writestr(HEADER, json.dumps(header))
                for table in _TABLES:
                    with kept.open(table, "w", force_zip64=True) as stream:
                        _copy_to(connection, table, [each.id for each in sources], stream)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
    return sources


def import_code(
    link: TeamLink, file: Path, *, replaces: bool, reporter: Reporter
) -> Sequence[ExportedSource]:
    """Import the sources in `file`, all or none; `replaces` those that the team has already.

    Raises NotFound without the file, Conflict if the team has one, StoreForeign for another kind of
    file, StoreNewer for one of a later version, DatabaseError, SidecarError if it is unreadable.
    """
    try:
        with named_errors(file), _opened(file) as whole, ZipFile(whole) as kept:
            sources = _read_sources(kept, file)
            make_schema(link, reporter)
            with link.writing(patience_s=inf) as connection:
                try:
                    for table in _TABLES:
                        with kept.open(table) as stream:
                            _copy_from(connection, table, stream)
                    _insert_sources(connection, sources, replaces=replaces)
                except _MALFORMED as error:
                    raise ValueError(str(error)) from error
    except _DAMAGED as error:
        raise StoreForeign(
            f"{file} is not a file of `memory-sidecar team export`",
            hint="name a file that it wrote",
        ) from error
    declare_nearest(link, reporter)
    return sources


def _opened(file: Path) -> IO[bytes]:
    """Open the file that a user named, unless it is a FIFO, which opening would wait for."""
    real = Path(os.path.realpath(file))
    try:
        return os.fdopen(Tree(real.parent).open(real.name), "rb")
    except (FileNotFoundError, NotADirectoryError):
        hint = "name one that `memory-sidecar team export` wrote"
        raise NotFound(f"there is no file {file}", hint=hint) from None


def _read_sources(kept: ZipFile, file: Path) -> list[ExportedSource]:
    if any(each.compress_type not in (ZIP_DEFLATED, ZIP_STORED) for each in kept.infolist()):
        raise ValueError("compressed in another way")  # reading that raises errors of its own
    with kept.open(HEADER) as first:
        header = json.loads(first.read(MAX_HEADER_BYTES))
    if header["version"] > VERSION:
        raise StoreNewer(
            f"{file} has schema {header['version']}, this version knows {VERSION}",
            hint="update memory-sidecar on this machine",
        )
    sources = convert(header["sources"], list[ExportedSource])
    if any(min(each.chunks, each.tokens) < 0 for each in sources):
        raise ValueError("a negative count")  # on which each search of the team would fail
    return sources


def _copy_from(connection: Connected, table: str, stream: IO[bytes]) -> None:
    connection.execute(f"CREATE TEMP TABLE imported_{table} (LIKE {table}) ON COMMIT DROP")
    into = f"COPY imported_{table} FROM STDIN (FORMAT binary)"
    with connection.cursor().copy(into) as copy:
        while block := stream.read(BLOCK_BYTES):
            copy.write(block)


def _copy_to(connection: Connected, table: str, sources: Sequence[int], stream: IO[bytes]) -> None:
    rows = f"SELECT * FROM {table} WHERE {_TABLES[table]}"
    with connection.cursor().copy(
        f"COPY ({rows}) TO STDOUT (FORMAT binary)", (list(sources),)
    ) as copy:
        for block in copy:
            stream.write(block)


def _insert_sources(
    connection: Connected, sources: Sequence[ExportedSource], *, replaces: bool
) -> None:
    """Insert the rows of the temporary tables under new ids."""
    connection.execute("CREATE TEMP TABLE sources_ids (id int, new int) ON COMMIT DROP")
    new_sources: dict[int, int] = {}
    for each in sources:
        new_sources[each.id] = _new_source(connection, each, replaces=replaces)
        connection.execute(
            "INSERT INTO sources_ids VALUES (%s, %s)", (each.id, new_sources[each.id])
        )
    for table in ("files", "chunks"):
        connection.execute(_NEW_IDS.format(table))
    for statement in _INSERT:
        connection.execute(statement)
    files, chunks = _NewIds.of(connection, "files"), _NewIds.of(connection, "chunks")
    with connection.cursor("words", binary=True) as words, connection.cursor() as cursor:
        words.execute("SELECT source, term, entries FROM imported_words")
        while rows := words.fetchmany(WORDS_AT_ONCE):
            for source, new in new_sources.items():
                lists: dict[str, bytes] = {}
                for of, term, entries in rows:
                    if of == source:
                        lists[term] = lists.get(term, b"") + _renumbered(entries, files, chunks)
                copy_words(cursor, new, {term: each for term, each in lists.items() if each})


def _new_source(connection: Connected, kept: ExportedSource, *, replaces: bool) -> int:
    """Insert the row of a source, in place of the team's if `replaces`; return its id.

    The machine that indexes the replaced one keeps its lease.
    """
    named = (kept.repository, kept.branch, kept.folder)
    known = connection.execute(
        "SELECT id, holder, lease_until::text FROM sources"
        " WHERE (repository, branch, folder) = (%s, %s, %s) FOR UPDATE",
        named,
    ).fetchone()
    is_there = known is not None and known[-1] != "infinity"  # else it was removed, see `lease`
    taken = Conflict(
        f"the team has {kept.repository} ({kept.branch}) already",
        hint="--replace overwrites it with the file's",
    )
    if is_there and not replaces:
        raise taken
    if known:
        delete_source(connection, known[0])
    inserted = connection.execute(
        "INSERT INTO sources"
        " (repository, branch, folder, generation, model, static, chunks, tokens,"
        " holder, lease_until) VALUES (%s, %s, %s, 1, %s, %s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING RETURNING id",
        (
            *(*named, kept.model, kept.static, kept.chunks, kept.tokens),
            *(known[1:] if known and is_there else ("", "-infinity")),
        ),
    ).fetchone()
    if inserted is None:  # another import was faster
        raise taken
    return int(inserted[0])


@dataclass(frozen=True, slots=True)
class _NewIds:
    """Maps ids in the file, ascending in `before`, to the new ones in `after`."""

    before: Ids
    after: Ids

    @classmethod
    def of(cls, connection: Connected, table: str) -> _NewIds:
        rows = connection.execute(f"SELECT id, new FROM {table}_ids ORDER BY id").fetchall()
        before, after = np.array([*rows, (1 << 40, 0)], np.int64).T
        return cls(before, after)

    def __call__(self, ids: Ids) -> Ids:
        """Return the new ids; 0 for ids for which the file has no row."""
        at = np.searchsorted(self.before, ids)
        return np.where(self.before[at] == ids, self.after[at], 0)


def _renumbered(entries: bytes, files: _NewIds, chunks: _NewIds) -> bytes:
    found = unpack_entries([entries]).copy()
    found["row"], found["file"] = chunks(found["row"]), files(found["file"])
    return found[found["row"] > 0].tobytes()
