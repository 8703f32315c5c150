"""Metrics of a ranking by relevance judgements, defined as in trec_eval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CUTS_HIT = (1, 5, 10)
CUTS_RECALL = (5, 10)


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


def _discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
