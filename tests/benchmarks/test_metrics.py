import pytest
from metrics import Judged, mean_metrics

PERFECT = Judged(["a", "b", "x"], {"a": 1, "b": 1})
SECOND = Judged(["x", "a", "y"], {"a": 1})
MISSED = Judged(["x", "y"], {"a": 1, "b": 1})


def test_perfect_ranking_scores_one():
    assert PERFECT.ndcg(10) == PERFECT.reciprocal_rank(10) == PERFECT.recall(5) == 1


def test_second_rank_is_discounted_by_the_logarithm_of_three():
    assert SECOND.ndcg(10) == pytest.approx(0.6309, abs=1e-4)
    assert SECOND.reciprocal_rank(10) == 0.5


def test_what_lies_behind_the_cut_does_not_count():
    assert SECOND.hit(1) == SECOND.ndcg(1) == SECOND.recall(1) == 0
    assert SECOND.hit(5) == 1


def test_higher_grade_first_is_the_ideal():
    grades = {"a": 2, "b": 1}
    assert Judged(["a", "b"], grades).ndcg(10) == 1
    assert Judged(["b", "a"], grades).ndcg(10) == pytest.approx(0.8597, abs=1e-4)


def test_more_relevant_documents_than_the_cut_can_still_be_perfect():
    relevance = dict.fromkeys("abc", 1)
    assert Judged(["a", "b"], relevance).ndcg(2) == 1
    assert Judged(["a", "b"], relevance).recall(2) == pytest.approx(2 / 3)


def test_mean_is_over_queries():
    means = mean_metrics([PERFECT, SECOND, MISSED])
    assert means["mrr@10"] == 0.5
    assert means["hit@1"] == pytest.approx(1 / 3)
