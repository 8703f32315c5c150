"""Moments as an agent names them: a date, a time, or so long ago."""

from __future__ import annotations

from memory_sidecar.core.clock import system_clock
from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.times import parse_time
from memory_sidecar.memories.draft import parse_age


def past_moment(text: str) -> int | None:
    """Epoch milliseconds of a date or a moment, or of as long ago as `7d`; `None` for ""."""
    if not text:
        return None
    moment = parse_time(text)
    if moment is not None:
        return moment
    try:
        return system_clock() - parse_age(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is no time", hint="for example 2026-03-01, 2026-03-01T12:00:00Z or 7d"
        ) from error
