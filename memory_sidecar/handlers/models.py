"""The embedding model and the vector cache, each made when it is first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from memory_sidecar.embedding.cache import VectorCache
from memory_sidecar.embedding.embedder import Embedder
from memory_sidecar.embedding.supply import ModelFiles, find_model
from memory_sidecar.errors import ModelError
from memory_sidecar.settings import Settings


class Models:
    """What embeds, for every database of one data directory."""

    def __init__(self, settings: Settings, *, cache: Path) -> None:
        self._settings = settings
        self._cache = cache

    @cached_property
    def files(self) -> ModelFiles:
        """Raises ModelMissing, ModelCorrupt."""
        return find_model(self._settings)

    @cached_property
    def embedder(self) -> Embedder:
        """Raises ModelMissing, ModelCorrupt."""
        return Embedder(self.files, threads=self._settings.embed_threads)

    @cached_property
    def cache(self) -> VectorCache:
        return VectorCache(self._cache)

    @property
    def problem(self) -> ModelError | None:
        """Why there is no model to embed with; `None` when there is one."""
        try:
            _ = self.files
        except ModelError as error:
            return error
        return None

    def close(self) -> None:
        if "cache" in self.__dict__:
            self.cache.close()
