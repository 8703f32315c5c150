"""The order in which queries and passages get their turn."""

from __future__ import annotations

import threading
import time

import pytest

from memory_sidecar.core.process import CLOSINGS_SAVED, QueryGate


def test_passage_waits_for_every_query_under_way() -> None:
    gate = QueryGate(patience_s=60)
    order: list[str] = []
    arrived = threading.Event()

    def passage() -> None:
        arrived.set()
        gate.pass_through()
        order.append("passage")

    worker = threading.Thread(target=passage)
    with gate.query():
        with gate.query():
            worker.start()
            assert arrived.wait(timeout=60)
            order.append("first query")
        order.append("second query")
    worker.join(timeout=60)
    assert order == ["first query", "second query", "passage"]


def test_open_gate_holds_nobody_up() -> None:
    assert seconds_to_pass(QueryGate(patience_s=60)) < 30


def test_query_that_fails_leaves_the_gate_open() -> None:
    gate = QueryGate(patience_s=60)
    with pytest.raises(ValueError, match="broken"), gate.query():
        raise ValueError("broken")
    assert seconds_to_pass(gate) < 30


def test_queries_without_a_pause_do_not_hold_passages_up_for_ever() -> None:
    gate = QueryGate(patience_s=0.01)
    with gate.query():
        assert 0.01 <= seconds_to_pass(gate) < 30


def test_steady_queries_keep_the_gate_closed_for_half_of_the_time():
    now_s, closed_since_s, closed_s = 0.0, 0.0, 0.0

    def listen(is_closed: bool) -> None:
        nonlocal closed_since_s, closed_s
        if is_closed:
            closed_since_s = now_s
        else:
            closed_s += now_s - closed_since_s

    gate = QueryGate(patience_s=2, now_s=lambda: now_s)
    gate.listeners.append(listen)
    for _ in range(1000):
        with gate.query():
            now_s += 1
    assert 0.4 * now_s < closed_s < 0.6 * now_s


def test_after_a_while_without_queries_each_of_the_next_few_closes_the_gate():
    now_s = 0.0
    told: list[bool] = []
    gate = QueryGate(patience_s=2, now_s=lambda: now_s)
    gate.listeners.append(told.append)
    for _ in range(100):
        with gate.query():
            now_s += 1
    told.clear()
    now_s += 1000
    for _ in range(CLOSINGS_SAVED):
        with gate.query():
            now_s += 1
    assert told == [True, False] * CLOSINGS_SAVED


def seconds_to_pass(gate: QueryGate) -> float:
    began_s = time.monotonic()
    gate.pass_through()
    return time.monotonic() - began_s
