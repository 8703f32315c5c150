"""Waits for what another thread or process does, with a deadline that is far off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

DEADLINE_S = 60.0


def eventually(condition: Callable[[], object]) -> None:
    """Return once `condition` holds, which is asked again and again."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


@contextmanager
def held_back(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Iterator[None]:
    """Let every call of the method `name` of `owner` begin only when the block ends."""
    go_on, method = threading.Event(), getattr(owner, name)

    def begin_late(*args: Any, **named: Any) -> Any:
        assert go_on.wait(DEADLINE_S), "the block did not end in time"
        return method(*args, **named)

    monkeypatch.setattr(owner, name, begin_late)
    try:
        yield
    finally:
        go_on.set()
