"""Writes and deletes the rows of a memory's file in the agent's database.

The same transaction updates which memories are superseded and which categories exist, so that no
query has to compute that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from memory_sidecar.core.model import Document, Findable, estimate_tokens
from memory_sidecar.core.sqlite import Connection, column
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import index_words
from memory_sidecar.index.writing import Write
from memory_sidecar.memories.files import NOT_COLUMNS, MemoryPage
from memory_sidecar.memories.model import IndexedMemory, Relation
from memory_sidecar.memories.names import with_parents

MEMORY_CHUNKS = Corpus(
    name="memory_chunk",
    rows="memory_chunks",
    text="CASE context WHEN '' THEN text ELSE context || char(10) || text END",
    columns=("body", "title", "labels"),
    weights=(1.0, 1.5, 1.5),
    source="(SELECT directory FROM memories WHERE key = memory)",
)


@dataclass(frozen=True, slots=True)
class MemoryChunk:
    """A part of a memory's content: the unit that is searched."""

    text: str
    context: str  # summary or headings that the text itself lacks, "" if nothing
    heading: str
    start_line: int  # of the file, from 1, inclusive
    end_line: int

    @property
    def embedded_text(self) -> str:
        """The text for the models, equal to the SQL in `MEMORY_CHUNKS.text`."""
        return f"{self.context}\n{self.text}" if self.context else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDocument(Document):
    """The document of a memory's file, with its chunks."""

    memory: IndexedMemory
    chunks: tuple[MemoryChunk, ...]


def make_findable(memory: IndexedMemory, chunk: MemoryChunk) -> Findable:
    """Make the index entry of a chunk of `memory`: its words by column, and its text to embed."""
    title = f"{memory.page.summary}\n{chunk.heading}"
    labels = f"{memory.path.removesuffix('.md')} {' '.join(memory.page.tags)}"
    return Findable(tuple(map(index_words, (chunk.text, title, labels))), chunk.embedded_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryDocument(Document):
    """The document of a page that describes the category it lies in."""

    category: str
    description: str


def insert_memory(write: Write, document: MemoryDocument) -> None:
    """Insert the rows of a memory whose file has no rows yet."""
    connection, memory = write.connection, document.memory
    key = _insert_row(connection, document)
    connection.execute("INSERT INTO memory_contents VALUES (?, ?)", (key, memory.page.content))
    connection.executemany(
        "INSERT OR IGNORE INTO memory_tags VALUES (?, ?)",
        [(found_by, key) for tag in memory.page.tags for found_by in _tag_keys(tag)],
    )
    connection.executemany(
        "INSERT OR IGNORE INTO memory_relations VALUES (?, ?, ?)",
        [(key, relation, target) for relation, target in memory.relations],
    )
    _update_superseded(connection, _affected_paths(connection, key))
    if not connection.execute(
        "SELECT 1 FROM categories WHERE path = ?", (memory.category,)
    ).fetchone():
        _update_categories(connection, [memory.category])
    for chunk, found in zip(document.chunks, document.found, strict=True):
        connection.execute(
            "INSERT INTO memory_chunks (memory, text, context, heading, start_line, end_line)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (key, chunk.text, chunk.context, chunk.heading, chunk.start_line, chunk.end_line),
        )
        write.index_row(MEMORY_CHUNKS, found)


def insert_category(write: Write, document: CategoryDocument) -> None:
    """Insert the row of a page that describes a category."""
    write.connection.execute(
        "INSERT INTO category_pages VALUES (?, ?, ?, ?)",
        (document.source, document.file.path, document.category, document.description),
    )
    _update_categories(write.connection, [document.category])


def delete_memories(write: Write, directory: str, file: str | None) -> None:
    """Delete the rows of a file, or without `file` of the whole directory."""
    connection = write.connection
    chosen, values = "directory = ?", [directory]
    if file is not None:
        chosen, values = "directory = ? AND file = ?", [directory, file]
    rows: list[Any] = connection.execute(
        f"SELECT key, category FROM memories WHERE {chosen}", values
    ).fetchall()
    pages: list[Any] = connection.execute(
        f"DELETE FROM category_pages WHERE {chosen} RETURNING category", values
    ).fetchall()
    if rows:
        touched = [path for key, _ in rows for path in _affected_paths(connection, key)]
        write.delete_rows(
            MEMORY_CHUNKS, f"memory IN (SELECT key FROM memories WHERE {chosen})", values
        )
        connection.execute(f"DELETE FROM memories WHERE {chosen}", values)
        _update_superseded(connection, touched)
    _update_categories(connection, {row[-1] for row in (*rows, *pages)})


# Fields with a column of the same name; the others become other rows, or are not stored.
_MEMORY_COLUMNS = [
    each.name for each in fields(IndexedMemory) if each.name not in ("page", "relations")
]
_PAGE_COLUMNS = [each.name for each in fields(MemoryPage) if each.name not in NOT_COLUMNS]


def _insert_row(connection: Connection, document: MemoryDocument) -> int:
    memory, page = document.memory, document.memory.page
    columns = (
        {name: getattr(page, name) for name in _PAGE_COLUMNS}
        | {name: getattr(memory, name) for name in _MEMORY_COLUMNS}
        | {
            "directory": document.source,
            "file": document.file.path,
            "tags": json.dumps(page.tags, ensure_ascii=False),
            "token_estimate": estimate_tokens(page.content),
            "evidence": sum(relation is Relation.EVIDENCE for relation, _ in memory.relations),
        }
    )
    connection.execute(_insert_sql(tuple(columns)), columns)
    return connection.last_insert_rowid()


@cache
def _insert_sql(columns: tuple[str, ...]) -> str:
    return (
        f"INSERT INTO memories ({', '.join(columns)}, uses, used_at)"
        f" SELECT {', '.join(f':{name}' for name in columns)},"
        " coalesce(max(uses), 0), coalesce(max(used_at), 0) FROM memory_uses WHERE path = :path"
    )


def _tag_keys(tag: str) -> tuple[str, ...]:
    """List the rows of a tag in `memory_tags`: `area:build` is also found by `area:`."""
    name, colon, _ = tag.partition(":")
    return (tag, name + colon) if colon else (tag,)


def _affected_paths(connection: Connection, key: int) -> list[str]:
    """List the memories, by path, whose `superseded` depends on whether the memory `key` exists."""
    return column(
        connection,
        "SELECT path FROM memories WHERE key = ?1"
        " UNION SELECT target FROM memory_relations WHERE memory = ?1 AND relation = 'supersedes'"
        " UNION SELECT o.path FROM memories m"
        " JOIN memory_relations r ON r.target = m.path AND r.relation = 'superseded_by'"
        " JOIN memories o ON o.key = r.memory WHERE m.key = ?1",
        (key,),
    )


def _update_superseded(connection: Connection, paths: Iterable[str]) -> None:
    """Set `superseded` of each path: whether an existing memory supersedes it, by either's page.

    Of two that supersede each other, as after a merge by git, the newer one is not superseded.
    """
    connection.executemany(
        "UPDATE memories SET superseded = EXISTS (SELECT 1 FROM memories o"
        f" WHERE o.key IN ({_NEWER_KEYS.format(key='memories.key', path='memories.path')})"
        " AND o.key <> memories.key"
        " AND ((o.created_at, o.path) > (memories.created_at, memories.path)"
        f" OR memories.key NOT IN ({_NEWER_KEYS.format(key='o.key', path='o.path')})))"
        " WHERE path = ?",
        [(path,) for path in paths],
    )


_NEWER_KEYS = (
    "SELECT memory FROM memory_relations WHERE target = {path} AND relation = 'supersedes'"
    " UNION ALL SELECT n.key FROM memory_relations r JOIN memories n ON n.path = r.target"
    " WHERE r.memory = {key} AND r.relation = 'superseded_by'"
)
"""The keys of the memories that supersede one, by its page or theirs."""


def _update_categories(connection: Connection, touched: Iterable[str]) -> None:
    """Insert or delete rows so that `categories` holds those in use or described, and no others.

    Covers the `touched` categories and those above them. A description in the agent's own directory
    takes precedence over one in a registered directory.
    """
    categories = {folder for category in touched for folder in with_parents(category)}
    for category in sorted(categories, reverse=True):  # inner ones first
        connection.execute(
            "DELETE FROM categories WHERE path = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM categories WHERE parent_path = ?1)",
            (category,),
        )
        connection.execute(
            "INSERT INTO categories SELECT ?1, ?2,"
            " (SELECT description FROM category_pages WHERE category = ?1"
            "  ORDER BY directory <> 'memories', directory LIMIT 1)"
            " WHERE EXISTS (SELECT 1 FROM memories WHERE category = ?1)"
            " OR EXISTS (SELECT 1 FROM category_pages WHERE category = ?1)"
            " OR EXISTS (SELECT 1 FROM categories WHERE parent_path = ?1)"
            " ON CONFLICT DO UPDATE SET description = excluded.description",
            (category, category.rpartition("/")[0] or None),
        )
