"""Runs the model: texts → unit vectors. One session, one text a call, several threads at once.

A batch of one is the fastest on a CPU, because nothing is padded, and the same text gives the same
bits whatever it is embedded beside. All threads share one single-threaded session, hence one copy
of the weights. Queries go first: passages pause between two texts while a query is being embedded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.errors import ModelCorrupt
from memory_sidecar.core.process import EMBEDDING, go_behind
from memory_sidecar.embedding.on_demand import OnDemand, QueryGate, corrupt
from memory_sidecar.embedding.supply import ModelFiles

if TYPE_CHECKING:
    from memory_sidecar.embedding.onnx import OnnxModel  # imports ONNX Runtime, with a model only

Vectors = npt.NDArray[np.float32]

# What the authors of the model put before a question; passages stand as they are.
# https://huggingface.co/BAAI/bge-small-en-v1.5#model-list
QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
# The model sees 512 tokens, and those rarely take more characters; the tokenizer would read all.
MAX_CHARACTERS = 8_000
FEW_PASSAGES = 4  # embedded at once, like a question: a caller waits for them
LONG_CHARACTERS = 1_000  # for which the model takes tens of megabytes
MAX_THREADS = 8
QUESTIONS_KEPT = 256
_LEAST_LENGTH = 1e-12  # that is divided by


class EmbeddingStopped(Exception):
    """The caller wants no more."""


class Embedder(OnDemand["OnnxModel"]):
    """Vectors from the model in `files`, which is loaded by the first call. Thread-safe."""

    def __init__(
        self, files: ModelFiles, *, threads: int = 0, gate: QueryGate | None = None
    ) -> None:
        """`threads` embed passages in parallel; 0 means one for every core that may be used.

        With `gate`, passages also pause for whatever else goes through it.
        """
        super().__init__()
        self.files = files
        self.threads = min(threads or _available_cores(), MAX_THREADS)
        self._gate = gate or QueryGate()
        self._pool = ThreadPoolExecutor(
            self.threads,
            thread_name_prefix="embed",
            initializer=go_behind,
            initargs=(EMBEDDING,),
        )
        self._turn = threading.Lock()  # of those with many passages
        self._vector_of = lru_cache(QUESTIONS_KEPT)(self._embed_question)

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, (dimension,) float32 of length one. Overtakes passages."""
        return self._vector_of(text)

    def _embed_question(self, text: str) -> Vectors:
        model = self._loaded()
        with self._gate.query():
            vector = _embed(model, QUERY_PREFIX + text)
        vector.flags.writeable = False  # it is kept for the next who asks the same
        return vector

    def embed_passages(
        self, texts: Sequence[str], *, stop: threading.Event | None = None
    ) -> Vectors:
        """The vectors of `texts` in their order, (n, dimension) float32 of length one each.

        A few overtake all that waits, like a question. Hand over many at once otherwise: the
        threads share them, and those of several calls take turns. Raises EmbeddingStopped soon
        after `stop` is set.
        """
        if not texts:
            return np.empty((0, self.files.dimension), dtype=np.float32)
        model = self._loaded()

        def embed_when_free(text: str) -> Vectors:
            self._gate.pass_through()
            if stop is not None and stop.is_set():
                raise EmbeddingStopped
            return _embed(model, text)

        try:
            if len(texts) <= FEW_PASSAGES:
                with self._gate.query():
                    return np.stack([_embed(model, text) for text in texts])
            vectors: list[Vectors] = []
            for start in range(0, len(texts), 8 * self.threads):
                with self._turn:
                    part = texts[start : start + 8 * self.threads]
                    vectors += self._pool.map(embed_when_free, part)
            return np.stack(vectors)
        finally:
            if max(map(len, texts)) > LONG_CHARACTERS:
                model.give_back_arena()

    def _load(self) -> OnnxModel:
        from memory_sidecar.embedding.onnx import OnnxModel

        files = self.files
        try:
            model = OnnxModel(files.folder, files.model_file)
            dimension = len(_embed(model, "dimension"))
        except Exception as error:
            raise corrupt(
                files,
                error,
                hint="`memory-sidecar model verify` tells more; get the files anew, or name "
                "another folder in MEMORY_SIDECAR_MODEL_DIR",
            ) from error
        if dimension != files.dimension:
            raise ModelCorrupt(
                f"{files.folder} gives {dimension} dimensions, {files.name} has {files.dimension}",
                hint=f"name a folder with {files.name} in MEMORY_SIDECAR_MODEL_DIR, or unset it",
            )
        return model


def _embed(model: OnnxModel, text: str) -> Vectors:
    first_token = model.run(text[:MAX_CHARACTERS])[:, 0]
    length = np.linalg.norm(first_token, axis=1)
    vector: Vectors = (first_token / np.maximum(length, _LEAST_LENGTH))[0]
    return vector


def _available_cores() -> int:
    """Cores this process may run on; a container or `taskset` may allow fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
