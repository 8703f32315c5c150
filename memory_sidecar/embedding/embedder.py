"""The embedding model and the cross-encoder in memory, run by ONNX Runtime.

A model is loaded when it is first used, and freed when idle. All threads share one single-threaded
session, and so one copy of the weights, and embed one text a call: on a CPU a batch of one is the
fastest, as nothing is padded, and a text gives the same bits beside any other texts. Queries
go first: the embedding of passages pauses between two texts while a query is embedded.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.errors import ModelCorrupt, SidecarError, system_error
from memory_sidecar.core.process import EMBEDDING, available_cores, lower_thread_priority, trim
from memory_sidecar.embedding.supply import ModelFiles

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # as ONNX Runtime, with a model only

Model = TypeVar("Model")
Floats = npt.NDArray[np.float32]


class OnDemand(ABC, Generic[Model]):
    """A model that is loaded at its first use and may be unloaded. Thread-safe.

    Calls under way go on with the model that was unloaded.
    """

    def __init__(self) -> None:
        self.used_at = time.monotonic()
        self._loading = threading.Lock()
        self._model: Model | None = None

    @property
    def is_loaded(self) -> bool:
        return self._model is not None

    def load(self) -> Model:
        """Return the model, loaded at the first call. Raises ModelCorrupt for damaged files."""
        self.used_at = time.monotonic()
        with self._loading:
            if self._model is None:
                self._model = self._load()
                trim()  # of 20 MB that reading the model took
            return self._model

    def unload(self) -> None:
        """Free the model's memory; calls under way finish, the next one loads it again."""
        with self._loading:
            self._model = None

    @abstractmethod
    def _load(self) -> Model:
        """Load and return the model. Raises ModelCorrupt."""


def does_not_load(model: Path, error: Exception, *, hint: str) -> SidecarError:
    """Return what the system lacks, if `error` is about that, else a ModelCorrupt with `hint`.

    The errors of ONNX Runtime and of tokenizers have no common base class.
    """
    lacking = system_error(error) if isinstance(error, (OSError, MemoryError)) else None
    return lacking or ModelCorrupt(f"{model} and its tokenizer do not load: {error}", hint=hint)


PATIENCE_S = 0.1  # how long background work waits for queries; one takes a fraction of it


class QueryGate:
    """A gate at which background work waits while a query runs. Queries never wait."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._queries = 0

    @contextmanager
    def query(self) -> Iterator[None]:
        """Keep the gate closed during the block."""
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def pass_through(self) -> None:
        """Wait until no query runs, for `patience_s` at most, as queries may never cease."""
        with self._changed:
            self._changed.wait_for(lambda: self._queries == 0, self._patience_s)


class OnnxModel:
    """A transformer from its ONNX file and its tokenizer: one text, or one pair, a call.

    A run takes one thread; any number of threads may run it at once. Own code, because FastEmbed
    takes 0.3 s and 30 MB to import, for models of images and sparse vectors. This reads the files
    that FastEmbed downloads by its rules; a test holds that both give the same bits.
    """

    def __init__(self, folder: Path, model_file: str) -> None:
        """Raises any kind of exception for damaged files: ONNX Runtime's have no common base."""
        import onnxruntime

        self._tokenizer = _tokenizer_in(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / model_file), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [each.name for each in self._session.get_inputs()]

    def run(self, text: str, beside: str | None = None) -> Floats:
        """Return the model's first output, (1, …), for `text` or for the pair `text`, `beside`."""
        encoded = self._tokenizer.encode(readable(text), beside and readable(beside))
        fields = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        inputs = {name: np.array([fields[name]], np.int64) for name in self._inputs}
        output: Floats = self._session.run(None, inputs)[0]
        return output

    def give_back_arena(self) -> None:
        """Free the memory that the longest text took, and ONNX Runtime keeps for another one."""
        from onnxruntime import RunOptions

        options = RunOptions()
        # https://onnxruntime.ai/docs/get-started/with-c.html#features: done at the end of a run.
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        shortest = np.ones((1, 2), np.int64)
        self._session.run(None, dict.fromkeys(self._inputs, shortest), options)


def _tokenizer_in(folder: Path) -> Tokenizer:
    """Load a tokenizer as `fastembed.common.preprocessor_utils` does, but without padding."""
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    limits = [config.get("model_max_length"), config.get("max_length")]
    # Some write 1e30 where they know no limit.
    known = [limit for limit in limits if isinstance(limit, int) and 0 < limit < 1 << 31]
    if not known:
        raise ValueError(f"{folder / 'tokenizer_config.json'} names no model_max_length")
    serialized = tokenizer.truncation or {}
    side = config.get("truncation_side") or serialized.get("direction", "right")
    tokenizer.enable_truncation(min(known), direction=side)
    tokenizer.no_padding()
    special = folder / "special_tokens_map.json"
    if special.is_file():
        for named in json.loads(special.read_text("utf-8")).values():
            for token in named if isinstance(named, list) else [named]:
                tokenizer.add_special_tokens(
                    [AddedToken(**token) if isinstance(token, dict) else token]
                )
    return tokenizer


def readable(text: str) -> str:
    """Replace the lone surrogates of a text that was not UTF-8, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


# The model sees 512 tokens, and those rarely take more characters; the tokenizer would read all.
MAX_CHARACTERS = 8_000
FEW_PASSAGES = 4  # embedded at once, like a question: a caller waits for them
LONG_CHARACTERS = 1_000  # for which the model takes tens of megabytes
MAX_THREADS = 8
RERANK_THREADS = 4
QUESTIONS_KEPT = 256
PAIRS_KEPT = 10 * QUESTIONS_KEPT  # mostly, 10 texts are judged for a question
_LEAST_LENGTH = 1e-12  # avoids a division by zero


class EmbeddingStopped(Exception):
    """The caller has set `stop` while its texts were embedded."""


class Embedder(OnDemand[OnnxModel]):
    """Makes vectors with the model in `files`, which the first call loads. Thread-safe."""

    def __init__(
        self, files: ModelFiles, *, threads: int = 0, gate: QueryGate | None = None
    ) -> None:
        """`threads` embed passages in parallel; 0 means one for every core that may be used.

        With `gate`, passages also pause for the queries of others that go through it.
        """
        super().__init__()
        self.files = files
        self.threads = min(threads or available_cores(), MAX_THREADS)
        self._gate = gate or QueryGate()
        self._pool = ThreadPoolExecutor(
            self.threads,
            thread_name_prefix="embed",
            initializer=lower_thread_priority,
            initargs=(EMBEDDING,),
        )
        self._vector_of = lru_cache(QUESTIONS_KEPT)(self._embed_question)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, (dimension,) float32 of length one, before passages."""
        return self._vector_of(text[:MAX_CHARACTERS])

    def _embed_question(self, text: str) -> Floats:
        model = self.load()
        with self._gate.query():
            vector = _embed(model, self.files.spec.query_prefix + text)
        vector.flags.writeable = False  # it is kept, and returned for the same question again
        return vector

    def embed_passages(
        self, texts: Sequence[str], *, stop: threading.Event | None = None
    ) -> Floats:
        """Return the vectors of `texts` in order, (n, dimension) float32 of length one each.

        A few texts go first, like a question. Otherwise pass many at once, which the threads share;
        several such calls take turns. Raises EmbeddingStopped soon after `stop` is set.
        """
        if not texts:
            return np.empty((0, self.files.spec.dimension), dtype=np.float32)
        model = self.load()

        def embed_when_free(text: str) -> Floats:
            self._gate.pass_through()
            if stop is not None and stop.is_set():
                raise EmbeddingStopped
            return _embed(model, text)

        try:
            if len(texts) <= FEW_PASSAGES:
                with self._gate.query():
                    return np.stack([_embed(model, text) for text in texts])
            vectors: list[Floats] = []
            for start in range(0, len(texts), 8 * self.threads):
                part = texts[start : start + 8 * self.threads]  # behind the parts of other calls
                vectors += self._pool.map(embed_when_free, part)
            return np.stack(vectors)
        finally:
            if max(map(len, texts)) > LONG_CHARACTERS:
                model.give_back_arena()

    def _load(self) -> OnnxModel:
        files, spec = self.files, self.files.spec
        try:
            model = OnnxModel(files.folder, files.model_file)
            dimension = len(_embed(model, "dimension"))
        except Exception as error:
            raise does_not_load(
                files.folder / files.model_file,
                error,
                hint="`memory-sidecar model verify` tells more; download the files again, or name "
                "another folder in MEMORY_SIDECAR_MODEL_DIR",
            ) from error
        if dimension != spec.dimension:
            raise ModelCorrupt(
                f"{files.folder} gives {dimension} dimensions, {spec.name} has {spec.dimension}",
                hint=f"name a folder with {spec.name} in MEMORY_SIDECAR_MODEL_DIR, or unset it",
            )
        return model


def _embed(model: OnnxModel, text: str) -> Floats:
    first_token = model.run(text[:MAX_CHARACTERS])[:, 0]
    length = np.linalg.norm(first_token, axis=1)
    vector: Floats = (first_token / np.maximum(length, _LEAST_LENGTH))[0]
    return vector


class Reranker(OnDemand[OnnxModel]):
    """A cross-encoder: reads a question and a text together, and scores how well that answers it.

    Slower than comparing vectors by orders of magnitude: for a handful of candidates. The same pair
    gives the same bits whatever else is judged, and is kept: agents repeat questions. The model in
    `files` is loaded by the first call. Thread-safe.
    """

    def __init__(self, files: ModelFiles, *, gate: QueryGate) -> None:
        """While `judge` runs, work that waits at `gate` pauses."""
        super().__init__()
        self.files = files
        self._gate = gate
        self._pool = ThreadPoolExecutor(RERANK_THREADS, thread_name_prefix="rerank")
        self._score_of = lru_cache(PAIRS_KEPT)(self._score)

    def judge(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each of `texts`, about -11 to 11, higher for a better answer.

        Raises ModelCorrupt where the files do not make a model.
        """
        asked = question[:MAX_CHARACTERS]
        with self._gate.query():
            scores = self._pool.map(
                lambda text: self._score_of(asked, text[:MAX_CHARACTERS]), texts
            )
            return list(scores)

    def _score(self, question: str, text: str) -> float:
        return _judge(self.load(), question, text)

    def _load(self) -> OnnxModel:
        try:
            model = OnnxModel(self.files.folder, self.files.model_file)
            _judge(model, "question", "answer")
        except Exception as error:
            hint = "`memory-sidecar model verify` tells more"
            model_file = self.files.folder / self.files.model_file
            raise does_not_load(model_file, error, hint=hint) from error
        return model


def _judge(model: OnnxModel, question: str, text: str) -> float:
    return float(model.run(question, text)[0, 0])
