"""What all rankings share: scored rows that can be explained, the curve of scores, reordering.

`code.ranking`, `memories.search` and `sessions.search` bring the features of their rows and the
weights. A score is a curve applied to a sum of terms, followed by some steps that add or subtract.
An explanation splits the value of the curve among the terms in proportion, and lists each step, so
that all of it adds up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import numpy as np

from memory_sidecar.core.model import Explanation, Query, SearchMode
from memory_sidecar.core.results import rounded
from memory_sidecar.index.arms import Scores
from memory_sidecar.index.asked_time import AskedTime
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.words import lacks_latin

NAMED_FROM = 0.9  # scores from here on belong to rows that the question names
LEAST_IDF = 1e-6  # FTS5's idf of a word that half of all rows hold, as in a small project
COMMON_WORDS_BELOW = 2e-5  # the best row has a lower share only if every word has that idf

Columns = Mapping[str, Scores]
H = TypeVar("H", bound="Scored")


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows with their scores, and what each of these is made of, by name; arrays are (n,)."""

    ids: Ids
    cosine: Scores  # to the question; NaN: that arm does not know the row
    keyword: Scores  # the share of the words; NaN as above
    summands: Columns  # their sum is the relevance, to which the curve is applied
    scores: Scores  # 0…1
    boosts: Columns = field(default_factory=dict)  # shown to the user
    steps: Columns = field(default_factory=dict)  # added after the curve

    @classmethod
    def by_arm(cls, mode: SearchMode, ids: Ids, values: Scores) -> ScoredRows:
        """Score rows by the `values` of one arm alone: keyword or vector, as `mode` says."""
        if mode is SearchMode.KEYWORD and np.nanmax(values, initial=0.0) < COMMON_WORDS_BELOW:
            values = values / (values + LEAST_IDF)
        scores = np.clip(np.nan_to_num(values), 0.0, 1.0)
        unknown = np.full(len(ids), np.nan)
        if mode is SearchMode.KEYWORD:
            return cls(ids, unknown, values, {"keyword": scores}, scores)
        return cls(ids, values, unknown, {"cosine": scores}, scores)

    def relevance_of(self, row: int) -> float:
        return sum(_row_of(self.summands, row).values())

    def explain(self, row: int) -> Explanation:
        """Return what the score of one row is made of; its terms add up to the score."""
        summands, steps = _row_of(self.summands, row), _row_of(self.steps, row)
        total = sum(summands.values())
        share = (float(self.scores[row]) - sum(steps.values())) / total if total > 0 else 0.0
        terms = {name: value * share for name, value in summands.items()} | steps
        return Explanation(
            cosine=_opinion(self.cosine[row]),
            keyword=_opinion(self.keyword[row]),
            boosts={n: rounded(v) for n, v in _row_of(self.boosts, row).items() if v},
            terms={name: rounded(value) for name, value in terms.items() if value},
        )


def saturate(relevance: Scores, full: float) -> Scores:
    """Return the curve of `relevance`, 0…1: .83 for `full`, the relevance of a full match."""
    curve: Scores = 1 - np.exp(-1.8 * np.maximum(relevance, 0.0) / full)
    return curve


def lift_named(share: Scores) -> Scores:
    """Return what lifts a score of NAMED_FROM · `share` into the range from NAMED_FROM to 1."""
    return NAMED_FROM + (1 - NAMED_FROM) * share - NAMED_FROM * share


def weak_below(
    query: Query, explanation: Explanation, usual: float, time: AskedTime | None
) -> float:
    """Return the score below which a hit of `query` is weak; 0 if only one arm scored it.

    To the model all text without Latin letters is alike: a hit that shares no word with such a
    query is weak whatever its score. Any other hit is weak below `usual`, to which half of what
    its `time` lifted it by is added: on any day something was written.
    """
    if query.mode is not SearchMode.HYBRID or explanation.cosine is None:
        return 0.0
    if not explanation.keyword and lacks_latin(query.text):
        return math.inf
    lifted = 0.0 if time is None or time.is_all else explanation.terms.get("time", 0.0)
    return usual + lifted / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A row that was read, with its score and what that is made of. Scores fall with rank."""

    score: float  # 0…1
    explanation: Explanation

    def with_score(self, score: float, reason: str) -> Self:
        """Return a copy with another score, explained by what steps called `reason` add up to."""
        why = self.explanation
        step = {reason: rounded(why.terms.get(reason, 0.0) + score - self.score)}
        why = replace(why, boosts=why.boosts | step, terms=why.terms | step)
        return replace(self, score=score, explanation=why)


def reorder(hits: Sequence[H], keys: Sequence[float], reason: str = "reranked") -> list[H]:
    """Put `hits` in the order of their `keys`, the highest first; equal ones keep their order.

    The scores stay in their places, so that a score means the same with and without reranking.
    `reason` explains what each gained or lost.
    """
    order = sorted(range(len(keys)), key=lambda at: -keys[at])
    return [hits[at].with_score(there.score, reason) for there, at in zip(hits, order, strict=True)]


def _row_of(columns: Columns, row: int) -> dict[str, float]:
    return {name: float(column[row]) for name, column in columns.items()}


def _opinion(value: float) -> float | None:
    return None if math.isnan(value) else rounded(value)
