"""The table of scores that code, memories and sessions share."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from memory_sidecar.core.model import SearchMode
from memory_sidecar.index.scored import (
    NAMED_FROM,
    Scored,
    ScoredRows,
    lift_named,
    reorder,
    saturate,
)


def scored():
    """Two rows of a curve, the second of them lifted and lowered by a step."""
    summands = {"cosine": np.array([0.6, 0.0]), "keyword": np.array([0.2, 0.3])}
    share = saturate(summands["cosine"] + summands["keyword"], 1.2)
    steps = {"named": np.array([0.0, 1.0]) * lift_named(share), "late": np.array([0.0, -0.1])}
    scores = NAMED_FROM * share + steps["named"] + steps["late"]
    boosts = {"named": np.array([0.0, 1.0])}
    unknown = np.array([0.6, nan])
    return ScoredRows(np.array([7, 9]), unknown, np.ones(2), summands, scores, boosts, steps)


def test_the_terms_of_each_row_add_up_to_its_score():
    rows = scored()
    for row in (0, 1):
        why = rows.explain(row)
        assert sum(why.terms.values()) == pytest.approx(rows.scores[row], abs=1e-5)
    assert rows.explain(0).terms.keys() == {"cosine", "keyword"}
    assert rows.explain(1).terms.keys() == {"keyword", "named", "late"}
    assert rows.explain(1).boosts == {"named": 1.0}


def test_an_arm_that_does_not_know_a_row_has_no_opinion():
    assert (scored().explain(0).cosine, scored().explain(1).cosine) == (0.6, None)
    by_words = ScoredRows.by_arm(SearchMode.KEYWORD, np.array([3]), np.array([0.25])).explain(0)
    assert (by_words.cosine, by_words.keyword, by_words.terms) == (None, 0.25, {"keyword": 0.25})


def test_one_arm_alone_gives_scores_from_0_to_1():
    rows = ScoredRows.by_arm(SearchMode.VECTOR, np.arange(4), np.array([-0.2, 0.5, 1.1, nan]))
    assert rows.scores.tolist() == [0.0, 0.5, 1.0, 0.0]
    assert rows.explain(0).terms == {}
    assert rows.explain(3).cosine is None


def test_words_that_half_of_all_rows_hold_give_scores_that_can_be_told_apart():
    """Of one row, or two, FTS5 weighs each word by a millionth."""
    rows = ScoredRows.by_arm(SearchMode.KEYWORD, np.arange(3), np.array([4e-6, nan, 1e-6]))
    assert rows.scores.tolist() == pytest.approx([0.8, 0.0, 0.5])
    assert rows.explain(0).keyword == pytest.approx(0.8)


def test_a_new_order_leaves_the_scores_in_their_places():
    why = scored().explain(0)
    first, second, third = hits = [Scored(score=each, explanation=why) for each in (0.9, 0.5, 0.4)]
    better = reorder(hits, [1.0, 2.0, 1.0])
    assert [each.score for each in better] == [0.9, 0.5, 0.4]
    changes = [each.explanation.boosts["reranked"] for each in better]
    assert changes == pytest.approx([0.4, -0.4, 0.0])
    assert better[2] == third.with_score(0.4, "reranked")
    assert [first, second, third] == hits  # as they were
    again = reorder(better, [1.0, 2.0, 1.0])
    assert [each.explanation.boosts["reranked"] for each in again] == [0.0, 0.0, 0.0]
