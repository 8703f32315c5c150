"""The database of one agent: its memories, and the sessions that it took part in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.derived import DerivedStore, Replacement, Write
from memory_sidecar.index.identity import Schema, read_identity, write_identity
from memory_sidecar.memories.store import (
    MEMORY_CHUNKS,
    CategoryDocument,
    MemoryDocument,
    add_uses,
    clear_uses,
    delete_memories,
    insert_category,
    insert_memory,
    move_uses,
)
from memory_sidecar.sessions import store as sessions

SESSIONS = "sessions"
"""The source that its folder of sessions is; no directory registered besides is called so."""

_LOG_POSITION = "access_log_position"


class AgentStore(DerivedStore):
    """`knowledge/<agent>.sqlite`."""

    SCHEMA = Schema(
        kind="an agent's memory",
        version=2,
        scripts=("memories/memories.sql", sessions.SCRIPT),
        corpora=(MEMORY_CHUNKS, *sessions.CORPORA),
    )

    @property
    def log_position(self) -> int:
        """Up to which byte the access log is counted here."""
        with self.reading() as connection:
            return int(read_identity(connection, _LOG_POSITION) or 0)

    def count_uses(
        self,
        reads: Iterable[tuple[str, int, int]],
        *,
        moves: Iterable[tuple[str, str]],
        log_position: int,
        from_start: bool,
    ) -> None:
        """Count what the access log holds up to `log_position` and was not counted yet.

        Reads are a path, how many, and when the last one was; a move, which lets what was counted
        before for one path count for another, comes before them.
        """
        with self._writing() as write:
            if from_start:
                clear_uses(write.connection)
            for old, new in moves:
                move_uses(write.connection, old, new)
            add_uses(write.connection, reads)
            write_identity(write.connection, _LOG_POSITION, str(log_position))

    def _insert_rows(self, write: Write, replacement: Replacement) -> None:
        match replacement.document:
            case MemoryDocument() as document:
                insert_memory(write, replacement, document)
            case CategoryDocument() as document:
                insert_category(write, document)
            case sessions.SessionDocument():
                sessions.insert_session(write, replacement)
            case other:
                raise TypeError(f"no rows are made of a {type(other).__name__}")

    def _delete_rows(self, write: Write, source: str, path: str | None) -> None:
        if source == SESSIONS:
            sessions.delete_sessions(write, source, path)
        else:
            delete_memories(write, source, path)


def count_contents(connection: Connection) -> tuple[int, int]:
    """Memories, whatever their standing, and sessions."""
    counted: Any = connection.execute(
        "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM sessions)"
    ).get
    memories, sessions = counted
    return int(memories), int(sessions)
