"""The database of one agent: its memories, and the sessions that it took part in."""

from __future__ import annotations

from collections.abc import Iterable

from memory_sidecar.store.derived import DerivedStore, Replacement, Write
from memory_sidecar.store.identity import Schema
from memory_sidecar.store.memories import (
    MEMORY_CHUNKS,
    CategoryDocument,
    MemoryDocument,
    add_uses,
    delete_memories,
    insert_category,
    insert_memory,
)


class AgentStore(DerivedStore):
    """`knowledge/<agent>.sqlite`."""

    SCHEMA = Schema(
        kind="an agent's memory",
        version=1,
        scripts=("memories.sql",),
        corpora=(MEMORY_CHUNKS,),
    )

    def add_uses(self, uses: Iterable[tuple[str, int, int]]) -> None:
        """Count reads of memories: path, how many, and when the last one was."""
        with self._writing() as write:
            add_uses(write.connection, uses)

    def _insert_rows(self, write: Write, replacement: Replacement) -> None:
        match replacement.document:
            case MemoryDocument() as document:
                insert_memory(write, replacement, document)
            case CategoryDocument() as document:
                insert_category(write, document)
            case other:
                raise TypeError(f"no rows are made of a {type(other).__name__}")

    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        delete_memories(write, source, path)
