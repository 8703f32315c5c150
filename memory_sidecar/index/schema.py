"""What a database is made of, what it was made with, and whether this build may use it.

A file that is not ours is never touched. One of a newer schema is refused, since a newer build
may be using it. An older schema is set aside as it is and made anew: everything in it is derived.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import apsw

from memory_sidecar.core.errors import StoreCorrupt, StoreForeign, StoreNewer
from memory_sidecar.core.sqlite import (
    APPLICATION_ID,
    column,
    connect,
    named_errors,
    set_aside,
    snapshot,
    transaction,
)

DIMENSION = 384  # of the model's vectors
STATIC_DIMENSION = 256


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Where one kind of vector of a corpus lasts: `id`, and the vector as a blob in `embedding`."""

    name: str
    dimension: int
    is_coded: bool  # unit vectors of whole numbers, eight bits each; else floats, in a vec0

    @property
    def version_key(self) -> str:
        """The identity's count of transactions that changed it."""
        return f"{self.name}_version"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set of rows that can be searched, with their words and their vectors: names their tables.

    Every corpus has the same ones, named after it; the SQL that makes them explains them. A row has
    a vector or waits for one, never both, never neither.
    """

    name: str
    rows: str  # the table of the rows, keyed by `id`
    text: str  # SQL expression over a row: what the model sees of it
    source: str  # SQL expression over a row: the name of the source that it is derived from
    columns: tuple[str, ...] = ("body",)  # of `words`
    weights: tuple[float, ...] = (1.0,)  # of these columns, for BM25
    path: str = "''"  # the same: of its file, relative to that source
    has_static: bool = False  # static vectors come with the words, before the model's

    @property
    def words(self) -> str:
        """FTS5, contentless: what the keyword arm finds a row by."""
        return f"{self.name}_words"

    @property
    def vocabulary(self) -> str:
        """fts5vocab over `words`: how many rows hold a word."""
        return f"{self.name}_vocabulary"

    @property
    def vectors(self) -> str:
        """Name of `vector_table`."""
        return self.vector_table.name

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
        """The durable queue: id, queued_at."""
        return f"{self.name}_pending"


@dataclass(frozen=True, slots=True)
class Schema:
    """What a kind of database is made of."""

    kind: str  # "code": what a person would say that it holds
    version: int
    scripts: tuple[str, ...]  # in the package, in order, after `index/derived.sql`
    corpora: tuple[Corpus, ...]  # what can be searched in it; the first one's rows tell the kind


def open_current(path: Path, schema: Schema) -> apsw.Connection:
    """A writer's connection to `path` with the current schema, made or made anew as needed."""
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
    """The version of the schema in `path`, 0 for none. Raises as `open_current`; writes nothing."""
    if not path.exists():
        return 0
    connection = connect(path, read_only=True)
    try:
        return _version(connection, path, schema)
    finally:
        connection.close()


def is_outdated(path: Path, schema: Schema) -> bool:
    """Whether `path` has an older schema. Raises as `open_current`; writes nothing."""
    return found_version(path, schema) not in (0, schema.version)


def require_ours(path: Path, schema: Schema) -> None:
    """Raise StoreForeign for what is at `path` and no database of `schema`; a damaged one is ours.

    For a place that a caller names, before anything is put beside it.
    """
    if path.is_dir():
        raise StoreForeign(f"{path} is a folder, no database", hint="name a file with --db")
    with suppress(StoreCorrupt):
        found_version(path, schema)


def read_identity(connection: apsw.Connection, key: str) -> str:
    """One value of the identity, "" when it has none."""
    value = connection.execute("SELECT value FROM identity WHERE key = ?", (key,)).get
    return str(value or "")


def write_identity(connection: apsw.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO identity VALUES (?, ?)", (key, value))


def new_state_id() -> str:
    """A random id that a database and a CocoIndex state folder carry when they belong together."""
    return secrets.token_hex(16)


def _version(connection: apsw.Connection, path: Path, schema: Schema) -> int:
    """0 for a new file."""
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
