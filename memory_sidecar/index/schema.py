"""The tables of a database, what it was made with, and whether this version may use it.

A file that is not ours is never touched. A newer schema is refused, since a newer version may be
using the file. A file with an older schema is set aside and made again: all of it is derived.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
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
from memory_sidecar.embedding.static import STATIC_DIMENSION
from memory_sidecar.embedding.supply import BGE_SMALL
from memory_sidecar.index.vectors import VectorTable

DIMENSION = BGE_SMALL.dimension

_VERSION = re.compile(r"^-- version (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A file of the package with SQL that creates tables."""

    path: str
    names: Mapping[str, object] = field(default_factory=dict)  # replace the `{…}` in its text

    def read(self) -> str:
        text = (Path(__file__).parents[1] / self.path).read_text("utf-8")
        return text.format_map(self.names) if self.names else text

    @property
    def version(self) -> int:
        """The number in the line `-- version N` of its text."""
        return _version_in(self.path)


@cache
def _version_in(path: str) -> int:
    found = _VERSION.search(SqlFile(path).read())
    assert found is not None, f"{path} has no version"
    return int(found[1])


@dataclass(frozen=True, slots=True)
class Corpus:
    """A kind of searchable rows, such as chunks of code, and the names of its tables.

    Every corpus has the same tables, named after it; corpus.sql explains them. A row either has a
    vector or waits for one in `pending`.
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

    @property
    def script(self) -> SqlFile:
        """The SQL that creates its tables, except `static_table`."""
        names = {
            "words": self.words,
            "columns": ", ".join(self.columns),
            "vocabulary": self.vocabulary,
            "vectors": self.vector_table.name,
            "dimension": DIMENSION,
            "pending": self.pending,
            "rows": self.rows,
        }
        return SqlFile("index/corpus.sql", names)


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of one kind of database."""

    kind: str  # what it holds, for messages: "code"
    own_scripts: tuple[SqlFile, ...]
    corpora: tuple[Corpus, ...]  # the first one's table of rows identifies the kind

    @property
    def scripts(self) -> tuple[SqlFile, ...]:
        """All scripts, in the order in which they run."""
        of_corpora = (corpus.script for corpus in self.corpora)
        return (SqlFile("index/derived.sql"), *of_corpora, *self.own_scripts)

    @property
    def version(self) -> int:
        """The sum of the versions of its files, so that raising that of any file raises it."""
        return sum({script.path: script.version for script in self.scripts}.values())


def open_current(path: Path, schema: Schema) -> apsw.Connection:
    """Open `path` for writing; make the database, and set one with an older schema aside first."""
    connection = connect(path)
    try:
        found = version_of(connection, path, schema)
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
        return version_of(connection, path, schema)
    finally:
        connection.close()


def require_ours(path: Path, schema: Schema) -> None:
    """Raise StoreForeign if `path` exists and is no database of `schema`; a damaged one passes.

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


def version_of(connection: apsw.Connection, path: Path, schema: Schema) -> int:
    """Return the schema version of `path`, 0 for a new file. Raises StoreForeign and StoreNewer."""
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
            hint=f"update memory-sidecar, or delete {path}*: it is made anew from the files",
        )
    return int(version)


def _create(connection: apsw.Connection, schema: Schema) -> None:
    with transaction(connection):
        if connection.pragma("user_version") == schema.version:
            return  # another process was faster
        for script in schema.scripts:
            connection.execute(script.read())
        for corpus in schema.corpora:
            for table in corpus.vector_tables:
                write_identity(connection, table.version_key, "0")
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", schema.version)
