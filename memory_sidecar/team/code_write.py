"""Writes documents into a team's database, in one idempotent transaction.

Each transaction renews the lease of the source first (`lease`), so that a machine that lost it
writes nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from psycopg import Cursor

from memory_sidecar.code.builder import split_tracked
from memory_sidecar.code.document import CodeDocument
from memory_sidecar.code.store import CHUNK_COLUMNS, chunk_row
from memory_sidecar.core.model import Chunk, Document
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.keyword import indexed_tokens
from memory_sidecar.index.writing import ReadyVectors
from memory_sidecar.team.connection import Connected, HalfVector
from memory_sidecar.team.postings import WordRow, pack_words, unpack_entries
from memory_sidecar.team.shared_files import KEPT_GENERATIONS

MAX_TERM_BYTES = 2000  # an index takes 2,700; only blobs are longer, and no question has those
MOST_SEGMENTS = 16  # rows of one word; more are joined into one


def team_fingerprint(document: Document) -> str:
    """Return the fingerprint that the team has once `document` is written: "" if it is skipped."""
    return split_tracked(document.fingerprint)[0] if isinstance(document, CodeDocument) else ""


def write_documents(
    connection: Connected,
    source: int,
    generation: int,
    written: Sequence[Document],
    *,
    gone: Collection[str],
    at_hand: ReadyVectors,
) -> None:
    """Replace the documents `written` and delete the paths `gone`.

    Runs in the transaction that took the lease. A file with the same fingerprint is left as it is,
    unless it has no chunks.
    """
    kept = {each.file.path: each for each in written if isinstance(each, CodeDocument)}
    gone = {*gone, *(each.file.path for each in written)} - kept.keys()
    before = connection.execute(
        "SELECT id, path, CASE WHEN chunks > 0 THEN fingerprint ELSE '' END FROM files"
        " WHERE source = %s AND path = ANY(%s)",
        (source, [*kept, *gone]),
    ).fetchall()
    known = {path: file for file, path, _ in before}
    theirs = {path: fingerprint for _, path, fingerprint in before}
    new = {p: each for p, each in kept.items() if theirs.get(p, "") != team_fingerprint(each)}
    replaced = [known[path] for path in (*new, *gone) if path in known]
    chunks_before, tokens_before = _delete_chunks(connection, replaced)
    connection.execute(
        "UPDATE files SET fingerprint = '', chunks = 0, generation = %s WHERE id = ANY(%s)",
        (generation, [known[path] for path in gone if path in known]),
    )
    total = sum(len(each.chunks) for each in new.values())
    numbers = iter(_new_ids(connection, total))
    rows: list[_ChunkRow] = []
    ids = {path: list(islice(numbers, len(each.chunks))) for path, each in new.items()}
    files = _put_files(connection, source, generation, new, ids, known=known)
    for path, each in new.items():
        for row, chunk, found in zip(ids[path], each.chunks, each.found, strict=True):
            body, symbols, its_path = map(indexed_tokens, found.words)
            rows.append((chunk, found.text, WordRow(row, files[path], (body, symbols, its_path))))
    with connection.cursor() as cursor:
        _copy_all(cursor, source, rows, at_hand)
    connection.execute(
        "UPDATE sources SET chunks = chunks + %s, tokens = tokens + %s WHERE id = %s",
        (total - chunks_before, sum(words.tokens for _, _, words in rows) - tokens_before, source),
    )


def fold_rows(connection: Connected, source: int, generation: int) -> None:
    """Delete the rows of files deleted long ago, and join rows of words, without deleted chunks.

    Only the rows of words that have more than `MOST_SEGMENTS` are joined.
    """
    connection.execute(
        "DELETE FROM files WHERE source = %s AND fingerprint = '' AND generation < %s",
        (source, generation - KEPT_GENERATIONS),
    )
    files = connection.execute(
        "SELECT id, first_chunk FROM files WHERE source = %s AND chunks > 0", (source,)
    )
    first_chunks: dict[int, int] = dict(files.fetchall())
    many = connection.execute(
        "SELECT term FROM words WHERE source = %s GROUP BY term HAVING count(*) > %s",
        (source, MOST_SEGMENTS),
    ).fetchall()
    rows = connection.execute(
        "DELETE FROM words WHERE source = %s AND term = ANY(%s) RETURNING term, entries",
        (source, [term for (term,) in many]),
        binary=True,
    ).fetchall()
    lists: dict[str, list[bytes]] = {}
    for term, entries in rows:
        lists.setdefault(term, []).append(entries)
    joined = {}
    for term, parts in lists.items():
        entries = unpack_entries(parts)
        first = [first_chunks.get(file, 1 << 31) for file in entries["file"].tolist()]
        joined[term] = entries[entries["row"] >= np.array(first)].tobytes()
    with connection.cursor() as cursor:
        copy_words(cursor, source, {term: entries for term, entries in joined.items() if entries})


_ChunkRow = tuple[Chunk, str, WordRow]
"""A chunk with its head, and its words."""


def _delete_chunks(connection: Connected, files: Sequence[int]) -> tuple[int, int]:
    """Delete the chunks of `files`, by id; return how many, and their number of tokens."""
    if not files:
        return 0, 0
    for table in ("chunk_static", "chunk_vectors", "chunk_pending"):
        connection.execute(f"DELETE FROM {table} WHERE file = ANY(%s)", (files,))
    ((chunks, tokens),) = connection.execute(
        "WITH gone AS (DELETE FROM chunks WHERE file = ANY(%s) RETURNING tokens)"
        " SELECT count(*), coalesce(sum(tokens), 0)::int FROM gone",
        (files,),
    )
    return chunks, tokens


def _new_ids(connection: Connected, wanted: int) -> list[int]:
    """Return new chunk ids, ascending and higher than all before: see `files.first_chunk`."""
    rows = connection.execute(
        "SELECT nextval(pg_get_serial_sequence('chunks', 'id')) FROM generate_series(1, %s)",
        (wanted,),
    )
    return sorted(row for (row,) in rows)


def _put_files(
    connection: Connected,
    source: int,
    generation: int,
    written: Mapping[str, CodeDocument],
    ids: Mapping[str, Sequence[int]],
    *,
    known: Mapping[str, int],
) -> Mapping[str, int]:
    """Upsert the files of `written`, whose chunks get these `ids`; return their ids by path.

    Only files that are not `known` get new ids, because searches need memory for every id taken.
    """
    found = connection.execute(
        "INSERT INTO files"
        " (source, generation, id, path, language, fingerprint, first_chunk, chunks)"
        " OVERRIDING SYSTEM VALUE"
        " SELECT %s, %s, coalesce(known, nextval(pg_get_serial_sequence('files', 'id'))),"
        " path, language, fingerprint, first_chunk, chunks FROM unnest"
        "(%s::int[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[])"
        " AS given (known, path, language, fingerprint, first_chunk, chunks)"
        " ON CONFLICT (source, path) DO UPDATE SET"
        " language = excluded.language, fingerprint = excluded.fingerprint,"
        " first_chunk = excluded.first_chunk, chunks = excluded.chunks,"
        " generation = excluded.generation RETURNING path, id",
        (
            *(source, generation, [known.get(path) for path in written], list(written)),
            [each.language for each in written.values()],
            [team_fingerprint(each) for each in written.values()],
            [min(ids[path], default=0) for path in written],
            [len(ids[path]) for path in written],
        ),
    )
    return dict(found.fetchall())


def _copy_all(
    cursor: Cursor[tuple[object, ...]],
    source: int,
    rows: Sequence[_ChunkRow],
    at_hand: ReadyVectors,
) -> None:
    if not rows:
        return
    columns = f"id, file, tokens, head, {CHUNK_COLUMNS}"
    with cursor.copy(f"COPY chunks ({columns}) FROM STDIN") as copy:
        for chunk, head, words in rows:
            values = (words.row, words.file, words.tokens, head, *chunk_row(chunk))
            # PostgreSQL stores no NUL.
            copy.write_row([v.replace("\0", "") if isinstance(v, str) else v for v in values])
    copy_words(cursor, source, pack_words(words for _, _, words in rows))
    for table, vectors in (("chunk_static", at_hand.static), ("chunk_vectors", at_hand.known)):
        known = [
            (words.row, source, words.file, vectors[head])
            for _, head, words in rows
            if head in vectors
        ]
        copy_vectors(cursor, table, known)
    with cursor.copy("COPY chunk_pending FROM STDIN") as copy:
        for _, head, words in rows:
            if head not in at_hand.known:
                copy.write_row((words.row, source, words.file))


def copy_words(cursor: Cursor[tuple[object, ...]], source: int, lists: Mapping[str, bytes]) -> None:
    named = ((term.replace("\0", "").encode("utf-8", "replace"), lists[term]) for term in lists)
    _copy_binary(
        cursor,
        "words",
        (
            [_integer(source), term, entries]
            for term, entries in named
            if 0 < len(term) <= MAX_TERM_BYTES
        ),
    )


def copy_vectors(
    cursor: Cursor[tuple[object, ...]], table: str, vectors: Iterable[tuple[int, int, int, Floats]]
) -> None:
    _copy_binary(
        cursor,
        table,
        (
            [_integer(row), _integer(source), _integer(file), HalfVector.of(vector)]
            for row, source, file, vector in vectors
        ),
    )


def _copy_binary(
    cursor: Cursor[tuple[object, ...]], table: str, rows: Iterable[Sequence[bytes]]
) -> None:
    """COPY `rows` into `table`; values are in the binary format of their columns, in order."""
    with cursor.copy(f"COPY {table} FROM STDIN (FORMAT binary)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for values in rows:
            sized = (struct.pack(">i", len(value)) + value for value in values)
            copy.write(struct.pack(">h", len(values)) + b"".join(sized))
        copy.write(b"\xff\xff")


def _integer(value: int) -> bytes:
    return struct.pack(">i", value)
