"""The order in which queries and passages get their turn."""

from __future__ import annotations

import threading
import time

import pytest

from memory_sidecar.embedding.embedder import QueryGate


def test_passage_waits_for_every_query_under_way():
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


def test_open_gate_holds_nobody_up():
    assert seconds_to_pass(QueryGate(patience_s=60)) < 30


def test_query_that_fails_leaves_the_gate_open():
    gate = QueryGate(patience_s=60)
    with pytest.raises(ValueError, match="broken"), gate.query():
        raise ValueError("broken")
    assert seconds_to_pass(gate) < 30


def test_queries_without_a_pause_do_not_hold_passages_up_for_ever():
    gate = QueryGate(patience_s=0.01)
    with gate.query():
        assert 0.01 <= seconds_to_pass(gate) < 30


def seconds_to_pass(gate: QueryGate) -> float:
    began_s = time.monotonic()
    gate.pass_through()
    return time.monotonic() - began_s
