"""The vector arm in memory: exact whatever the order of its rows."""

from __future__ import annotations

import apsw
import numpy as np

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


def test_a_cosine_does_not_depend_on_where_its_row_lies():
    vectors, query = unit_vectors(1501), unit_vectors(1)[0]
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE identity (key, value)")
    connection.execute("INSERT INTO identity VALUES ('thing_vector_version', 0)")
    in_order = index_of(vectors, range(1501)).cosines(query, connection)
    shuffled = index_of(vectors, np.random.default_rng(8).permutation(1501).tolist())
    ids, cosines = shuffled.cosines(query, connection)
    assert ids.tolist() == in_order[0].tolist()
    assert cosines.tolist() == in_order[1].tolist()
    assert np.abs(cosines - vectors @ query).max() < 0.004
