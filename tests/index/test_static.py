"""Static vectors come with the words: meaning is searched before the model has been there."""

from __future__ import annotations

import pytest

from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.store import CHUNKS
from memory_sidecar.core.results import Silent
from memory_sidecar.core.sqlite import column
from memory_sidecar.index.schema import write_identity
from tests.conftest import STATIC

pytestmark = pytest.mark.skipif(STATIC is None, reason="no table of token vectors for this machine")

QUESTION = CodeQuery("delete a picture from the disk", top_k=1, explain=True)


def write_sources(project) -> None:
    (project / "images.py").write_text("def remove_image(file):\n    unlink(file)\n")
    (project / "totals.py").write_text("def add_prices(cart):\n    return sum(cart)\n")
    (project / "clock.py").write_text("def now():\n    return monotonic()\n")


def static_rows(codebase) -> dict[int, bytes]:
    with codebase.data.open().reading() as connection:
        rows = connection.execute("SELECT id, embedding FROM chunk_static").fetchall()
    return {int(row_id): bytes(vector) for row_id, vector in rows}


def chunk_ids(codebase) -> set[int]:
    with codebase.data.open().reading() as connection:
        return set(column(connection, "SELECT id FROM code_chunks"))


def test_what_shares_no_word_with_the_question_is_found_without_a_model(make_codebase, project):
    write_sources(project)
    codebase = make_codebase(model="")
    codebase.index([project], reporter=Silent())
    (hit,) = codebase.search(QUESTION, reporter=Silent())
    assert hit.filename == "images.py"
    assert hit.explain.terms["static"] > 0


def test_every_chunk_has_one_as_soon_as_it_has_words(make_codebase, project):
    write_sources(project)
    codebase = make_codebase(model="")
    codebase.index([project], reporter=Silent())
    assert set(static_rows(codebase)) == chunk_ids(codebase)
    (project / "images.py").unlink()
    (project / "clock.py").write_text("def later():\n    return monotonic() + 1\n")
    codebase.index([project], reporter=Silent())
    assert set(static_rows(codebase)) == chunk_ids(codebase)
    (hit,) = codebase.search(CodeQuery("current timestamp", top_k=1), reporter=Silent())
    assert hit.filename == "clock.py"


def test_rows_without_one_get_theirs_with_the_next_pass(make_codebase, project):
    write_sources(project)
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    before = static_rows(codebase)
    with codebase.data.open().writing() as write:
        write.clear_vectors(CHUNKS.static_table)
        write_identity(write.connection, "static", "another table")
    assert "static" not in codebase.search(QUESTION, reporter=Silent())[0].explain.terms
    (project / "new.py").write_text("NEW = 1\n")
    codebase.index([project], reporter=Silent())
    after = static_rows(codebase)
    assert set(after) == chunk_ids(codebase)
    assert before.items() <= after.items()


def test_rows_written_while_the_table_was_missing_get_theirs_once_it_is_back(
    make_codebase, project, monkeypatch
):
    write_sources(project)
    first = make_codebase()
    first.index([project], reporter=Silent())
    first.close()
    (project / "images.py").write_text("def remove_image(path):\n    unlink(path)\n")
    without = make_codebase()
    with monkeypatch.context() as patch:
        patch.setattr(without.data.models, "_static", None)
        without.index([project], reporter=Silent())
    assert set(static_rows(without)) < chunk_ids(without)
    without.close()
    after = make_codebase()
    after.index([project], reporter=Silent())
    assert set(static_rows(after)) == chunk_ids(after)
