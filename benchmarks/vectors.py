"""Random vectors, which cost a search the same as real ones and take no time to make."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memory_sidecar.agents.services import Services
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.derived import DerivedStore
from memory_sidecar.index.embed import adopt_model, next_pending, put_vectors

DIMENSION = 384


def random_vectors(count: int, *, seed: int = 1) -> npt.NDArray[np.float32]:
    """`count` vectors of length 1."""
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSION), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def give_random_vectors(store: DerivedStore) -> None:
    """Give a random vector to every row of `store` that waits for one."""
    seed = 0
    while waiting := next_pending(store, 1000):
        seed += 1
        vectors = random_vectors(len(waiting), seed=seed)
        put_vectors(store, list(zip(waiting, vectors, strict=True)))


def give_codebase_random_vectors(data_dir: Path) -> None:
    """Give random vectors to the codebase of `data_dir`, as if its model had made them."""
    with closing(Services.find(data_dir=data_dir, cwd=data_dir, environ=os.environ)) as services:
        paths = services.codebase().paths
        with closing(CodeStore(paths.db, clock=system_clock)) as store:
            adopt_model(store, services.models.files.sha256)
            give_random_vectors(store)
