"""Waits for what another thread or process does, with a deadline that is far off."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 60.0


def eventually(condition: Callable[[], object]) -> None:
    """Return once `condition` holds, which is asked again and again."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)
