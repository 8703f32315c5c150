from __future__ import annotations

import math

import pytest

from memory_sidecar.disk.watch import MAX_PATHS, Gathering, Settled


@pytest.fixture
def gathering() -> Gathering:
    return Gathering(debounce_ms=100, max_wait_ms=2_000)


def test_changes_settle_when_none_came_for_a_while(gathering: Gathering) -> None:
    gathering.add("a.py", 10.0)
    assert gathering.due_s == pytest.approx(10.1)
    gathering.add("b.py", 10.05)
    assert gathering.due_s == pytest.approx(10.15)
    assert gathering.take() == Settled(frozenset({"a.py", "b.py"}), everything=False)


def test_a_file_that_changes_without_a_pause_holds_up_nothing_for_long(
    gathering: Gathering,
) -> None:
    for tenth in range(30):
        gathering.add("noisy.log", 10 + tenth / 20)
    assert gathering.due_s == pytest.approx(11.55)
    gathering.add("noisy.log", 11.99)
    assert gathering.due_s == pytest.approx(12.0)


def test_what_was_taken_does_not_come_again(gathering: Gathering) -> None:
    gathering.add("", 10.0)
    assert gathering.take() == Settled(frozenset(), everything=True)
    assert gathering.is_empty
    assert gathering.due_s == math.inf
    gathering.add("a.py", 15.0)
    assert gathering.due_s == pytest.approx(15.1)
    assert gathering.take() == Settled(frozenset({"a.py"}), everything=False)


def test_the_root_stands_for_everything(gathering: Gathering) -> None:
    for path in ("a.py", "", "b.py"):
        gathering.add(path, 10.0)
    assert gathering.take() == Settled(frozenset(), everything=True)


def test_too_many_paths_become_everything(gathering: Gathering) -> None:
    for number in range(MAX_PATHS):
        gathering.add(f"{number}.py", 10.0)
        gathering.add(f"{number}.py", 10.0)
    assert len(gathering.take().paths) == MAX_PATHS
    for number in range(MAX_PATHS + 1):
        gathering.add(f"{number}.py", 10.0)
    assert gathering.take() == Settled(frozenset(), everything=True)
