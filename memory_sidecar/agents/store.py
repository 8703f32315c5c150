"""The tables of one agent's database: the rows of its memories, and those of its sessions."""

from __future__ import annotations

from memory_sidecar.core.model import Document
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.schema import Schema, SqlFile
from memory_sidecar.index.writing import Write
from memory_sidecar.memories.store import (
    MEMORY_CHUNKS,
    CategoryDocument,
    MemoryDocument,
    delete_memories,
    insert_category,
    insert_memory,
)
from memory_sidecar.sessions import store as sessions


class AgentStore(DerivedStore):
    """`knowledge/<agent>.sqlite`."""

    SCHEMA = Schema(
        kind="an agent's memory",
        own_scripts=(SqlFile("memories/memories.sql"), *sessions.SCRIPTS),
        corpora=(MEMORY_CHUNKS, *sessions.CORPORA),
    )

    def _replace_rows(self, write: Write, document: Document) -> None:
        if isinstance(document, sessions.SessionDocument):
            sessions.replace_session(write, document)
            return
        self._delete_rows(write, document.source, document.file.path)
        if isinstance(document, MemoryDocument):
            insert_memory(write, document)
        elif isinstance(document, CategoryDocument):
            insert_category(write, document)

    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        if source == sessions.SESSIONS:
            sessions.delete_sessions(write, source, path)
        else:
            delete_memories(write, source, path)
