"""Measures how close embedding comes to the raw speed of the model.

The product embeds the texts with everything it does around the model; `session.run` alone embeds
the same texts, tokenized beforehand, on as many threads. The two take turns every few seconds, so
that a machine that gets slower or faster does so for both.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from memory_sidecar.agents.services import Services
from memory_sidecar.code.store import CodeStore
from memory_sidecar.core.results import Silent
from memory_sidecar.core.times import system_clock
from memory_sidecar.index.embed import embed_pending, next_pending

_TURN_CHUNKS = 128  # about four seconds
_MAX_TOKENS = 512


@dataclass(frozen=True, slots=True)
class Limit:
    ours_per_second: float
    raw_per_second: float

    @property
    def share(self) -> float:
        return self.ours_per_second / self.raw_per_second


def share_of_limit(tree: Path, data_dir: Path) -> Limit:
    """Embed all chunks of `tree` with an empty cache, and the same texts by the raw model."""
    services = Services.find(data_dir=data_dir, cwd=tree, environ=os.environ)
    codebase = services.codebase()
    codebase.index([tree], reporter=Silent(), embed=False)
    services.models.embedder.load()
    store = CodeStore(codebase.paths.db, clock=system_clock)
    texts = [item.text for item in next_pending(store, 1_000_000)]
    raw = _Raw(services.models.files.folder, threads=services.models.embedder.threads)
    tokens = [raw.tokenize(text) for text in texts]
    raw.run(tokens[:16])
    turns = _Turns(raw, tokens)
    for done, _ in embed_pending(store, services.models, None, stop=threading.Event()):
        turns.take(done)
    turns.finish()
    store.close()
    services.close()
    return Limit(len(texts) / turns.ours_seconds, len(texts) / turns.raw_seconds)


class _Turns:
    """Runs the raw model on each batch just embedded, and adds up the two times."""

    def __init__(self, raw: _Raw, tokens: list[Any]) -> None:
        self._raw = raw
        self._tokens = tokens
        self._done = 0
        self.ours_seconds = 0.0
        self.raw_seconds = 0.0
        self._since = time.perf_counter()

    def take(self, embedded: int) -> None:
        if embedded - self._done >= _TURN_CHUNKS:
            self._run(embedded)

    def finish(self) -> None:
        self._run(len(self._tokens))

    def _run(self, upto: int) -> None:
        now = time.perf_counter()
        self.ours_seconds += now - self._since
        self._raw.run(self._tokens[self._done : upto])
        self._done = upto
        self._since = time.perf_counter()
        self.raw_seconds += self._since - now


class _Raw:
    """The raw ONNX model."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self._names = [node.name for node in self._session.get_inputs()]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._pool = ThreadPoolExecutor(threads)

    def tokenize(self, text: str) -> dict[str, Any]:
        encoding = self._tokenizer.encode(text)
        inputs = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        return {name: np.array([inputs[name]], np.int64) for name in self._names}

    def run(self, tokens: list[dict[str, Any]]) -> None:
        for _ in self._pool.map(lambda inputs: self._session.run(None, inputs), tokens):
            pass
