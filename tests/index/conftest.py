"""A clock that a test sets."""

from __future__ import annotations

import pytest


class Clock:
    now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()
