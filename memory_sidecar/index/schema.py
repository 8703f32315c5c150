"""The tables of a database, whether this version may use it, and one write transaction of it.

A file that is not ours is never touched. A newer schema is refused, since a newer version may be
using the file. A file with an older schema is set aside and made again: all of it is derived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Final

import apsw

from memory_sidecar.core.errors import StoreCorrupt, StoreForeign, StoreNewer
from memory_sidecar.core.model import Findable
from memory_sidecar.core.sqlite import (
    APPLICATION_ID,
    column,
    connect,
    named_errors,
    set_aside,
    snapshot,
    transaction,
)
from memory_sidecar.index.codes import Floats
from memory_sidecar.index.vectors import (
    Vector,
    VectorIndex,
    VectorTable,
    blob_of,
    raise_vector_version,
)

DIMENSION = 384  # of the model's vectors
STATIC_DIMENSION = 256


@dataclass(frozen=True, slots=True)
class Corpus:
    """A kind of searchable rows, such as chunks of code, and the names of its tables.

    Every corpus has the same tables, named after it; the .sql files explain them. A row either has
    a vector or waits for one in `pending`.
    """

    name: str
    rows: str  # the table of the rows, keyed by `id`
    text: str  # SQL expression over a row: the text to embed
    source: str  # SQL expression over a row: the name of its source
    columns: tuple[str, ...] = ("body",)  # of `words`
    weights: tuple[float, ...] = (1.0,)  # of these columns, for BM25
    path: str = "''"  # SQL expression over a row: the path of its file, relative to the source
    has_static: bool = False  # whether its rows have static vectors, too

    @property
    def words(self) -> str:
        """The contentless FTS5 table that the keyword arm searches."""
        return f"{self.name}_words"

    @property
    def vocabulary(self) -> str:
        """The fts5vocab table of `words`: how many rows hold a word."""
        return f"{self.name}_vocabulary"

    @property
    def vector_table(self) -> VectorTable:
        """The model's vectors."""
        return VectorTable(f"{self.name}_vectors", DIMENSION, is_coded=False)

    @property
    def static_table(self) -> VectorTable | None:
        """The static vectors, where there are any."""
        if not self.has_static:
            return None
        return VectorTable(f"{self.name}_static", STATIC_DIMENSION, is_coded=True)

    @property
    def vector_tables(self) -> tuple[VectorTable, ...]:
        """Every table of vectors."""
        static = self.static_table
        return (self.vector_table, static) if static else (self.vector_table,)

    @property
    def pending(self) -> str:
        """The table of rows that wait for the model's vector: id, queued_at."""
        return f"{self.name}_pending"


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of one kind of database."""

    kind: str  # what it holds, for messages: "code"
    version: int
    scripts: tuple[str, ...]  # in the package, in order, after `index/derived.sql`
    corpora: tuple[Corpus, ...]  # the first one's table of rows identifies the kind


def open_current(path: Path, schema: Schema) -> apsw.Connection:
    """Open `path` for writing; make the database, and set one with an older schema aside first."""
    connection = connect(path)
    try:
        found = _version(connection, path, schema)
        if found == schema.version:
            return connection
        if found:
            connection.close()
            set_aside(path)
            connection = connect(path)
        _create(connection, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def found_version(path: Path, schema: Schema) -> int:
    """Return the schema version of `path`, 0 for none. Writes nothing; raises as `open_current`."""
    if not path.exists():
        return 0
    connection = connect(path, read_only=True)
    try:
        return _version(connection, path, schema)
    finally:
        connection.close()


def is_outdated(path: Path, schema: Schema) -> bool:
    """Whether `path` has an older schema. Writes nothing; raises as `open_current`."""
    return found_version(path, schema) not in (0, schema.version)


def require_ours(path: Path, schema: Schema) -> None:
    """Raise StoreForeign if `path` exists and is no database of `schema`; damaged ones are.

    Checks a path that a caller names, before files are put beside it.
    """
    if path.is_dir():
        raise StoreForeign(f"{path} is a folder, no database", hint="name a file with --db")
    with suppress(StoreCorrupt):
        found_version(path, schema)


def read_identity(connection: apsw.Connection, key: str) -> str:
    """Return one value of the `identity` table, "" if it is missing."""
    value = connection.execute("SELECT value FROM identity WHERE key = ?", (key,)).get
    return str(value or "")


def write_identity(connection: apsw.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO identity VALUES (?, ?)", (key, value))


def _version(connection: apsw.Connection, path: Path, schema: Schema) -> int:
    """Return the schema version, 0 for a new file. Raises StoreForeign and StoreNewer."""
    with named_errors(path), snapshot(connection):  # another process may be making it now
        application, version = (
            connection.pragma("application_id"),
            connection.pragma("user_version"),
        )
        rows = schema.corpora[0].rows
        tables = column(connection, "SELECT name = ? FROM sqlite_schema", (rows,))
    if application == 0 and version == 0 and not tables:
        return 0  # new, or emptied
    if application != APPLICATION_ID or 1 not in tables:  # the vector cache has our id, too
        raise StoreForeign(
            f"{path} is not a database of {schema.kind}",
            hint="name another file with --db; this one was left as it is",
        )
    if version > schema.version:
        raise StoreNewer(
            f"{path} has schema {version}, this version knows {schema.version}",
            hint="update memory-sidecar, or name another file with --db",
        )
    return int(version)


def _create(connection: apsw.Connection, schema: Schema) -> None:
    sql = resources.files("memory_sidecar")
    with transaction(connection):
        if connection.pragma("user_version") == schema.version:
            return  # another process was faster
        for script in ("index/derived.sql", *schema.scripts):
            connection.execute(sql.joinpath(script).read_text("utf-8"))
        for corpus in schema.corpora:
            for table in corpus.vector_tables:
                write_identity(connection, table.version_key, "0")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", schema.version)


@dataclass(frozen=True, slots=True)
class ReadyVectors:
    """Vectors that can be stored without running the model, by the text that they stand for."""

    known: Mapping[str, Vector] = field(default_factory=dict)  # made by the model earlier
    static: Mapping[str, Floats] = field(default_factory=dict)  # 256 floats each, of unit length


NO_READY_VECTORS: Final = ReadyVectors()
QUEUED_LAST: Final = 0  # the `queued_at` that sorts last: the queue is read newest first


class Write:
    """A write transaction, open within the block of `committed`. The store hands it to its caller.

    A row is committed together with its words and with any vector that is already available, so
    that a reader sees all of them or none. A new kind of vector that is made with the words belongs
    in `index_row`. `indexed` and `deleted` count the searchable rows that were inserted and deleted
    so far.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        indexes: Iterable[VectorIndex],
        *,
        now: int,
        queued_at: int | None,
        at_hand: ReadyVectors,
    ) -> None:
        """`indexes`: the in-memory vector indexes that are updated after the commit.

        `now` (epoch ms) stamps what is written; `queued_at` (epoch ms) orders the queue of rows
        that wait for their vector, `now` by default.
        """
        self.connection = connection
        self.now = now
        self._queued_at = now if queued_at is None else queued_at
        self._at_hand = at_hand
        self._indexes = {index.table: index for index in indexes}
        self.indexed = 0
        self.deleted = 0
        self._removed: dict[VectorTable, list[int]] = {table: [] for table in self._indexes}
        self._added: dict[VectorTable, list[tuple[int, bytes]]] = {
            table: [] for table in self._indexes
        }

    def index_row(self, corpus: Corpus, found: Findable, *, can_wait: bool = False) -> None:
        """Index the words and the vectors of the row that this connection inserted last.

        Without a known vector the row joins the queue of its corpus, at the very end if `can_wait`.
        """
        row_id, text = self.connection.last_insert_rowid(), found.text
        values = ", ".join("?" * (1 + len(found.words)))
        self.connection.execute(
            f"INSERT INTO {corpus.words} (rowid, {', '.join(corpus.columns)}) VALUES ({values})",
            (row_id, *found.words),
        )
        static = self._at_hand.static.get(text)
        if static is not None and corpus.static_table is not None:
            self.put_vector(corpus.static_table, row_id, static)
        vector = self._at_hand.known.get(text)
        if vector is None:
            self.connection.execute(
                f"INSERT INTO {corpus.pending} VALUES (?, ?)",
                (row_id, QUEUED_LAST if can_wait else self._queued_at),
            )
        else:
            self.put_vector(corpus.vector_table, row_id, vector)
        self.indexed += 1

    def queue_again(self, corpus: Corpus, ids: Iterable[int]) -> None:
        """Move those of the rows `ids` that wait for a vector to the front, as if just written."""
        self.connection.executemany(
            f"UPDATE {corpus.pending} SET queued_at = ?"
            f" WHERE id = ? AND queued_at <> {QUEUED_LAST}",
            [(self._queued_at, row_id) for row_id in ids],
        )

    @property
    def brings_static(self) -> bool:
        """Whether this transaction has static vectors for the rows it indexes."""
        return bool(self._at_hand.static)

    def put_vector(self, table: VectorTable, row_id: int, vector: Floats) -> None:
        """Store the unit vector of a row that has none in `table` yet."""
        blob = blob_of(vector, table)
        self.connection.execute(f"INSERT INTO {table.name} VALUES (?, ?)", (row_id, blob))
        self._added[table].append((row_id, blob))

    def clear_vectors(self, table: VectorTable) -> None:
        """Delete every vector in `table`."""
        self._removed[table] += column(self.connection, f"SELECT id FROM {table.name}")
        self.connection.execute(f"DELETE FROM {table.name}")

    def delete_rows(self, corpus: Corpus, condition: str, values: Sequence[Any]) -> None:
        """Delete the rows for which the SQL `condition` holds, with their words and vectors."""
        chosen = f"SELECT id FROM {corpus.rows} WHERE {condition}"
        ids = [(row_id,) for row_id in column(self.connection, chosen, values)]
        if ids:
            self.connection.executemany(f"DELETE FROM {corpus.words} WHERE rowid = ?", ids)
            for table in corpus.vector_tables:
                self.connection.executemany(f"DELETE FROM {table.name} WHERE id = ?", ids)
                self._removed[table] += [row_id for (row_id,) in ids]
            # The foreign key of the queue's table deletes what waits there.
            self.connection.execute(f"DELETE FROM {corpus.rows} WHERE {condition}", values)
            self.deleted += len(ids)

    @contextmanager
    def committed(self) -> Iterator[None]:
        """Commit all of the block or nothing of it, then update the vector indexes."""
        versions = {}
        try:
            with transaction(self.connection) as connection:
                yield
                for table, index in self._indexes.items():
                    if self._removed[table] or self._added[table]:
                        versions[table] = raise_vector_version(connection, table)
                        index.expect(versions[table])
        except BaseException:
            for table in versions:
                self._indexes[table].expect(None)
            raise
        for table, version in versions.items():
            self._indexes[table].apply(
                version=version, removed=self._removed[table], added=self._added[table]
            )
