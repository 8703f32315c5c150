"""Words in PostgreSQL: which rows hold each, in packed lists, and BM25 as FTS5 computes it.

A list is read whole and scored here. To score by `tsvector` and its index, each row that holds a
word has to be fetched.
"""

from __future__ import annotations

import math
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory_sidecar.index.codes import Floats, Ids

ENTRY = np.dtype(
    [("row", "<i4"), ("file", "<i4"), ("tokens", "<u2"), ("body", "u1"), ("names", "u1")]
)
"""One row that holds a word: its id, its file's, how many tokens it has, how often the word stands
in its first column, and in the others: the low four bits count the second, the high the third."""

_PACKED = struct.Struct("<iiHBB")  # the same; an array of tuples takes five times as long to make

_K1, _B = 1.2, 0.75  # of FTS5, as are the formula and the least idf
_LEAST_IDF = 1e-6

Entries = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class WordRow:
    """One row and its tokens, column by column."""

    row: int
    file: int
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.columns))


def packed(rows: Iterable[WordRow]) -> dict[str, bytes]:
    """The lists of every word in `rows`."""
    lists: defaultdict[str, bytearray] = defaultdict(bytearray)
    for each in rows:
        body, second, third = map(Counter, each.columns)
        tokens = min(each.tokens, 0xFFFF)
        for term in body.keys() | second.keys() | third.keys():
            names = min(second[term], 15) | min(third[term], 15) << 4
            lists[term] += _PACKED.pack(each.row, each.file, tokens, min(body[term], 255), names)
    return {term: bytes(entries) for term, entries in lists.items()}


def unpacked(entries: Iterable[bytes]) -> Entries:
    """The entries of some lists of one word."""
    return np.frombuffer(b"".join(entries), ENTRY)


@dataclass(frozen=True, slots=True)
class Statistics:
    """How many rows can be found, and how many tokens they have."""

    rows: int
    tokens: int

    def idf(self, holding: int) -> float:
        """The weight of a word that `holding` rows have; its list may count rows that are gone."""
        holding = min(holding, self.rows)
        return max(math.log((self.rows - holding + 0.5) / (holding + 0.5)), _LEAST_IDF)

    @property
    def mean_tokens(self) -> float:
        return self.tokens / max(self.rows, 1)


def held_together(lists: Sequence[Entries]) -> Entries:
    """The rows that hold all words of a phrase, counted as often as the rarest of them.

    More than hold them in a row, which these lists do not tell.
    """
    shared, *others = sorted(lists, key=len)
    shared = shared[np.argsort(shared["row"])]
    for other in others:
        if not len(shared):
            break
        rows = np.ascontiguousarray(shared["row"])
        is_shared = np.zeros(int(rows[-1]) + 2, np.bool_)  # the last stands for all higher rows
        is_shared[rows] = True
        found = other[is_shared[np.minimum(other["row"], len(is_shared) - 1)]]
        found = found[np.argsort(found["row"])]
        shared = shared[np.searchsorted(rows, found["row"])]
        shared["body"] = np.minimum(shared["body"], found["body"])
        low = np.minimum(shared["names"] & 15, found["names"] & 15)
        shared["names"] = low | np.minimum(shared["names"] >> 4, found["names"] >> 4) << 4
    return shared


def count_phrase(phrase: Sequence[str], tokens: list[str]) -> int:
    """How often the tokens of `phrase` stand in a row among `tokens`."""
    wanted, found, at = list(phrase), 0, -1
    with suppress(ValueError):
        while True:
            at = tokens.index(wanted[0], at + 1)
            found += tokens[at : at + len(wanted)] == wanted
    return found


def share_of_term(count: float, tokens: float, mean_tokens: float) -> float:
    """What BM25 multiplies the idf of a word by that stands so often in a row of so many tokens."""
    length = _K1 * (1 - _B + _B * tokens / max(mean_tokens, 1e-9))
    return count * (_K1 + 1) / max(count + length, 1e-9)


def bm25(
    lists: Sequence[Entries],
    idfs: Sequence[float],
    weights: Sequence[float],
    mean_tokens: float,
) -> tuple[Ids, Floats, Ids]:
    """BM25 of the rows in `lists`, one for each word: ids (n,), ascending, scores and files (n,).

    `weights` are of the three columns.
    """
    if not any(map(len, lists)):
        return np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64)
    together = np.concatenate(list(lists))
    idf = np.repeat(np.array(idfs), [len(each) for each in lists])
    names = together["names"]
    counts = together["body"] * weights[0] + (names & 15) * weights[1] + (names >> 4) * weights[2]
    lengths = _K1 * (1 - _B + _B * together["tokens"] / max(mean_tokens, 1e-9))
    ids, first, place = np.unique(together["row"], return_index=True, return_inverse=True)
    scores = np.bincount(place, idf * counts * (_K1 + 1) / np.maximum(counts + lengths, 1e-9))
    files = together["file"][first]
    return ids.astype(np.int64), scores.astype(np.float32), files.astype(np.int64)
