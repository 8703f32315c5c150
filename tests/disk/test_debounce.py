from __future__ import annotations

import math

import pytest

from memory_sidecar.disk.watch import EVERYTHING, LONE_PATHS, MAX_PATHS, Debouncer


@pytest.fixture
def gathering() -> Debouncer:
    return Debouncer(debounce_ms=100, max_wait_ms=2_000)


def test_changes_settle_when_none_came_for_a_while(gathering):
    gathering.add("a.py", 10.0)
    assert gathering.due_s == pytest.approx(10.1)
    gathering.add("b.py", 10.05)
    assert gathering.due_s == pytest.approx(10.15)
    assert gathering.take() == {"a.py", "b.py"}


def test_a_file_that_changes_without_a_pause_holds_up_nothing_for_long(gathering):
    for tenth in range(30):
        gathering.add("noisy.log", 10 + tenth / 20)
    assert gathering.due_s == pytest.approx(11.55)
    gathering.add("noisy.log", 11.99)
    assert gathering.due_s == pytest.approx(12.0)


@pytest.fixture
def saving() -> Debouncer:
    return Debouncer(debounce_ms=100, max_wait_ms=2_000, saved_ms=20)


def test_a_save_after_a_pause_settles_soon(saving):
    for began_s in (10.0, 10.5):
        saving.add("a.py", began_s)  # written
        assert saving.due_s == pytest.approx(began_s + 0.1)
        saving.add("a.py", began_s + 0.03, is_whole=True)  # and closed
        assert saving.due_s == pytest.approx(began_s + 0.05)
        assert saving.take() == {"a.py"}


def test_of_many_saves_without_a_pause_only_the_first_settles_soon(saving):
    saving.add("0.py", 10.0, is_whole=True)
    assert saving.due_s == pytest.approx(10.02)
    saving.take()
    for number in range(1, 5):
        now_s = 10 + number / 20
        saving.add(f"{number}.py", now_s, is_whole=True)
        assert saving.due_s == pytest.approx(now_s + 0.1)
        saving.take()


def test_a_checkout_settles_as_a_whole(saving):
    for number in range(LONE_PATHS + 1):
        saving.add(f"{number}.py", 10.0, is_whole=True)
    assert saving.due_s == pytest.approx(10.1)
    saving.take()
    saving.add("", 20.0, is_whole=True)
    assert saving.due_s == pytest.approx(20.1)


def test_what_was_taken_does_not_come_again(gathering):
    gathering.add("", 10.0)
    assert gathering.take() == EVERYTHING
    assert gathering.is_empty
    assert gathering.due_s == math.inf
    gathering.add("a.py", 15.0)
    assert gathering.due_s == pytest.approx(15.1)
    assert gathering.take() == {"a.py"}


def test_the_root_stands_for_everything(gathering):
    for path in ("a.py", "", "b.py"):
        gathering.add(path, 10.0)
    assert gathering.take() == EVERYTHING


def test_too_many_paths_become_everything(gathering):
    for number in range(MAX_PATHS):
        gathering.add(f"{number}.py", 10.0)
        gathering.add(f"{number}.py", 10.0)
    assert len(gathering.take()) == MAX_PATHS
    for number in range(MAX_PATHS + 1):
        gathering.add(f"{number}.py", 10.0)
    assert gathering.take() == EVERYTHING
