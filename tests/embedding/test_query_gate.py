"""The order in which queries and passages get their turn."""

from __future__ import annotations

import threading

import pytest

from memory_sidecar.embedding.query_gate import QueryGate


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
    QueryGate().pass_through()


def test_query_that_fails_leaves_the_gate_open() -> None:
    gate = QueryGate()
    with pytest.raises(ValueError, match="broken"), gate.query():
        raise ValueError("broken")
    gate.pass_through()


def test_queries_without_a_pause_do_not_hold_passages_up_for_ever() -> None:
    gate = QueryGate(patience_s=0.01)
    with gate.query():
        gate.pass_through()
