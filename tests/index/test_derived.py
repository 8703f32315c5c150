"""The derived store: what is written is there as a whole, for every reader that comes after."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from memory_sidecar.chunking.chunk import chunk_text
from memory_sidecar.code.document import CodeDocument, findable, head_of
from memory_sidecar.code.store import CHUNKS, CodeStore
from memory_sidecar.core.errors import CannotWrite, StoreCorrupt
from memory_sidecar.core.model import FileStatus, SourceFile
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.embed import adopt_model, next_pending, put_vectors
from memory_sidecar.index.schema import DIMENSION, Schema, found_version
from memory_sidecar.index.writing import ReadyVectors

UNIT = np.eye(1, DIMENSION, dtype=np.float32)[0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CodeStore]:
    store = CodeStore(tmp_path / "codebase.sqlite", clock=system_clock)
    yield store
    store.close()


def document(path: str, text: str) -> CodeDocument:
    chunks = chunk_text(text, "python")
    return CodeDocument(
        source="shop",
        file=SourceFile(path, len(text), 1, 1),
        fingerprint=text,
        language="python",
        status=FileStatus.INDEXED,
        chunks=chunks,
        found=findable(path, "python", chunks, [head_of(path, chunk) for chunk in chunks]),
    )


def vectors_of(store: CodeStore) -> list[int]:
    with store.reading() as connection:
        ids, _ = store.indexes[CHUNKS.vector_table].view(connection).cosines(UNIT)
    return [int(each) for each in ids]


def test_a_document_comes_with_the_vectors_that_are_known_and_queues_for_the_others(store):
    known, other = document("a.py", "def a(): pass\n"), document("b.py", "def b(): pass\n")
    counts = store.write(
        [known, other], at_hand=ReadyVectors(dict.fromkeys(known.embedded_texts, UNIT))
    )
    assert counts == (2, 0)
    assert len(vectors_of(store)) == 1
    assert [each.text for each in next_pending(store, 10)] == list(other.embedded_texts)


def test_a_disk_that_fails_for_a_moment_damages_no_database(store, monkeypatch):
    store.write([document("a.py", "def a(): pass\n")])

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as failing:
        failing.setattr(os, "stat", fail)
        with pytest.raises(CannotWrite, match=r"codebase\.sqlite cannot be read or written"):
            store.require_in_place()
    store.require_in_place()


def test_a_log_that_is_cut_off_while_it_is_read_is_damage_not_a_disk_that_fails(store):
    store.write([document("a.py", "def a(): pass\n")])
    with store.reading() as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall()
        os.truncate(f"{store.path}-wal", 0)
        with pytest.raises(StoreCorrupt, match=r"damaged .*cut off"), named_errors(store.path):
            connection.execute("SELECT * FROM files").fetchall()


def test_the_vectors_that_are_read_again_are_those_of_the_table(store):
    documents = [document(f"{number}.py", f"def f{number}(): pass\n") for number in range(1100)]
    vectors = np.random.default_rng(3).standard_normal((1100, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [each.embedded_texts[0] for each in documents]
    store.write(documents, at_hand=ReadyVectors(dict(zip(texts, vectors, strict=True))))
    store.write([], gone=[("shop", f"{number}.py") for number in range(0, 1100, 3)])
    store.unload()
    with store.reading() as connection:
        rows = dict(connection.execute("SELECT id, embedding FROM chunk_vectors"))
        ids, cosines = store.indexes[CHUNKS.vector_table].view(connection).cosines(UNIT)
    assert ids.tolist() == sorted(rows)
    expected = [np.frombuffer(rows[each], np.float32) @ UNIT for each in ids.tolist()]
    assert np.abs(cosines - expected).max() < 0.004


def test_writing_the_same_again_leaves_the_same(store):
    for _ in range(2):
        store.write([document("a.py", "def a(): pass\n")])
    assert list(store.manifest("shop")) == ["a.py"]
    assert len(next_pending(store, 10)) == 1


def test_what_is_gone_takes_its_words_vectors_and_place_in_the_queue_along(store):
    known, other = document("a.py", "def a(): pass\n"), document("b.py", "def b(): pass\n")
    store.write([known, other], at_hand=ReadyVectors(dict.fromkeys(known.embedded_texts, UNIT)))
    assert store.write([], gone=[("shop", "a.py"), ("shop", "b.py")]) == (0, 2)
    assert (vectors_of(store), next_pending(store, 10), store.manifest("shop")) == ([], [], {})


def test_many_rows_are_deleted_in_no_more_statements_than_few(store):
    def statements_to_forget(count: int) -> tuple[str, ...]:
        store.write(document(f"{n}.py", f"def f{n}(): pass\n") for n in range(count))
        statements: list[str] = []

        def trace(_: object, sql: str, __: object) -> bool:
            statements.append(sql)
            return True

        with store.writing() as write:  # the connection that forgets
            write.connection.exec_trace = trace
        store.forget_source("shop")
        return tuple(statements)

    few, many = statements_to_forget(2), statements_to_forget(20)
    assert few
    assert few == many
    with store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM chunk_words").get == 0


def test_a_transaction_that_fails_leaves_nothing_and_the_next_one_is_whole(store):
    store.write([document("a.py", "def a(): pass\n")])
    waiting = next_pending(store, 10)

    def fail() -> None:
        with store.writing() as write:
            write.put_vector(CHUNKS.vector_table, waiting[0].row_id, UNIT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (vectors_of(store), len(next_pending(store, 10))) == ([], 1)
    put_vectors(store, [(waiting[0], UNIT)])
    assert (len(vectors_of(store)), next_pending(store, 10)) == (1, [])


def test_a_reader_sees_the_commit_that_it_began_with(store):
    store.write([document("a.py", "def a(): pass\n")])
    with store.reading() as connection:
        before = connection.execute("SELECT count(*) FROM code_chunks").get
        store.write([document("b.py", "def b(): pass\n")])
        assert connection.execute("SELECT count(*) FROM code_chunks").get == before == 1


def test_readers_of_a_commit_wait_for_no_checkpoint(store, monkeypatch):
    index, sizes = store.indexes[CHUNKS.vector_table], []
    hand_over = index.apply

    def note_size(**changes: object) -> None:
        sizes.append(store.path.stat().st_size)
        hand_over(**changes)

    monkeypatch.setattr(index, "apply", note_size)
    texts = [f"def function_{number}(): return {'x' * 2000}\n" for number in range(1200)]
    large = [document(f"{number}.py", text) for number, text in enumerate(texts)]
    known = {text: UNIT for each in large for text in each.embedded_texts}
    before = store.path.stat().st_size
    store.write(large, at_hand=ReadyVectors(known))
    assert sizes == [before]
    assert store.path.stat().st_size > before + 4_000_000  # 1,000 pages


def test_a_vector_for_a_row_that_was_replaced_meanwhile_is_passed_over(store):
    store.write([document("a.py", "def a(): pass\n")])
    waiting = next_pending(store, 10)
    store.write([document("a.py", "def b(): pass\n")])
    put_vectors(store, [(each, UNIT) for each in waiting])
    assert vectors_of(store) == []
    assert len(next_pending(store, 10)) == 1


def test_another_model_has_every_row_wait_again(store):
    adopt_model(store, "one")
    known = document("a.py", "def a(): pass\n")
    store.write([known], at_hand=ReadyVectors(dict.fromkeys(known.embedded_texts, UNIT)))
    adopt_model(store, "one")
    assert len(vectors_of(store)) == 1
    adopt_model(store, "two")
    assert (vectors_of(store), len(next_pending(store, 10))) == ([], 1)


def test_a_part_of_the_manifest_is_what_lies_at_and_below_a_path(store):
    paths = ("a.py", "a/b.py", "a/c/d.py", "a0.py", "b.py")
    store.write([document(path, f"def f(): return {path!r}\n") for path in paths])
    assert set(store.manifest("shop", under=["a"])) == {"a/b.py", "a/c/d.py"}
    assert set(store.manifest("shop", under=["b.py"])) == {"b.py"}
    assert set(store.manifest("shop", under=["", "a"])) == set(paths)


def test_a_file_that_was_replaced_is_not_written_to(store):
    store.write([document("a.py", "def a(): pass\n")])
    store.rest()
    store.path.unlink()
    store.path.write_bytes(b"")
    with pytest.raises(StoreCorrupt, match="was deleted or replaced"):
        store.write([document("b.py", "def b(): pass\n")])


def test_a_file_that_is_deleted_while_it_is_opened_is_named(store, monkeypatch):
    opened = found_version

    def delete(path: Path, schema: Schema) -> int:
        version = opened(path, schema)
        path.unlink()
        return version

    store.rest()
    monkeypatch.setattr("memory_sidecar.index.derived.found_version", delete)
    with pytest.raises(StoreCorrupt, match="was deleted or replaced"):
        CodeStore(store.path, clock=system_clock)
