"""The vector arm in memory: exact whatever the order of its rows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import apsw
import numpy as np
import pytest

from memory_sidecar.store.corpus import Corpus
from memory_sidecar.store.vectors import DIMENSION, VectorIndex

CORPUS = Corpus(name="thing", rows="things", text="text", columns=("body",), weights=(1.0,))


def unit_vectors(count):
    vectors = np.random.default_rng(7).standard_normal((count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def index_of(vectors, ids):
    index = VectorIndex(CORPUS)
    index.apply(version=0, removed=[], added=[(i, vectors[i].tobytes()) for i in ids])
    return index


def database_of(version):
    """Of one that has the version alone: to read its vectors would fail."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE identity (key, value)")
    connection.execute("INSERT INTO identity VALUES ('thing_vector_version', ?)", (version,))
    return connection


def test_a_cosine_does_not_depend_on_where_its_row_lies():
    vectors, query = unit_vectors(1501), unit_vectors(1)[0]
    connection = database_of(version=0)
    in_order = index_of(vectors, range(1501)).cosines(query, connection)
    shuffled = index_of(vectors, np.random.default_rng(8).permutation(1501).tolist())
    ids, cosines = shuffled.cosines(query, connection)
    assert ids.tolist() == in_order[0].tolist()
    assert cosines.tolist() == in_order[1].tolist()
    assert np.abs(cosines - vectors @ query).max() < 0.004


def test_a_reader_between_commit_and_hand_over_waits_and_does_not_read_the_table():
    vectors = unit_vectors(3)
    index, connection = index_of(vectors, [0, 1]), database_of(version=1)
    has_asked = threading.Event()

    def trace(*_):
        has_asked.set()
        return True

    connection.exec_trace = trace
    index.expect(1)
    with ThreadPoolExecutor(1) as reader:
        reading = reader.submit(index.cosines, vectors[0], connection)
        has_asked.wait()
        index.apply(version=1, removed=[], added=[(2, vectors[2].tobytes())])
        assert reading.result()[0].tolist() == [0, 1, 2]


def test_a_reader_does_not_wait_for_a_commit_that_failed():
    vectors = unit_vectors(2)
    index, connection = index_of(vectors, [0, 1]), database_of(version=1)
    index.expect(1)
    index.expect(None)
    with pytest.raises(apsw.SQLError, match="no such table"):
        index.catch_up(connection)
