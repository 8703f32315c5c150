"""Reads a question and a text together, and says how well the text answers it.

A cross-encoder is slower than comparing vectors by orders of magnitude: it is for a handful of
candidates. One text a call, several threads at once, as of the embedder; the same pair gives the
same bits whatever else is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from memory_sidecar.embedding.embedder import OnDemand, OnnxModel, QueryGate, corrupt
from memory_sidecar.embedding.supply import ModelFiles

THREADS = 4


class Reranker(OnDemand[OnnxModel]):
    """Judges with the model in `files`, which is loaded by the first call. Thread-safe."""

    def __init__(self, files: ModelFiles, *, gate: QueryGate) -> None:
        """Passages that are embedded behind `gate` pause while this judges."""
        super().__init__()
        self.files = files
        self._gate = gate
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rerank")

    def judge(self, question: str, texts: Sequence[str]) -> list[float]:
        """A number for each of `texts`, higher where it answers better: about -11 to 11.

        Raises ModelCorrupt where the files do not make a model.
        """
        model = self._loaded()
        with self._gate.query():
            return list(self._pool.map(lambda text: _judge(model, question, text), texts))

    def _load(self) -> OnnxModel:
        try:
            model = OnnxModel(self.files.folder, self.files.model_file)
            _judge(model, "question", "answer")
        except Exception as error:
            hint = "`memory-sidecar model verify` tells more"
            raise corrupt(self.files, error, hint=hint) from error
        return model


def _judge(model: OnnxModel, question: str, text: str) -> float:
    return float(model.run(question, text)[0, 0])
