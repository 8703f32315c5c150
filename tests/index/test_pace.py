from __future__ import annotations

import time

import pytest

from memory_sidecar.index.report import WINDOW_S, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a pace sees, which the test sets."""
    now_s = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    return now_s


def test_one_batch_gives_no_pace(clock: list[float]) -> None:
    pace = Pace()
    pace.add(16)
    clock[0] += 8  # other work of a first index comes between
    assert pace.per_second == 0


def test_a_pace_is_that_of_the_batches_after_the_first(clock: list[float]) -> None:
    pace = Pace()
    for _ in range(3):
        pace.add(16)
        clock[0] += 0.5
    assert pace.per_second == pytest.approx(32)


def test_batches_at_one_moment_give_no_pace(clock: list[float]) -> None:
    pace = Pace()
    pace.add(16)
    clock[0] += 0.001
    pace.add(16)
    assert pace.per_second == 0


def test_work_before_a_pause_is_left_out_of_the_pace(clock: list[float]) -> None:
    pace = Pace()
    pace.add(16)
    clock[0] += WINDOW_S + 1
    pace.add(16)
    clock[0] += 1
    pace.add(10)
    assert pace.per_second == pytest.approx(10)
