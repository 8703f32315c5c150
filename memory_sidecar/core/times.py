"""The time, passed in wherever it decides something, and read alike wherever it is written.

A moment is epoch milliseconds: ISO 8601 in all its forms, also with single digits
(`2026-3-1 9:05`), in UTC where it names no zone. No words such as `yesterday`, whose meaning hangs
on the zone of a reader.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from memory_sidecar.core.errors import UsageError

Clock = Callable[[], int]
"""Returns epoch milliseconds."""


_LOOSE = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)"
    r"(?:[Tt ]\s*(\d\d?)(:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*([Zz]|[-+]\d\d[\d:]*)?)?"
)
_DURATION = re.compile(r"(\d{1,6}) ?(mo|[mhdwy])", re.IGNORECASE)
_UNIT_MS = {
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 7 * 86_400_000,
    "mo": 30 * 86_400_000,
    "y": 365 * 86_400_000,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_2500_S = 16_725_225_600
_YEAR_1_MS = -62_135_596_800_000
_YEAR_10000_MS = 253_402_300_800_000

_MONDAY_MS, _WEEK_MS = 4 * _UNIT_MS["d"], _UNIT_MS["w"]  # 1970 began on a Thursday

WEEK_SQL = f"created_at - (created_at - {_MONDAY_MS}) % {_WEEK_MS}"
"""What `week_start` says of the column `created_at`."""


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


def week_start(moment: int) -> int:
    """When its week began: a Monday at midnight, UTC."""
    return moment - (moment - _MONDAY_MS) % _WEEK_MS


def last_week_starts(count: int, *, now: int) -> list[int]:
    """When each of the last weeks began, in order, the one that holds `now` as the last."""
    this = week_start(now)
    return [this - back * _WEEK_MS for back in reversed(range(count))]


def parse_time(value: object) -> int | None:
    """Epoch milliseconds of a date or moment in the years 1 to 9999, rounded down; else `None`.

    A number is taken for epoch seconds, or milliseconds where seconds would lie beyond 2500.
    """
    if isinstance(value, str):
        at = _of_text(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        at = math.floor(value * 1000 if abs(value) < _YEAR_2500_S else value)
    else:
        return None
    return at if at is not None and _YEAR_1_MS <= at < _YEAR_10000_MS else None


def parse_past_time(text: str | None, *, now_ms: int) -> int | None:
    """Epoch milliseconds of a date, a moment, or so long ago as `7d`; `None` without one.

    Raises UsageError for what is neither.
    """
    if not text:
        return None
    at, lasting = _at_or_lasting(text, example="2026-03-01, 2026-03-01T09:12:00Z or 7d")
    return at if at is not None else max(now_ms - lasting, 0)


def parse_coming_time(text: str | None, *, now_ms: int) -> int | None:
    """Epoch milliseconds of a date, a moment, or a time from now like `30d`; `None` without one.

    Raises UsageError for what is neither, and outside 1970 to the year 9999.
    """
    if not text:
        return None
    at, lasting = _at_or_lasting(text, example="2026-12-31, 2026-12-31T18:00:00Z or 30d")
    at = at if at is not None else now_ms + lasting
    if not 0 <= at < _YEAR_10000_MS:
        raise UsageError(f"{text!r} is out of range", hint="a time before the year 10,000")
    return at


def require_duration(text: str) -> int:
    """Milliseconds of a length of time like `90d`. Raises UsageError for anything else."""
    lasting = parse_duration(text)
    if lasting is None:
        raise UsageError(f"{text!r} is not a length of time", hint="for example 90d, 12h, 6mo")
    return lasting


def format_duration(seconds: float) -> str:
    """A length of time in its two largest units: `3 h 12 min`."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def parse_duration(text: str) -> int | None:
    """Milliseconds of `15m`, `12h`, `30d`, `2w`, `6mo` (30 days each), `1y` (365); else `None`."""
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * _UNIT_MS[found[2].lower()] if found else None


def _at_or_lasting(text: str, *, example: str) -> tuple[int | None, int]:
    """The moment that `text` is, in epoch ms, else how many ms it lasts. Raises UsageError."""
    at, lasting = parse_time(text), parse_duration(text)
    if at is None and lasting is None:
        raise UsageError(f"{text!r} is not a time", hint=f"for example {example}")
    return at, lasting or 0


def _of_text(text: str) -> int | None:
    if loose := _LOOSE.fullmatch(text):
        year, month, day, hour, rest, zone = loose.groups(default="")
        text = f"{year}-{month:0>2}-{day:0>2}"
        if hour:
            text += f"T{hour:0>2}{rest}{zone.upper()}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # no form of ISO 8601, or the 31st of June
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)
