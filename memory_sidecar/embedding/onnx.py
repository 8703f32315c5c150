"""Runs a transformer from its ONNX file and its tokenizer: one text, or one pair, a call.

Own code, because FastEmbed, which downloads the model and by whose rules this reads its files,
takes 0.3 s and 30 MB to import: for models of images and sparse vectors. A test holds that both
give the same bits.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
from tokenizers import AddedToken, Tokenizer

Output = npt.NDArray[np.float32]


class OnnxModel:
    """A model on one thread. Any number of threads may run it at once."""

    def __init__(self, folder: Path, model_file: str) -> None:
        """Raises whatever ONNX Runtime or the tokenizer make of files that are none."""
        self._tokenizer = _tokenizer_in(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(folder / model_file), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [each.name for each in self._session.get_inputs()]

    def run(self, text: str, beside: str | None = None) -> Output:
        """The first output for `text`, or for a pair of texts: (1, …)."""
        encoded = self._tokenizer.encode(_readable(text), beside and _readable(beside))
        fields = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        inputs = {name: np.array([fields[name]], np.int64) for name in self._inputs}
        output: Output = self._session.run(None, inputs)[0]
        return output

    def give_back_arena(self) -> None:
        """Free what the longest text has taken: it is kept for the next one that long."""
        options = onnxruntime.RunOptions()
        # https://onnxruntime.ai/docs/get-started/with-c.html#features: done at the end of a run.
        options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
        shortest = np.ones((1, 2), np.int64)
        self._session.run(None, dict.fromkeys(self._inputs, shortest), options)


def _tokenizer_in(folder: Path) -> Tokenizer:
    """As FastEmbed reads it (`fastembed.common.preprocessor_utils`), without padding."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
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


def _readable(text: str) -> str:
    """Without lone surrogates, from a name or text that was not UTF-8, which no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
