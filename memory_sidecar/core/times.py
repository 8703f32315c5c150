"""Times: the clock that code is passed, and the one way to parse and format times.

A time is epoch milliseconds. It is parsed from ISO 8601 in all its forms, also with single digits
(`2026-3-1 9:05`), as UTC where no zone is given. Words such as `yesterday`, whose meaning depends
on the reader's zone, are refused; in a question they are read, by `index.asked_time`.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from memory_sidecar.core.errors import UsageError

Clock = Callable[[], int]
"""Returns epoch milliseconds."""


_LOOSE = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)"
    r"(?:[Tt ]\s*(\d\d?)(:\d\d(?::\d\d(?:[.,]\d+)?)?)\s*([Zz]|[-+]\d\d[\d:]*)?)?"
)
_DIGITS = re.compile(
    r"([12]\d{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))((?:[01]\d|2[0-3])(?:[0-5]\d){1,2})?"
)
_DURATION = re.compile(
    r"(\d{1,6}) ?(?:(mo|[mhdwy])|(mo)nths?|(m)in(?:ute)?s?|(h)ours?|(d)ays?|(w)eeks?|(y)ears?)",
    re.IGNORECASE,
)
NEVER = "never"  # what users write in place of a future time
DAY_MS = 86_400_000
_UNIT_MS = {
    "m": 60_000,
    "h": 3_600_000,
    "d": DAY_MS,
    "w": 7 * DAY_MS,
    "mo": 30 * DAY_MS,
    "y": 365 * DAY_MS,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_2500_S = 16_725_225_600
_YEAR_1_MS = -62_135_596_800_000
_YEAR_10000_MS = 253_402_300_800_000

_MONDAY_MS, _WEEK_MS = 4 * DAY_MS, 7 * DAY_MS  # 1970 began on a Thursday

WEEK_SQL = f"created_at - (created_at - {_MONDAY_MS}) % {_WEEK_MS}"
"""The SQL expression for `week_start` of the column `created_at`."""


def system_clock() -> int:
    """Return the current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso_utc(epoch_ms: int) -> str:
    """Format as ISO 8601 in UTC with milliseconds: `2026-03-01T09:12:00.000Z`."""
    moment = _EPOCH + timedelta(milliseconds=epoch_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_utc(moment: str) -> str:
    """Format a time as by `iso_utc` for a person, to the minute: `2026-03-01 09:12 UTC`."""
    return f"{moment[:16].replace('T', ' ')} UTC"


def compact_utc(epoch_ms: int) -> str:
    """Format for the name of a folder: `20260301T091200.000Z`."""
    return iso_utc(epoch_ms).replace("-", "").replace(":", "")


def local_day(epoch_ms: int) -> date:
    """Return the day in the local time zone."""
    return datetime.fromtimestamp(epoch_ms / 1000).date()


def week_start(moment: int) -> int:
    """Return the beginning of the week of `moment`, Monday 0:00 UTC; both in epoch ms."""
    return moment - (moment - _MONDAY_MS) % _WEEK_MS


def last_week_starts(count: int, *, now: int) -> list[int]:
    """Return the beginnings of the last `count` weeks in order, up to the week of `now`."""
    this = week_start(now)
    return [this - back * _WEEK_MS for back in reversed(range(count))]


def parse_time(value: object) -> int | None:
    """Return the epoch ms, rounded down, of a date or time in the years 1 to 9999, else `None`.

    A number is taken for epoch seconds, or milliseconds where seconds would lie beyond 2500; one
    such as 20260301 or 202603010912 for that date and time, as YAML has it without quotes.
    """
    if isinstance(value, str):
        at = _of_text(value.strip())
    elif type(value) is int and _DIGITS.fullmatch(text := str(value)):
        at = _of_text(text)
    elif isinstance(value, int | float) and type(value) is not bool and abs(value) < _YEAR_10000_MS:
        at = math.floor(value * 1000 if abs(value) < _YEAR_2500_S else value)
    else:
        return None
    return at if at is not None and _YEAR_1_MS <= at < _YEAR_10000_MS else None


def parse_past_time(text: str | None, *, clock: Clock = system_clock) -> int | None:
    """Return the epoch ms of a date, a time, or an age such as `7d`; `None` for no `text`.

    An age may have `ago` after it. Raises UsageError for anything else.
    """
    if not text:
        return None
    when = text.strip()
    when = when[:-4] if when.lower().endswith(" ago") else when
    at, lasting = _at_or_lasting(when, example="2026-03-01, 2026-03-01T09:12:00Z or 7d")
    return at if at is not None else max(clock() - lasting, 0)


def parse_coming_time(text: str | None, *, clock: Clock = system_clock) -> int | None:
    """Return the epoch ms of a date, a time, or a span from now like `30d`; `None` for no text.

    A span may have `in` before it. Raises UsageError for anything else, and outside of 1970 to the
    year 9999.
    """
    if not text:
        return None
    when = re.sub(r"^\s*in\s+(?=\d)", "", text, flags=re.IGNORECASE)
    at, lasting = _at_or_lasting(when, example="2026-12-31, 2026-12-31T18:00:00Z or 30d")
    at = at if at is not None else clock() + lasting
    if not 0 <= at < _YEAR_10000_MS:
        raise UsageError(f"{text!r} is out of range", hint="a time from 1970 to the year 9999")
    return at


def parse_age(text: str | None, *, clock: Clock = system_clock) -> int | None:
    """Return the epoch ms a length of time such as `90d` ago; `None` for no `text`.

    May be before 1970. Raises UsageError for anything else, such as a date.
    """
    if not text:
        return None
    lasting = parse_duration(text)
    if lasting is None:
        raise UsageError(f"{text!r} is not a length of time", hint="for example 90d, 12h, 6mo")
    return clock() - lasting


def format_duration(seconds: float) -> str:
    """Format a length of time by its two largest units: `3 h 12 min`."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def parse_duration(text: str) -> int | None:
    """Return the ms of `15m`, `12h`, `30d`, `2w`, `6mo` (30 days each), `1y` (365); else `None`.

    The units may be written out: `30 days`.
    """
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * _UNIT_MS[found[found.lastindex or 0].lower()] if found else None


def _at_or_lasting(text: str, *, example: str) -> tuple[int | None, int]:
    """Return the time in epoch ms that `text` is, or None and a length in ms. Raises UsageError."""
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
    elif digits := _DIGITS.fullmatch(text):
        text = "T".join(filter(None, digits.groups()))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # no form of ISO 8601, or the 31st of June
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)
