"""What counts as a difference between two databases, and what does not."""

from __future__ import annotations

import shutil

import pytest
from rows import differences, rows_of

from memory_sidecar.core.sqlite import connect


@pytest.fixture
def db(run, project, known_vectors, data_dir):
    assert run("index", project).json["vectors_pending"] == 0
    return data_dir / "codebase.sqlite"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("DELETE FROM files WHERE path = 'settings.toml'", {"files": (1, 0)}),
        ("UPDATE files SET reason = 'x' WHERE path = 'settings.toml'", {"files": (1, 1)}),
        ("DELETE FROM chunk_words WHERE rowid = 1", {"chunk_words": (1, 0)}),
        ("DELETE FROM chunk_vectors WHERE id = 1", {"chunk_vectors": (1, 0)}),
        ("DELETE FROM chunk_static WHERE id = 1", {"chunk_static": (1, 0)}),
        (
            "UPDATE code_definitions SET kind = 'x' WHERE number = 0"
            " AND file = (SELECT min(file) FROM code_definitions)",
            {"code_definitions": (1, 1)},
        ),
        (
            "UPDATE code_references SET places = 'x' WHERE (file, name) ="
            " (SELECT file, name FROM code_references LIMIT 1)",
            {"code_references": (1, 1)},
        ),
        ("INSERT INTO chunk_pending VALUES (1, 0)", {"chunk_pending": (0, 1)}),
        ("UPDATE identity SET value = 'x' WHERE key = 'model'", {"identity": (1, 1)}),
        ("UPDATE files SET indexed_at = 0", {}),
        ("UPDATE sources SET state_id = 'x'", {}),
    ],
)
def test_whatever_a_source_says_counts(db, tmp_path, change, found):
    copy = tmp_path / "copy.sqlite"
    shutil.copy(db, copy)
    connection = connect(copy)
    connection.execute(change)
    connection.close()
    assert differences(rows_of(db), rows_of(copy)) == found


def test_another_text_is_another_chunk_with_other_words(run, db, project, tmp_path):
    before = rows_of(db)
    (project / "settings.toml").write_text("[server]\nport = 1\n")
    run("index", project, "--wait", "keyword")
    assert differences(before, rows_of(db)).keys() == {
        *("files", "code_chunks", "chunk_words", "chunk_vectors", "chunk_static", "chunk_pending")
    }
