"""The embedding models, the reranker and the vector cache, each loaded when it is first used."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from memory_sidecar.core.errors import ModelCorrupt, ModelError
from memory_sidecar.core.results import Reporter
from memory_sidecar.core.settings import Settings
from memory_sidecar.embedding.cache import VectorCache, embed_texts
from memory_sidecar.embedding.embedder import Embedder, Floats, QueryGate, Reranker
from memory_sidecar.embedding.static import StaticEmbedder, find_static
from memory_sidecar.embedding.supply import ModelFiles, fetch_model, find_model, find_reranker

Judge = Callable[[str, Sequence[str]], Sequence[float]]
"""Scores each of some texts by how well it answers a question."""

_log = logging.getLogger(__name__)


class Models:
    """The models and the cache that all databases of one data directory share. Thread-safe."""

    def __init__(self, settings: Settings, *, cache: Path) -> None:
        self._settings = settings
        self._cache_path = cache
        self._cache: VectorCache | None = None
        self._lock = threading.Lock()  # a second embedder would be a second model in memory
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self.gate = QueryGate()  # closed around a query: indexing pauses meanwhile
        self.turn = threading.Lock()  # held by the database that embeds a slice of its queue
        self._static: StaticEmbedder | None = None
        self._static_problem: ModelError | None = None

    @property
    def cache(self) -> VectorCache:
        with self._lock:
            if self._cache is None:
                self._cache = VectorCache(self._cache_path)
            return self._cache

    @property
    def files(self) -> ModelFiles:
        """The files of the embedding model. Raises ModelMissing, ModelCorrupt."""
        return find_model(self._settings)

    @property
    def sha256(self) -> str | None:
        """The hash of the embedding model's file, which vectors are tied to; `None` without one."""
        with suppress(ModelError):
            return self.files.sha256
        return None

    def fetch(self) -> None:
        """Download the model, if it is not on this machine yet. Raises ModelMissing."""
        fetch_model(self._settings)

    @property
    def embedder(self) -> Embedder:
        """The embedding model. Raises ModelMissing, ModelCorrupt."""
        with self._lock:
            files = self.files  # looked up at every use: they may be replaced or deleted
            if self._embedder is None or self._embedder.files != files:
                self._embedder = Embedder(
                    files, threads=self._settings.embed_threads, gate=self.gate
                )
            return self._embedder

    @property
    def embed(self) -> partial[Floats]:
        """`embed_texts`, bound to model and cache. Raises ModelMissing, ModelCorrupt."""
        return partial(embed_texts, embedder=self.embedder, cache=self.cache)

    @property
    def reranker(self) -> Reranker | None:
        """The cross-encoder; `None` where it is not installed. Raises ModelCorrupt."""
        with self._lock:
            if self._reranker is None and (files := find_reranker()):
                self._reranker = Reranker(files, gate=self.gate)
            return self._reranker

    @property
    def static(self) -> StaticEmbedder | None:
        """The static embedder; `None` where its table is missing or damaged."""
        with self._lock:
            if self._static is None:  # looked for at every use: it may be installed meanwhile
                before, self._static_problem = self._static_problem, None
                try:
                    self._static = StaticEmbedder(find_static())
                except ModelError as error:
                    self._static_problem = error
                    if isinstance(error, ModelCorrupt) and not isinstance(before, ModelCorrupt):
                        _log.warning("no static vectors: %s", error.with_hint)
            return self._static

    @property
    def static_problem(self) -> ModelError | None:
        """Why `static` is None; `None` where it is not."""
        _ = self.static
        return self._static_problem

    @property
    def problem(self) -> ModelError | None:
        """Why there is no embedding model; `None` where there is one."""
        try:
            _ = self.files
        except ModelError as error:
            return error
        return None

    @property
    def is_loaded(self) -> bool:
        """Whether the embedding model is in memory."""
        with self._lock:
            return self._embedder is not None and self._embedder.is_loaded

    def unload(self, *, unused_for_s: float) -> bool:
        """Free all models if none was used for `unused_for_s`; return whether any was freed."""
        with self._lock:
            known = (self._embedder, self._reranker, self._static)
            loaded = [m for m in known if m is not None and m.is_loaded]
        if not loaded or any(time.monotonic() - m.used_at < unused_for_s for m in loaded):
            return False
        for model in loaded:
            model.unload()
        return True

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()


def make_judge(models: Models, reporter: Reporter) -> Judge | None:
    """Return a function that scores texts by the cross-encoder; `None` where that is missing.

    It is `None`, with a notice, where its files are damaged, too. The model is loaded at the first
    call. If it does not load, all texts score 0, and `reporter` gets a notice.
    """

    def notice(error: ModelError) -> None:
        reporter.notice(f"not reranked: {error.with_hint}")

    try:
        reranker = models.reranker
    except ModelError as error:
        notice(error)
        return None
    if reranker is None:
        return None

    def judge(question: str, texts: Sequence[str]) -> Sequence[float]:
        try:
            return reranker.judge(question, texts)
        except ModelError as error:
            notice(error)
            return [0.0] * len(texts)

    return judge
