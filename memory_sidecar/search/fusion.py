"""How much a chunk answers a query: one number from both arms, and what is known of its file.

    relevance = cosine + w · s / (s + 5)          s: its BM25; w: 0.2, or 0.3 if code is quoted

The keyword share saturates instead of being divided by the best one of the list: it means the
same in every query, and a weak best match stays weak. Every term is here because it helps on the
sets of `benchmarks/retrieval.py`; those that did not are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

BM25_HALF = 5.0  # the BM25 that gives half of the keyword share
KEYWORD_WEIGHT = 0.2
KEYWORD_WEIGHT_QUOTED = 0.3  # the query has text written like code
ASIDE_PENALTY = 0.06  # tests, docs and examples, unless the query is about such

_LIKE_CODE = re.compile(r"[a-z0-9][A-Z]|\w_\w|\w\.\w|\(\)|::|[/\\]")

# What counts as an aside, by path, and the words by which a query asks for it.
_ASIDES = tuple(
    (name, re.compile(path, re.IGNORECASE), re.compile(rf"\b({asked})\b", re.IGNORECASE))
    for name, path, asked in (
        (
            "tests",
            r"(^|/)(tests?|specs?|__tests__|testdata|fixtures)/|(^|/)test_[^/]*$"
            r"|[_.\-](tests?|spec)\.\w+$|(?-i:Tests?)\.(cs|java|kt|swift)$",
            r"tests?|testing|specs?|fixtures?|mock\w*|assert\w*",
        ),
        (
            "docs",
            r"(^|/)docs?/|\.(md|mdx|rst|txt|adoc)$|(^|/)(changelog|license|authors)\b",
            r"docs?|document\w*|readme|changelog|guide|licen[cs]e",
        ),
        (
            "examples",
            r"(^|/)(examples?|samples?|demos?|benchmarks?)/",
            r"examples?|samples?|demos?|benchmark\w*",
        ),
    )
)


def keyword_share(bm25: Floats) -> Floats:
    """BM25 (n,) ≥ 0 as a share in 0…1 that saturates."""
    return (bm25 / (bm25 + BM25_HALF)).astype(np.float32)


def keyword_weight(query: str) -> float:
    """What the keyword share counts beside the cosine, for this query."""
    return KEYWORD_WEIGHT_QUOTED if _LIKE_CODE.search(query) else KEYWORD_WEIGHT


@dataclass(frozen=True, slots=True)
class Asides:
    """Kinds of files that count a little less, minus those that the query is about."""

    kinds: tuple[tuple[str, re.Pattern[str]], ...]

    @classmethod
    def for_query(cls, query: str) -> Asides:
        return cls(tuple((name, path) for name, path, asked in _ASIDES if not asked.search(query)))

    def penalties(self, filename: str) -> dict[str, float]:
        """By name, what a chunk of `filename` loses."""
        return {name: -ASIDE_PENALTY for name, path in self.kinds if path.search(filename)}
