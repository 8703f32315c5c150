"""The vector arm in memory: exact whatever the order of its rows."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import apsw
import numpy as np
import pytest

from memory_sidecar.index.schema import DIMENSION, Corpus
from memory_sidecar.index.vectors import VectorIndex

CORPUS = Corpus(
    name="thing", rows="things", text="text", columns=("body",), weights=(1.0,), source="source"
)

ROUNDED = 0.004  # what eight bits a dimension make of a cosine, at most


def unit_vectors(count):
    vectors = np.random.default_rng(7).standard_normal((count, DIMENSION)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def index_of(vectors, ids):
    index = VectorIndex(CORPUS.vector_table)
    index.apply(version=0, removed=[], added=[(i, vectors[i].tobytes()) for i in ids])
    return index


def nearest_by_id(view, query):
    """To the last bit."""
    return dict(zip(*(each.tolist() for each in view.nearest(query, 40)), strict=True))


def database_of(version):
    """Of one that has the version alone: to read its vectors would fail."""
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE identity (key, value)")
    connection.execute("INSERT INTO identity VALUES ('thing_vectors_version', ?)", (version,))
    return connection


def test_a_cosine_does_not_depend_on_where_its_row_lies():
    vectors, query = unit_vectors(1501), unit_vectors(1)[0]
    connection = database_of(version=0)
    in_order = index_of(vectors, range(1501)).view(connection).cosines(query)
    shuffled = index_of(vectors, np.random.default_rng(8).permutation(1501).tolist())
    ids, cosines = shuffled.view(connection).cosines(query)
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
        reading = reader.submit(lambda: index.view(connection).cosines(vectors[0]))
        has_asked.wait()
        index.apply(version=1, removed=[], added=[(2, vectors[2].tobytes())])
        assert reading.result()[0].tolist() == [0, 1, 2]


def test_a_reader_does_not_wait_for_a_commit_that_failed():
    vectors = unit_vectors(2)
    index, connection = index_of(vectors, [0, 1]), database_of(version=1)
    index.expect(1)
    index.expect(None)
    with pytest.raises(apsw.SQLError, match="no such table"):
        index.view(connection)


def test_a_view_keeps_the_rows_of_its_commit():
    vectors = unit_vectors(40)
    index, query = index_of(vectors, range(10)), vectors[39]
    views = [index.view(database_of(version=0))]
    before = [view.cosines(query) for view in views]
    for version in range(1, 20):
        gone, new = [version - 1, 10 + version - 2], [10 + version - 1, version - 5]
        index.apply(
            version=version,
            removed=gone,
            added=[(i, vectors[i].tobytes()) for i in new if i >= 0],
        )
        views.append(index.view(database_of(version=version)))
        before.append(views[-1].cosines(query))
    index.unload()
    for view, (ids, cosines) in zip(views, before, strict=True):
        again = view.cosines(query)
        assert again[0].tolist() == ids.tolist()
        assert again[1].tolist() == cosines.tolist()


def test_the_nearest_rows_of_a_view_are_those_of_its_commit():
    vectors = unit_vectors(40)
    index, query = index_of(vectors, range(30)), vectors[39]
    views = [index.view(database_of(version=0))]
    before = [nearest_by_id(views[0], query)]
    for version in range(1, 6):
        index.apply(
            version=version,
            removed=[version],
            added=[(i, vectors[i].tobytes()) for i in (version - 1, 29 + version) if i != 0],
        )
        views.append(index.view(database_of(version=version)))
        before.append(nearest_by_id(views[-1], query))
    for view, was in zip(views, before, strict=True):
        assert nearest_by_id(view, query) == was
        ids, cosines = view.cosines(query)
        best = np.argsort(-cosines)[:5]
        found, scores = view.nearest(query, 5)
        order = np.argsort(-scores)
        assert found[order].tolist() == ids[best].tolist()
        assert scores[order] == pytest.approx(cosines[best], abs=ROUNDED)
        allowed = ids[::3]
        found, _ = view.nearest(query, 5, allowed)
        assert sorted(found) == sorted(allowed[np.argsort(-cosines[::3])[:5]])
        asked = np.arange(40)
        expected = dict(zip(ids.tolist(), cosines.tolist(), strict=True))
        for row_id, cosine in zip(asked, view.cosines_of(query, asked).tolist(), strict=True):
            assert cosine == pytest.approx(expected.get(row_id, np.nan), abs=ROUNDED, nan_ok=True)


def test_what_no_view_needs_is_forgotten():
    vectors = unit_vectors(2)
    index = index_of(vectors, [0])
    for version in range(1, 100):
        index.apply(version=version, removed=[0], added=[(0, vectors[0].tobytes())])
    index.view(database_of(version=92))
    with pytest.raises(apsw.SQLError, match="no such table"):
        index.view(database_of(version=80))
