"""Models in memory: loaded when first used, given back when idle, and queries before passages."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from memory_sidecar.core.errors import ModelCorrupt
from memory_sidecar.core.process import trim
from memory_sidecar.embedding.supply import ModelFiles

Model = TypeVar("Model")


class OnDemand(ABC, Generic[Model]):
    """A model. Thread-safe: one that is given back serves the calls under way."""

    def __init__(self) -> None:
        self.used_at = time.monotonic()
        self._loading = threading.Lock()
        self._model: Model | None = None

    @property
    def is_loaded(self) -> bool:
        return self._model is not None

    def load(self) -> None:
        """Load the model now. Raises ModelCorrupt where its files do not make a model."""
        self._loaded()

    def unload(self) -> None:
        """Give the model's memory back; calls under way finish, the next one loads it again."""
        with self._loading:
            self._model = None

    def _loaded(self) -> Model:
        self.used_at = time.monotonic()
        with self._loading:
            if self._model is None:
                self._model = self._load()
                trim()  # of 20 MB that reading the model took
            return self._model

    @abstractmethod
    def _load(self) -> Model:
        """Raises ModelCorrupt."""


def corrupt(files: ModelFiles, error: Exception, *, hint: str) -> ModelCorrupt:
    """What to raise for an error of ONNX Runtime's, which have no base class of their own."""
    return ModelCorrupt(
        f"{files.folder / files.model_file} and its tokenizer do not load: {error}", hint=hint
    )


PATIENCE_S = 0.1  # of what waits for a query: several times what one takes


class QueryGate:
    """Closed while at least one query is under way. Queries never wait for each other."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._queries = 0

    @contextmanager
    def query(self) -> Iterator[None]:
        """Holds the gate closed for the length of the block."""
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def pass_through(self) -> None:
        """Return once no query is under way, or after a while: there may always be another one."""
        with self._changed:
            self._changed.wait_for(lambda: self._queries == 0, self._patience_s)
