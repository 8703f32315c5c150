"""Static vectors: a text is the sum of its tokens' vectors, without a transformer.

They take microseconds a text, so that a chunk has one as soon as it has words, and questions are
answered by meaning before the first transformer vector is there. The table is WordLlama's
(https://github.com/dleemiller/WordLlama, MIT): 32,000 tokens, 256 dimensions. Its package only
carries two files, and is never imported.

A token that comes again adds less (its count to the power of 1/4), and long token vectors count
less (divided by the root of their length): on CoSQA NDCG@10 by these vectors alone is .38 with
both, .32 as a plain sum. Weights by the tokens' rarity lower it: the table has learnt them.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from memory_sidecar.core.errors import ModelMissing
from memory_sidecar.core.installation import install_command
from memory_sidecar.embedding.embedder import Floats, OnDemand, does_not_load, readable
from memory_sidecar.embedding.supply import package_files

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Halves = npt.NDArray[np.float16]

STATIC_DIMENSION = 256
STATIC_PACKAGE, STATIC_VERSION = "wordllama", "0.2.2.post0"
_PINNED = f"{STATIC_PACKAGE}=={STATIC_VERSION}"
TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
STATIC_SHA256 = {
    TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
    WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
}
MAX_STATIC_CHARACTERS = 2_000  # of a text; what is embedded of a chunk is far shorter
_AT_ONCE = 64  # texts, in 20 ms


def find_static(package_path: Sequence[str] | None = None) -> dict[str, Path]:
    """Find TOKENIZER and WEIGHTS in the installed package, by default looked for on `sys.path`.

    Raises ModelMissing if the package is not installed, ModelCorrupt if its files differ from the
    published ones.
    """
    files = package_files(STATIC_PACKAGE, STATIC_VERSION, STATIC_SHA256, package_path)
    if files is None:
        raise ModelMissing(
            f"the package {STATIC_PACKAGE} is not installed: until the model's vectors are there, "
            "search is by keyword alone",
            hint=f"`{install_command(f'--no-deps {_PINNED}')}`, and index again",
        )
    return files


class _Table:
    """The vectors of all tokens, as they lie in the file `weights`.

    A text reads some kilobytes of its 16 MB, which the system caches.
    """

    def __init__(self, weights: Path, tokens: int) -> None:
        """Raises any kind of exception for a file with another content."""
        with weights.open("rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        numbers = _read_safetensors(self._file)
        self._rows: Halves = numbers.reshape(tokens, STATIC_DIMENSION)
        self._roots: Floats = np.zeros(tokens, np.float32)  # of the rows' lengths, once needed

    def __len__(self) -> int:
        return len(self._rows)

    def sum_of(self, tokens: npt.NDArray[np.int64], weights: Floats) -> Floats:
        """Return the weighted sum of the vectors of `tokens`, (256,)."""
        rows, roots = self._rows[tokens].astype(np.float32), self._roots[tokens]
        if not roots.all():
            self._roots[tokens] = np.sqrt(np.maximum(np.linalg.norm(rows, axis=1), 1e-6))
            roots = self._roots[tokens]
        total: Floats = np.dot(weights / roots, rows)
        return total

    def let_go(self) -> None:
        """Release the pages of the file that were read."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)


class StaticEmbedder(OnDemand["tuple[Tokenizer, _Table]"]):
    """Makes static vectors with the table in `files`, which the first call opens. Thread-safe."""

    version = STATIC_SHA256[WEIGHTS][:16]  # of all that decides a vector

    def __init__(self, files: Mapping[str, Path]) -> None:
        super().__init__()
        self.files = files

    def embed(
        self, texts: Sequence[str], *, between: Callable[[], object] = lambda: None
    ) -> Floats:
        """Return the vectors of `texts` in order, (n, 256) float32 of length one each.

        A text without a token gets zeros. Calls `between` between two batches. Raises ModelCorrupt.
        """
        tokenizer, table = self.load()
        vectors = np.zeros((len(texts), STATIC_DIMENSION), np.float32)
        for at in range(0, len(texts), _AT_ONCE):
            if at:
                between()
            _add(vectors[at : at + _AT_ONCE], texts[at : at + _AT_ONCE], tokenizer, table)
        table.let_go()
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def _load(self) -> tuple[Tokenizer, _Table]:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_buffer(self.files[TOKENIZER].read_bytes())
            tokenizer.no_truncation()
            tokenizer.no_padding()
            # The cache would keep 10,000 texts, 5 KB each, none of which comes again.
            tokenizer.model._resize_cache(0)
            table = _Table(self.files[WEIGHTS], tokenizer.get_vocab_size())
        except Exception as error:  # tokenizers has no class of its own for what it raises
            again = f"`{install_command(f'--force-reinstall --no-deps {_PINNED}')}`"
            raise does_not_load(self.files[WEIGHTS], error, hint=again) from error
        return tokenizer, table


def _add(vectors: Floats, texts: Sequence[str], tokenizer: Tokenizer, table: _Table) -> None:
    """Fill `vectors`, one row of zeros for each of `texts`, with sums of any length."""
    whole = [readable(text[:MAX_STATIC_CHARACTERS]) for text in texts]
    if len(whole) == 1:  # a question: threads of batches have the low priority of their starter
        encodings = [tokenizer.encode(whole[0], add_special_tokens=False)]
    else:
        encodings = tokenizer.encode_batch_fast(whole, add_special_tokens=False)
    ids = [encoding.ids for encoding in encodings]
    row_of = np.repeat(np.arange(len(ids)), list(map(len, ids)))
    each = np.fromiter(chain.from_iterable(ids), np.int64, len(row_of))
    # Sorted by text, then by token: one sort for all of them is a quarter of one for each.
    cells, counts = np.unique(row_of * len(table) + each, return_counts=True)
    weights: Floats = np.sqrt(np.sqrt(counts)).astype(np.float32)
    begins = np.searchsorted(cells, np.arange(len(ids) + 1) * len(table)).tolist()
    tokens = cells % len(table)
    for row, (begin, end) in enumerate(pairwise(begins)):
        vectors[row] = table.sum_of(tokens[begin:end], weights[begin:end])


def _read_safetensors(data: mmap.mmap) -> Halves:
    """Return the numbers of the only tensor of a file.

    https://huggingface.co/docs/safetensors#format: length of the header, header, numbers.
    """
    begin = 8 + int.from_bytes(data[:8], "little")
    (tensor,) = (
        entry for name, entry in json.loads(data[8:begin]).items() if name != "__metadata__"
    )
    start, end = tensor["data_offsets"]
    return np.frombuffer(data, np.float16, (end - start) // 2, offset=begin + start)
