from __future__ import annotations

import logging
import threading

import pytest

from memory_sidecar.sources.debounce import MAX_PATHS, Debounce, Gathering, Settled


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


def test_an_error_costs_its_batch_only(caplog: pytest.LogCaptureFixture) -> None:
    handed_over = threading.Semaphore(0)
    batches: list[Settled] = []

    def fail_at_first(settled: Settled) -> None:
        batches.append(settled)
        handed_over.release()
        if len(batches) == 1:
            raise ValueError("no luck")

    debounce = Debounce(fail_at_first, debounce_ms=1, max_wait_ms=10)
    try:
        for path in ("a.py", "b.py"):
            debounce.add(path)
            assert handed_over.acquire(timeout=10)
    finally:
        debounce.stop()
    assert [batch.paths for batch in batches] == [{"a.py"}, {"b.py"}]
    assert [
        (record.levelno, str(record.exc_info[1])) for record in caplog.records if record.exc_info
    ] == [(logging.ERROR, "no luck")]


def test_stopping_waits_for_the_batch_being_handed_over() -> None:
    entered, may_go_on = threading.Event(), threading.Event()
    done: list[Settled] = []

    def slow(settled: Settled) -> None:
        entered.set()
        assert may_go_on.wait(10)
        done.append(settled)

    debounce = Debounce(slow, debounce_ms=1, max_wait_ms=10)
    debounce.add("a.py")
    assert entered.wait(10)
    debounce.add("too late.py")
    threading.Timer(0.05, may_go_on.set).start()
    debounce.stop()
    assert [batch.paths for batch in done] == [{"a.py"}]
