"""Vectors that are remembered: exactly, across processes, and never at the price of a failure."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from memory_sidecar.core.times import DAY_MS
from memory_sidecar.embedding.cache import (
    RETRY_S,
    VectorCache,
    embed_texts,
    vector_key,
)
from memory_sidecar.embedding.embedder import Embedder, Floats


def some_vectors(count: int, *, start: int = 0) -> dict[bytes, Floats]:
    numbers = np.random.default_rng(7)
    return {
        vector_key("model", f"text {start + index}"): numbers.random(384, dtype=np.float32)
        for index in range(count)
    }


def same(found: dict[bytes, Floats], expected: dict[bytes, Floats]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[key], expected[key]) for key in expected
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "embeddings.sqlite"


def test_vectors_come_back_to_the_bit_from_another_connection(path):
    vectors = some_vectors(2_000)
    VectorCache(path).put_many(vectors)
    found = VectorCache(path).get_many([*vectors, vector_key("model", "never seen")])
    assert same(found, vectors)


def test_key_depends_on_model_and_text():
    keys = {
        vector_key(model, text)
        for model, text in [("a", "bc"), ("ab", "c"), ("a", "b"), ("b", "bc"), ("a", "\ud800")]
    }
    assert len(keys) == 5
    assert all(len(key) == 16 for key in keys)
    assert vector_key("a", "bc") == vector_key("a", "bc")


def test_nothing_asked_is_nothing_written(path):
    cache = VectorCache(path)
    assert cache.get_many([]) == {}
    cache.put_many({})
    assert not path.exists()


def test_what_was_unused_for_longest_is_forgotten(path):
    today = 0
    cache = VectorCache(path, clock=lambda: today * DAY_MS, max_rows=15)
    old, newer, newest = (some_vectors(n, start=at) for n, at in ((10, 0), (5, 10), (5, 15)))
    cache.put_many(old)
    today = 1
    cache.put_many(newer)
    assert same(cache.get_many([*old, *newer]), old | newer)
    today = 2
    used_again = dict(list(old.items())[:5])
    cache.get_many([*used_again, *newer])
    cache.put_many(newest)
    cache.put_many(some_vectors(10, start=15))  # five are known, and five too many
    kept = cache.get_many([*old, *some_vectors(15, start=10)])
    assert len(kept) == 15
    assert not kept.keys() & (old.keys() - used_again.keys())


@pytest.mark.parametrize(
    "content", [b"not a database " * 100, b"", b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_file_of_garbage_is_replaced(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    vectors = some_vectors(3)
    cache = VectorCache(path)
    assert cache.get_many(vectors) == {}
    cache.put_many(vectors)
    assert same(VectorCache(path).get_many(vectors), vectors)


def test_one_broken_file_is_done_without_while_another_process_replaces_it(path, monkeypatch):
    monkeypatch.setattr("memory_sidecar.embedding.cache.REPLACE_PATIENCE_S", 0.0)
    path.parent.mkdir()
    path.write_bytes(bytes(8192))
    times = iter((0.0, 0.0, RETRY_S))
    cache = VectorCache(path, now_s=lambda: next(times))
    vectors = some_vectors(1)
    with FileLock(f"{path}.lock"):
        assert cache.get_many(vectors) == {}
    cache.put_many(vectors)
    assert same(VectorCache(path).get_many(vectors), vectors)


def test_page_damaged_in_the_middle_is_noticed_and_the_file_replaced(path):
    vectors = some_vectors(500)
    cache = VectorCache(path)
    cache.put_many(vectors)
    cache.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    cache = VectorCache(path)
    assert cache.get_many(vectors) == {}
    cache.put_many(vectors)
    assert same(cache.get_many(vectors), vectors)
    assert path.with_name("embeddings.sqlite.old").exists()


def test_place_that_cannot_be_written_is_done_without_and_said_once(tmp_path, caplog):
    (tmp_path / "data").write_text("a file where the folder should be")
    cache = VectorCache(tmp_path / "data" / "embeddings.sqlite")
    vectors = some_vectors(3)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            cache.put_many(vectors)
            assert cache.get_many(vectors) == {}
    assert len(caplog.records) == 1


@pytest.mark.skipif(os.name != "posix", reason="needs a FIFO and a right to make links")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_file_is_done_without(path, caplog, make):
    path.parent.mkdir()
    make(path)
    cache, vectors = VectorCache(path), some_vectors(1)
    cache.put_many(vectors)
    assert cache.get_many(vectors) == {}
    assert "embeddings.sqlite is not opened" in caplog.text
    assert not path.with_name("elsewhere").exists()


def test_one_error_does_not_turn_it_off_for_ever(tmp_path):
    now_s = 0.0
    place = tmp_path / "data"
    place.write_text("a file where the folder should be")
    cache = VectorCache(place / "embeddings.sqlite", now_s=lambda: now_s)
    vectors = some_vectors(3)
    cache.put_many(vectors)
    place.unlink()
    cache.put_many(vectors)
    assert cache.get_many(vectors) == {}  # not asked at once again
    now_s = RETRY_S
    cache.put_many(vectors)
    assert same(cache.get_many(vectors), vectors)


def test_what_is_known_is_found_where_its_use_cannot_be_noted(path):
    vectors = some_vectors(3)
    VectorCache(path, clock=lambda: 0).put_many(vectors)
    cache = VectorCache(path, clock=lambda: DAY_MS)
    cache.get_many([vector_key("model", "never seen")])
    assert cache._connection
    cache._connection.pragma("query_only", True)  # a full disk refuses the same
    assert same(cache.get_many(vectors), vectors)


WRITER = """
import sys
import numpy as np
from pathlib import Path
from memory_sidecar.embedding.cache import VectorCache, vector_key
path, first, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
cache = VectorCache(path)
for round in range(rounds):
    start = first + 100 * round
    cache.put_many({
        vector_key("model", f"text {n}"): np.full(384, n, dtype=np.float32)
        for n in range(start, start + 100)
    })
    print(start, flush=True)
"""


def start_writer(path: Path, *, first: int, rounds: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(first), str(rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def written(path: Path, count: int, *, first: int = 0) -> int:
    """How many of the `count` texts from `first` on are known; each must be the right one."""
    keys = {vector_key("model", f"text {n}"): n for n in range(first, first + count)}
    found = VectorCache(path).get_many(keys)
    assert all((vector == keys[key]).all() for key, vector in found.items())
    return len(found)


def test_two_processes_write_at_once_and_lose_nothing(path):
    writers = [start_writer(path, first=first, rounds=10) for first in (0, 500)]
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert written(path, 1_500) == 1_500


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGKILL")
def test_what_was_put_survives_a_kill_whole(path):
    with start_writer(path, first=0, rounds=100_000) as writer:
        assert writer.stdout is not None
        for _ in range(5):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        rounds = 5 + len(writer.stdout.readlines())
    known = written(path, 100 * (rounds + 1))
    assert known >= 100 * rounds
    assert known % 100 == 0


def test_threads_share_one_cache(path):
    cache = VectorCache(path)
    parts = [some_vectors(50, start=50 * index) for index in range(8)]
    right: list[bool] = []

    def use(part: dict[bytes, Floats]) -> None:
        cache.put_many(part)
        right.append(same(cache.get_many(part), part))

    threads = [threading.Thread(target=use, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * len(parts)


def test_known_texts_need_no_model(path, embedder):
    texts = ["apple", "pear", "apple", "plum"]
    cache = VectorCache(path)
    first = embed_texts(texts, embedder=embedder, cache=cache)
    assert np.array_equal(first, embedder.embed_passages(texts))
    unloaded = Embedder(embedder.files)
    again = embed_texts(texts[::-1], embedder=unloaded, cache=cache)
    assert np.array_equal(again, first[::-1])
    assert not unloaded.is_loaded
    assert embed_texts([], embedder=unloaded, cache=cache).shape == (0, 384)


def test_texts_are_embedded_without_a_cache_that_works(tmp_path, embedder):
    (tmp_path / "data").write_text("")
    cache = VectorCache(tmp_path / "data" / "embeddings.sqlite")
    vectors = embed_texts(["apple"], embedder=embedder, cache=cache)
    assert np.array_equal(vectors, embedder.embed_passages(["apple"]))
