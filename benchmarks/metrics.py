"""Metrics of a ranking by relevance judgements, defined as in trec_eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CUTS_HIT = (1, 5, 10)
CUTS_RECALL = (5, 10)

Scores = tuple[list[float], list[float]]
"""The first score of each question with an answer, and of each without."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A query's ranking, and how relevant each document is to it (0: not)."""

    ranking: Sequence[str]
    relevance: Mapping[str, int]

    def ndcg(self, cut: int) -> float:
        """Normalised discounted cumulative gain, linear gain."""
        gains = (self.relevance.get(document, 0) for document in self.ranking[:cut])
        ideal = sorted(self.relevance.values(), reverse=True)[:cut]
        return _discounted(gains) / _discounted(ideal)

    def reciprocal_rank(self, cut: int) -> float:
        ranks = (
            1 / rank
            for rank, document in enumerate(self.ranking[:cut], start=1)
            if self.relevance.get(document)
        )
        return next(ranks, 0.0)

    def hit(self, cut: int) -> float:
        return float(any(self.relevance.get(document) for document in self.ranking[:cut]))

    def recall(self, cut: int) -> float:
        relevant = {document for document, grade in self.relevance.items() if grade}
        return len(relevant.intersection(self.ranking[:cut])) / len(relevant)


def mean_metrics(judged: Sequence[Judged]) -> dict[str, float]:
    """Every metric by name, as the mean over the queries."""
    sums = {
        "ndcg@10": sum(j.ndcg(10) for j in judged),
        "mrr@10": sum(j.reciprocal_rank(10) for j in judged),
        **{f"hit@{cut}": sum(j.hit(cut) for j in judged) for cut in CUTS_HIT},
        **{f"recall@{cut}": sum(j.recall(cut) for j in judged) for cut in CUTS_RECALL},
    }
    return {name: value / len(judged) for name, value in sums.items()}


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in metrics.items()}


def summary(scores: Scores, weak_below: float) -> dict[str, Any]:
    """The AUC of `scores`, and the shares of both kinds that fall below `weak_below`."""
    with_answer, without = scores
    return {
        "answerable": len(with_answer),
        "foreign": len(without),
        "auc": round(auc(with_answer, without), 4),
        "answerable_called_weak": share_below(weak_below, with_answer),
        "foreign_called_weak": share_below(weak_below, without),
    }


def share_below(limit: float, scores: Sequence[float]) -> float:
    return round(sum(score < limit for score in scores) / len(scores), 4)


def auc(with_answer: Sequence[float], without: Sequence[float]) -> float:
    """Area under the ROC curve: the share of pairs that are ordered right; ties count half."""
    won = sum((a > b) + (a == b) / 2 for a in with_answer for b in without)
    return won / (len(with_answer) * len(without))


def _discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
