"""Memories fade with time, slower the more they are used, and never beyond a tenth of a score."""

from __future__ import annotations

import apsw
import pytest

from memory_sidecar.memories.strength import (
    HALF_LIFE_DAYS,
    SHARE,
    STRENGTH_ORDER_SQL,
    STRENGTH_SQL,
    kept_share,
    today,
)

DAY_MS = 86_400_000
NOW = 1_772_356_320_000


def strength(*, now_ms=NOW, **facts):
    """What SQL makes of a row with these `facts`."""
    row = {"used_at": 0, "uses": 0, "evidence": 0, "pinned": False} | facts
    columns = ", ".join(f":{name} AS {name}" for name in row)
    values = row | {"today": today(now_ms)}
    connection = apsw.Connection(":memory:")
    return connection.execute(f"SELECT {STRENGTH_SQL} FROM (SELECT {columns})", values).get


def after(days, **facts):
    return strength(updated_at=NOW - int(days * DAY_MS), **facts)


def test_half_is_left_after_the_half_life():
    assert after(0) == 1
    assert after(HALF_LIFE_DAYS) == pytest.approx(0.5)
    assert after(2 * HALF_LIFE_DAYS) == pytest.approx(0.25)


def test_use_evidence_and_pins_keep_it():
    assert after(90) < after(90, evidence=1) < after(90, evidence=4) < 1
    assert after(90) < after(90, uses=1) < after(90, uses=8) < 1
    assert after(90, evidence=4) == after(90, evidence=400)
    assert after(90_000, pinned=True) == 1


def test_the_last_use_counts_like_a_change():
    assert after(90, used_at=NOW, uses=1) == 1
    assert after(90, used_at=NOW - 200 * DAY_MS) == after(90)


def test_three_uses_double_the_half_life():
    assert after(2 * HALF_LIFE_DAYS, uses=3) == pytest.approx(0.5)


def test_a_clock_that_went_back_does_no_harm():
    assert after(-5) == 1
    assert after(10_000_000) < 1e-50


def test_it_stays_the_same_until_midnight():
    evening = (NOW // DAY_MS + 1) * DAY_MS - 1
    updated_at = NOW - 30 * DAY_MS
    now = strength(updated_at=updated_at)
    assert strength(now_ms=evening, updated_at=updated_at) == now
    assert strength(now_ms=evening + 1, updated_at=updated_at) < now


def test_a_score_loses_a_tenth_at_most():
    assert kept_share(1) == 1
    assert kept_share(0) == pytest.approx(1 - SHARE)
    assert 0.6 * kept_share(1) > 0.62 * kept_share(0.5)


def test_sql_orders_as_strength_does():
    connection = apsw.Connection(":memory:")
    columns = "updated_at, used_at, uses, evidence, pinned"
    connection.execute(f"CREATE TABLE memories ({columns})")
    for number in range(200):
        days, used = number * 37 % 500 - 5, number % 3 * number * DAY_MS
        row = (NOW - days * DAY_MS, used, number % 3, number % 7 // 2, number % 41 == 0)
        connection.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?)", row)
    found = connection.execute(
        f"SELECT {STRENGTH_SQL} FROM memories ORDER BY {STRENGTH_ORDER_SQL} DESC",
        {"today": today(NOW)},
    ).fetchall()
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 50


def test_what_is_older_comes_after_what_is_newer_at_any_age():
    scores = [0.8 * kept_share(after(days)) for days in (0, 60, 365, 3 * 365, 6 * 365, 12 * 365)]
    assert scores == sorted(scores, reverse=True)
    assert len({round(score, 4) for score in scores}) == len(scores)
