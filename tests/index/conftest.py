"""A clock that a test sets, and databases of the chunks that it gives."""

from __future__ import annotations

import pytest

from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.sqlite import Connection, connect
from memory_sidecar.index.schema import open_current
from memory_sidecar.index.words import index_words


class Clock:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_database(tmp_path):
    """Makes a database of the chunks given, by id, and opens it."""
    opened: list[Connection] = []

    def make(chunks):
        path = tmp_path / f"{len(opened)}.sqlite"
        writer = open_current(path, CodeStore.SCHEMA)
        for chunk_id, body in chunks.items():
            writer.execute(
                "INSERT INTO code_chunks VALUES (?, 's', ?, '1-1', '', ?, 1, 1, '', '', '', '', 0)",
                (chunk_id, f"{chunk_id}.py", body),
            )
            writer.execute(
                "INSERT INTO chunk_words (rowid, body, symbols, path) VALUES (?, ?, '', '')",
                (chunk_id, index_words(body)),
            )
        writer.close()
        opened.append(connect(path, read_only=True))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()
