"""Codes of very many rows: signs choose, codes decide, and the file holds what memory would."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from memory_sidecar.index import codes
from memory_sidecar.index.codes import CodedQuery, Codes

DIMENSION = 256
ROWS = 30_000
Floats = npt.NDArray[np.float32]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "SIGNS_FROM", 10_000)
    monkeypatch.setattr(codes, "FINE_FILE_FROM", 2_000)
    monkeypatch.setattr(codes, "CANDIDATES", 2_000)


def unit(vectors: Floats) -> Floats:
    lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths


@pytest.fixture(scope="module", name="vectors")
def some_vectors() -> Floats:
    """In clusters, around a mean that is not the origin, as texts have them."""
    random = np.random.default_rng(3)
    clusters = random.standard_normal((300, DIMENSION)) + 0.5
    noise = random.standard_normal((ROWS, DIMENSION)) * 0.7
    return unit((clusters[random.integers(0, 300, ROWS)] + noise).astype(np.float32))


def filled(vectors: Floats, folder: Path | None) -> Codes:
    found = Codes(DIMENSION, folder=os.fspath(folder) if folder else None)
    for start in range(0, len(vectors), 1000):
        part = vectors[start : start + 1000]
        found.append(np.arange(start, start + len(part)), part)
    return found


def nearest(found: Codes, question: Floats, allowed: Any = None) -> list[int]:
    rows, cosines = found.nearest(CodedQuery(question), 10, allowed)
    ids: list[int] = found.ids[rows[np.argsort(-cosines)]].tolist()
    return ids


@pytest.mark.parametrize("has_folder", [True, False])
def test_the_best_cosines_are_exact(vectors, tmp_path, has_folder):
    found = filled(vectors[:3000], tmp_path if has_folder else None)
    found.remove(np.arange(5, 1500, 7))
    question = vectors[ROWS - 1]
    rows, cosines = found.nearest(CodedQuery(question), 10, None)
    assert np.abs(cosines - vectors[found.ids[rows]] @ question).max() < 2e-5
    assert np.array_equal(cosines, found.cosines(CodedQuery(question), rows))


def test_comparing_uses_up_no_references_of_python(vectors):
    found = filled(vectors[:3000], None)
    question = CodedQuery(vectors[7])
    before = sys.getrefcount(None)
    for _ in range(100):
        found.nearest(question, 10, None)
    assert sys.getrefcount(None) > before - 50


@pytest.mark.parametrize("has_folder", [True, False])
def test_the_nearest_are_those_of_an_exact_scan(vectors, tmp_path, has_folder):
    found = filled(vectors, tmp_path if has_folder else None)
    right = 0
    for question in vectors[::1500]:
        exact = np.argsort(-(vectors @ question))[:10].tolist()
        right += len(set(exact) & set(nearest(found, question)))
    assert right >= 0.98 * 10 * len(vectors[::1500])
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_of_what_a_filter_allows_the_nearest_are_found(vectors, tmp_path):
    found = filled(vectors, tmp_path)
    for step in (3, 1000):  # so many that signs choose, and so few that codes do
        allowed = np.arange(step - 1, ROWS, step)
        for question in vectors[:10_000:1000]:
            exact = allowed[np.argsort(-(vectors[allowed] @ question))[:10]].tolist()
            assert len(set(exact) & set(nearest(found, question, found.rows_of(allowed)))) >= 9


def test_what_was_replaced_is_found_as_it_is_now(vectors, tmp_path):
    found = filled(vectors, tmp_path)
    gone = np.random.default_rng(4).choice(ROWS, 12_000, replace=False)
    found.remove(np.sort(found.rows_of(gone)))
    found.append(ROWS + np.arange(12_000), -vectors[gone])
    assert (found.rows_of(gone) == -1).all()
    assert found.ids[found.rows_of(ROWS + np.arange(12_000))].tolist() == list(
        range(ROWS, ROWS + 12_000)
    )
    for at in range(0, 12_000, 1000):
        assert nearest(found, -vectors[gone[at]])[0] == ROWS + at
        assert gone[at] not in nearest(found, vectors[gone[at]])


def test_a_full_disk_keeps_them_in_memory(vectors, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    found = filled(vectors, tmp_path)
    assert nearest(found, vectors[7])[0] == 7
