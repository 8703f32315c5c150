"""Posting lists in PostgreSQL, packed as bytes, and BM25 over them as FTS5 computes it.

A list is read whole and scored here: scoring by `tsvector` and its index would fetch each row that
holds a word.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from memory_sidecar.index.codes import Floats, Ids
from memory_sidecar.index.keyword import fts5_idf

ENTRY = np.dtype(
    [("row", "<i4"), ("file", "<i4"), ("tokens", "<u2"), ("body", "u1"), ("names", "u1")]
)
"""A posting: the ids of the row and of its file, the number of tokens of the row, and how often the
word stands in its first column (`body`), its second and third (`names`: low and high four bits)."""

# The same layout; building an array of tuples takes five times as long.
_PACKED = struct.Struct("<iiHBB")

_K1, _B = 1.2, 0.75  # those of FTS5, like the formula

Entries = npt.NDArray[np.void]
N = TypeVar("N", float, npt.NDArray[Any])


@dataclass(frozen=True, slots=True)
class WordRow:
    """The tokens of one row, by column: body, symbols, path."""

    row: int
    file: int
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]]

    @property
    def tokens(self) -> int:
        return sum(map(len, self.columns))


def pack_words(rows: Iterable[WordRow]) -> dict[str, bytes]:
    """Pack the posting list of each word in `rows`."""
    lists: defaultdict[str, bytearray] = defaultdict(bytearray)
    for each in rows:
        body, second, third = map(Counter, each.columns)
        tokens = min(each.tokens, 0xFFFF)
        for term in body.keys() | second.keys() | third.keys():
            names = min(second[term], 15) | min(third[term], 15) << 4
            lists[term] += _PACKED.pack(each.row, each.file, tokens, min(body[term], 255), names)
    return {term: bytes(entries) for term, entries in lists.items()}


def unpack_entries(entries: Iterable[bytes]) -> Entries:
    """Unpack the lists of one word into one array."""
    return np.frombuffer(b"".join(entries), ENTRY)


@dataclass(frozen=True, slots=True)
class Statistics:
    """The number of rows that can be found, and of their tokens."""

    rows: int
    tokens: int

    def idf(self, holding: int) -> float:
        """Return the IDF of a word in `holding` rows, which may count deleted ones."""
        return fts5_idf(min(holding, self.rows), self.rows)

    @property
    def mean_tokens(self) -> float:
        return self.tokens / max(self.rows, 1)


def intersect_entries(lists: Sequence[Entries]) -> Entries:
    """Return the rows that hold all words of a phrase; each count is the least of the words'.

    Lists have no positions, so the words need not stand side by side in these rows.
    """
    shared, *others = sorted(lists, key=len)
    # By `take` and `compress`: indexing an array of records takes up to ten times as long.
    shared = shared.take(np.argsort(shared["row"]))
    for other in others:
        if not len(shared):
            break
        rows = np.ascontiguousarray(shared["row"])
        is_shared = np.zeros(int(rows[-1]) + 2, np.bool_)  # the last stands for all higher rows
        is_shared[rows] = True
        found = other.compress(is_shared.take(other["row"], mode="clip"))
        found = found.take(np.argsort(found["row"]))
        shared = shared.take(np.searchsorted(rows, found["row"]))
        shared["body"] = np.minimum(shared["body"], found["body"])
        low = np.minimum(shared["names"] & 15, found["names"] & 15)
        shared["names"] = low | np.minimum(shared["names"] >> 4, found["names"] >> 4) << 4
    return shared


def count_phrase(phrase: Sequence[str], tokens: list[str]) -> int:
    """Count how often the tokens of `phrase` stand in a row among `tokens`."""
    wanted, found, at = list(phrase), 0, -1
    with suppress(ValueError):
        while True:
            at = tokens.index(wanted[0], at + 1)
            found += tokens[at : at + len(wanted)] == wanted
    return found


def term_share(count: N, tokens: N, mean_tokens: float) -> N:
    """Return the factor of a word's IDF in BM25: it occurs `count` times in a row of `tokens`."""
    length = _K1 * (1 - _B + _B * tokens / max(mean_tokens, 1e-9))
    return count * (_K1 + 1) / (count + length)


def bm25(
    lists: Sequence[Entries], idfs: Sequence[float], weights: Sequence[float], mean_tokens: float
) -> tuple[Ids, Floats, Ids]:
    """Score the rows in `lists`, one per word: returns ids, ascending, scores and files, (n,).

    `weights`: of the three columns.
    """
    if not any(map(len, lists)):
        return np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.int64)
    together = np.concatenate(list(lists))
    idf = np.repeat(np.array(idfs), [len(each) for each in lists])
    names = together["names"]
    counts = together["body"] * weights[0] + (names & 15) * weights[1] + (names >> 4) * weights[2]
    ids, first, place = np.unique(together["row"], return_index=True, return_inverse=True)
    scores = np.bincount(place, idf * term_share(counts, together["tokens"], mean_tokens))
    files = together["file"][first]
    return ids.astype(np.int64), scores.astype(np.float32), files.astype(np.int64)
