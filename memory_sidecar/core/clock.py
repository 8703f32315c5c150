"""The time, passed in wherever it decides something, so that a test can set it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns epoch milliseconds."""


def system_clock() -> int:
    """Now, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso_utc(epoch_ms: int) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-03-01T09:12:00.000Z`."""
    moment = datetime.fromtimestamp(epoch_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def compact_utc(epoch_ms: int) -> str:
    """The same as a name of a folder: `20260301T091200.000Z`."""
    return iso_utc(epoch_ms).replace("-", "").replace(":", "")
