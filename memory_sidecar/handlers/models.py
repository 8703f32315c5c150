"""The embedding model and the vector cache, each made when it is first needed."""

from __future__ import annotations

import threading
import time
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
        self.cache = VectorCache(cache)
        self._lock = threading.Lock()  # a second embedder would be a second model in memory
        self._files: ModelFiles | None = None
        self._embedder: Embedder | None = None

    @property
    def files(self) -> ModelFiles:
        """Raises ModelMissing, ModelCorrupt."""
        with self._lock:
            return self._find()

    @property
    def embedder(self) -> Embedder:
        """Raises ModelMissing, ModelCorrupt."""
        with self._lock:
            if self._embedder is None:
                self._embedder = Embedder(self._find(), threads=self._settings.embed_threads)
            return self._embedder

    @property
    def problem(self) -> ModelError | None:
        """Why there is no model to embed with; `None` when there is one."""
        try:
            _ = self.files
        except ModelError as error:
            return error
        return None

    def unload(self, *, unused_for_s: float) -> bool:
        """Give the model's memory back if it was not used for so long; whether there was any."""
        with self._lock:
            embedder = self._embedder
        if embedder is None or not embedder.is_loaded:
            return False
        if time.monotonic() - embedder.used_at < unused_for_s:
            return False
        embedder.unload()
        return True

    def close(self) -> None:
        self.cache.close()

    def _find(self) -> ModelFiles:
        if self._files is None:
            self._files = find_model(self._settings)
        return self._files
