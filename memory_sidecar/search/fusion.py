"""How much a chunk answers a question: one number from both arms and what its path tells.

    relevance = cosine + w · s / (s + 20) + 0.25 · p - 0.08 for each kind of aside
    s   BM25 of the chunk                          w   0.2, or 0.4 if the question quotes code
    p   share of the question's words, by idf, that stand in the path

The keyword share saturates instead of being divided by the best of the list: so it means the same
in every question, and a weak best match stays weak. Each term was kept because leaving it out
cost ranking on eight sets of commits and on CoSQA; `benchmarks/retrieval.py` measures the whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

BM25_HALF = 20.0  # the BM25 that gives half of the keyword share
KEYWORD_WEIGHT = 0.2
KEYWORD_WEIGHT_QUOTED = 0.4
PATH_WEIGHT = 0.25
ASIDE_PENALTY = 0.08

_QUOTES_CODE = re.compile(r"[a-z][A-Z]|_|`|\w\(\)|\w\.\w|::|\w/\w|[A-Z]{2,}|\d|[\"']\w")
_LANGUAGE = re.compile(
    r"\b(?:in|using|with|for|from)?\s*\b(?:python|javascript|typescript|golang|rust|java|c#|kotlin"
    r"|swift|ruby|php)\s?\d?(?!\w)",
    re.IGNORECASE,
)

# What counts as an aside, by path, and the words by which a question asks for such files.
_ASIDES = (
    (
        "tests",
        re.compile(
            r"(^|[/_.\-])(tests?|specs?|testing|__tests__|e2e)([/_.\-]|$)"
            r"|(?-i:[a-z]Tests?)(\.|/)|\.Tests?/",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(tests?|tested|testing|specs?|benchmarks?|coverage|assert\w*|fixtures?|mocks?"
            r"|unittest|flaky)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "docs",
        re.compile(r"\.(md|mdx|rst|txt|adoc)$|(^|/)(docs?|documentation)/", re.IGNORECASE),
        re.compile(
            r"\b(docs?|documentation|document(ed|ing|s)?|readme|changelog|changes|guide|tutorial"
            r"|examples?|comments?|docstrings?|typos?|markdown|links?|contributing|license|faq"
            r"|wiki|website)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "examples",
        re.compile(r"(^|/)(examples?|samples?|demos?|tutorials?|benchmarks?|perf)/", re.IGNORECASE),
        re.compile(r"\b(examples?|samples?|demos?|tutorials?|benchmark\w*)\b", re.IGNORECASE),
    ),
)


@dataclass(frozen=True, slots=True)
class Question:
    """A query's text, and what it tells of how to rank."""

    text: str
    subject: str  # without the name of a programming language
    keyword_weight: float
    asides: frozenset[str]  # kinds of files that it does not ask for

    @classmethod
    def of(cls, text: str) -> Question:
        return cls(
            text=text,
            subject=_LANGUAGE.sub("", text).strip() or text,
            keyword_weight=KEYWORD_WEIGHT_QUOTED if _QUOTES_CODE.search(text) else KEYWORD_WEIGHT,
            asides=frozenset(kind for kind, _, asked in _ASIDES if not asked.search(text)),
        )

    @property
    def wordings(self) -> tuple[str, ...]:
        """The texts whose vectors' mean stands for it.

        Most code of a language does not name it: with the name left out of one of them, NDCG@10
        on CoSQA grew by .008.
        """
        return tuple(dict.fromkeys((self.text, self.subject)))

    def penalties(self, filename: str) -> dict[str, float]:
        """By kind, what a chunk of `filename` loses."""
        return dict.fromkeys(self.asides & _asides_of(filename), -ASIDE_PENALTY)


@lru_cache(maxsize=1 << 14)  # the paths of a source, which come again with every question
def _asides_of(path: str) -> frozenset[str]:
    return frozenset(kind for kind, pattern, _ in _ASIDES if pattern.search(path))


def keyword_share(bm25: Floats) -> Floats:
    """BM25 (n,) ≥ 0 as a share in 0…1 that saturates."""
    return (bm25 / (bm25 + BM25_HALF)).astype(np.float32)
