"""The contents of a database, without what may differ between two made from the same files.

Ids are replaced by what they identify; times, random state ids and transaction counts are left
out. Words are read back from FTS5 itself, vectors are compared bit by bit.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path

import apsw

from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.sqlite import connect
from memory_sidecar.index.schema import Corpus

Rows = dict[str, Counter[tuple[object, ...]]]  # by table

_TABLES = ("sources", "files", "code_chunks", "code_files")
_NAME_TABLES = ("code_definitions", "code_references")
_NOT_COMPARED = {"id", "state_id", "scanned_at", "indexed_at", "updated_at"}
_CHUNK_KEY = "source, filename, location"


def rows_of(db: Path) -> Rows:
    """The rows of a database of code. Raises if SQLite reports the file as damaged."""
    connection = connect(db, read_only=True)
    try:
        (verdict,) = next(connection.execute("PRAGMA integrity_check"))
        if verdict != "ok":
            raise ValueError(f"{db.name}: {verdict}")
        rows = {table: _plain_rows(connection, table) for table in _TABLES}
        rows |= {table: _name_rows(connection, table) for table in _NAME_TABLES}
        rows["identity"] = Counter(
            connection.execute("SELECT key, value FROM identity WHERE key NOT LIKE '%_version'")
        )
        for corpus in CodeStore.SCHEMA.corpora:
            rows |= _corpus_rows(connection, corpus)
        return rows
    finally:
        connection.close()


def differences(ours: Rows, theirs: Rows) -> dict[str, tuple[int, int]]:
    """By table, the number of rows only in `ours` and only in `theirs`; empty if all are equal."""
    found = {
        table: ((ours[table] - theirs[table]).total(), (theirs[table] - ours[table]).total())
        for table in ours
    }
    return {table: counts for table, counts in found.items() if any(counts)}


def _plain_rows(connection: apsw.Connection, table: str) -> Counter[tuple[object, ...]]:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    compared = ", ".join(name for name in columns if name not in _NOT_COMPARED)
    return Counter(connection.execute(f"SELECT {compared} FROM {table}"))


def _name_rows(connection: apsw.Connection, table: str) -> Counter[tuple[object, ...]]:
    """The rows of a table of names, with what their file identifies first."""
    of_files = f"FROM {table} n LEFT JOIN code_files f ON f.id = n.file"
    return Counter(
        (source, filename, *row)
        for source, filename, _, *row in connection.execute(
            f"SELECT f.source, f.filename, n.* {of_files}"
        )
    )


def _corpus_rows(connection: apsw.Connection, corpus: Corpus) -> Rows:
    key_of = {
        row_id: tuple(key)
        for row_id, *key in connection.execute(f"SELECT id, {_CHUNK_KEY} FROM {corpus.rows}")
    }
    named = {"words": _words(connection, corpus)}
    for table in corpus.vector_tables:
        vectors = connection.execute(f"SELECT id, embedding FROM {table.name}")
        named[table.name.removeprefix(f"{corpus.name}_")] = {
            row_id: hashlib.sha256(vector).hexdigest() for row_id, vector in vectors
        }
    named["pending"] = {
        row_id: "" for (row_id,) in connection.execute(f"SELECT id FROM {corpus.pending}")
    }
    return {
        f"{corpus.name}_{name}": Counter(
            (*key_of.get(row_id, ("of no row", row_id)), value) for row_id, value in values.items()
        )
        for name, values in named.items()
    }


def _words(connection: apsw.Connection, corpus: Corpus) -> dict[int, str]:
    """By row id, a digest of all words with their columns and positions."""
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', '{corpus.words}', 'instance')"
    )
    digests: dict[int, hashlib._Hash] = defaultdict(hashlib.sha256)
    for term, row_id, column, position in connection.execute(
        'SELECT term, doc, col, "offset" FROM temp.words'
    ):
        digests[row_id].update(f"{term}\0{column}\0{position}\n".encode())
    connection.execute("DROP TABLE temp.words")
    return {row_id: digest.hexdigest() for row_id, digest in digests.items()}
