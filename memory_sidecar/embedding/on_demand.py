"""Models in memory: loaded when first used, given back when idle, and queries before passages."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np

from memory_sidecar.core.errors import ModelCorrupt
from memory_sidecar.embedding.supply import ModelFiles

Model = TypeVar("Model")

# FastEmbed keeps one list of models for the whole process, and is imported by the first of them.
_one_at_a_time = threading.Lock()


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
            return self._model

    @abstractmethod
    def _load(self) -> Model:
        """Raises ModelCorrupt."""


class FastEmbedModel(OnDemand[Model]):
    """The model of FastEmbed's in `files`."""

    def __init__(self, files: ModelFiles) -> None:
        super().__init__()
        self.files = files

    def _load(self) -> Model:
        with _one_at_a_time:
            return self._open()

    @abstractmethod
    def _open(self) -> Model:
        """Raises ModelCorrupt."""


def open_model(kind: Any, files: ModelFiles, **description: object) -> Any:  # noqa: ANN401  FastEmbed's classes share no base
    """The model in `files`, of one of FastEmbed's classes, which is told that it exists."""
    from fastembed.common.model_description import ModelSource

    name = f"memory-sidecar/{files.name}/{files.model_file}"
    if all(known["model"] != name for known in kind.list_supported_models()):
        kind.add_custom_model(
            model=name,
            sources=ModelSource(hf=files.name),
            model_file=files.model_file,
            **description,
        )
    folder = str(files.folder)
    # cache_dir is not used with a path given, but FastEmbed would make a folder for it.
    return kind(name, specific_model_path=folder, cache_dir=folder, threads=1)


def give_back_arena(model: Any) -> None:  # noqa: ANN401
    """Free what the longest text has taken: ONNX Runtime keeps it for the next one that long."""
    import onnxruntime

    session = model.model.model
    options = onnxruntime.RunOptions()
    # https://onnxruntime.ai/docs/get-started/with-c.html#features: done at the end of a run.
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    shortest = np.ones((1, 2), np.int64)
    session.run(None, {each.name: shortest for each in session.get_inputs()}, options)


def corrupt(files: ModelFiles, error: Exception, *, hint: str) -> ModelCorrupt:
    """What to raise for an error of ONNX Runtime's, which have no base class of their own."""
    return ModelCorrupt(
        f"{files.folder / files.model_file} and its tokenizer do not load: {error}", hint=hint
    )


PATIENCE_S = 0.5


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
