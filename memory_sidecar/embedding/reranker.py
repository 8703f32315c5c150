"""Reads a question and a text together, and says how well the text answers it.

A cross-encoder is slower than comparing vectors by orders of magnitude: it is for a handful of
candidates. One text a call, several threads at once, as in `embedder`; the same pair gives the
same bits whatever else is judged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from memory_sidecar.embedding.query_gate import QueryGate
from memory_sidecar.embedding.supply import ModelFiles
from memory_sidecar.errors import ModelCorrupt

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

THREADS = 4


class Reranker:
    """Judges with the model in `files`, which is loaded by the first call. Thread-safe."""

    def __init__(self, files: ModelFiles, *, gate: QueryGate) -> None:
        """Passages that are embedded behind `gate` pause while this judges."""
        self.files = files
        self._gate = gate
        self._loading = threading.Lock()
        self._model: TextCrossEncoder | None = None
        self.used_at = time.monotonic()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rerank")

    @property
    def is_loaded(self) -> bool:
        return self._model is not None

    def judge(self, question: str, texts: Sequence[str]) -> list[float]:
        """A number for each of `texts`, higher where it answers better: about -11 to 11.

        Raises ModelCorrupt where the files do not make a model.
        """
        model = self._loaded()
        with self._gate.query():
            return list(self._pool.map(lambda text: _judge(model, question, text), texts))

    def load(self) -> None:
        """Load the model now. Raises ModelCorrupt."""
        self._loaded()

    def unload(self) -> None:
        """Give the model's memory back; calls under way finish, the next one loads it again."""
        with self._loading:
            self._model = None

    def _loaded(self) -> TextCrossEncoder:
        self.used_at = time.monotonic()
        with self._loading:
            if self._model is None:
                self._model = _load(self.files)
            return self._model


_registering = threading.Lock()  # FastEmbed keeps one list of models for the whole process


def _load(files: ModelFiles) -> TextCrossEncoder:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = f"memory-sidecar/{files.name}/{files.model_file}"
    with _registering:
        if all(known["model"] != name for known in TextCrossEncoder.list_supported_models()):
            TextCrossEncoder.add_custom_model(
                model=name, sources=ModelSource(hf=files.name), model_file=files.model_file
            )
    folder = str(files.folder)
    try:
        model = TextCrossEncoder(name, specific_model_path=folder, cache_dir=folder, threads=1)
        _judge(model, "question", "answer")
    except Exception as error:  # ONNX Runtime's errors have no base class of their own
        raise ModelCorrupt(
            f"{files.folder / files.model_file} and its tokenizer do not load: {error}",
            hint="`memory-sidecar model verify` tells more",
        ) from error
    return model


def _judge(model: TextCrossEncoder, question: str, text: str) -> float:
    # A lone surrogate, from text that was not UTF-8, would not reach the tokenizer.
    pair = [each.encode("utf-8", "replace").decode("utf-8") for each in (question, text)]
    (score,) = model.rerank(pair[0], [pair[1]], batch_size=1)
    return float(score)
