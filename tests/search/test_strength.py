"""Memories fade with time, slower the more they are used, and never beyond a tenth of a score."""

from __future__ import annotations

import pytest

from memory_sidecar.search.strength import HALF_LIFE_DAYS, SHARE, faded, half_life_days, strength

DAY_MS = 86_400_000
NOW = 1_772_356_320_000


def after(days, **known):
    facts = {"used_at": 0, "uses": 0, "evidence": 0, "is_pinned": False} | known
    return strength(now_ms=NOW, updated_at=NOW - int(days * DAY_MS), **facts)


def test_half_is_left_after_the_half_life():
    assert after(0) == 1
    assert after(HALF_LIFE_DAYS) == pytest.approx(0.5)
    assert after(2 * HALF_LIFE_DAYS) == pytest.approx(0.25)


def test_use_evidence_and_pins_keep_it():
    assert after(90) < after(90, evidence=1) < after(90, evidence=4) < 1
    assert after(90) < after(90, uses=1) < after(90, uses=8) < 1
    assert after(90, evidence=4) == after(90, evidence=400)
    assert after(90_000, is_pinned=True) == 1


def test_the_last_use_counts_like_a_change():
    assert after(90, used_at=NOW, uses=1) == 1
    assert after(90, used_at=NOW - 200 * DAY_MS) == after(90)


def test_three_uses_double_the_half_life():
    assert half_life_days(uses=3, evidence=0) == 2 * HALF_LIFE_DAYS


def test_a_clock_that_went_back_does_no_harm():
    assert after(-5) == 1
    assert half_life_days(uses=-1, evidence=-1) == HALF_LIFE_DAYS
    assert after(10_000_000) < 1e-50


def test_it_stays_the_same_for_a_day():
    assert after(30) == after(30.9) > after(31)


def test_a_score_loses_a_tenth_at_most():
    assert faded(0.8, 1) == 0.8
    assert faded(0.8, 0) == pytest.approx(0.8 * (1 - SHARE))
    assert faded(0.6, 1) > faded(0.62, 0.5) > faded(0.6, 0.5)
