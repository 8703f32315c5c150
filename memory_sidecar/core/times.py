"""Times: the clock that code is passed, and the one way to parse and format times.

A time is epoch milliseconds. It is parsed from ISO 8601 in all its forms, also with single digits
(`2026-3-1 9:05`), and from the dates that editors and mails write: `2026/3/1`, `1.3.2026`, `Sunday,
March 1st 2026, 9:12 am`, a month or a year alone; as UTC where no zone is given. `3/1/2026` is
refused, as a day of March to some and of January to others. Words such as `yesterday` depend on the
reader's zone: callers may say them, in the local one, files may not. In a question
`index.asked_time` reads them.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.number_words import NUMBERS

Clock = Callable[[], int]
"""Returns epoch milliseconds."""


_MONTHS = "january february march april may june july august september october november december"
_SHORT = [name[:3] for name in _MONTHS.split()]
_MONTH = rf"(?P<name>{'|'.join(f'{n[:3]}(?:{n[3:]})?' for n in _MONTHS.split())}|sept)\.?"
_NTH = r"(?:st|nd|rd|th)?"
_LOOSE = re.compile(
    rf"""(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s)?(?:
      (?P<year>\d{{4}})(?P<mark>[-/.])(?P<month>\d\d?)(?:(?P=mark)(?P<day>\d\d?))?
    | (?P<day_1>\d\d?)\.(?P<month_1>\d\d?)\.(?P<year_1>\d{{4}})
    | (?:(?P<day_2>\d\d?){_NTH}[ -])?{_MONTH}(?(day_2)|(?:\s(?P<day_3>\d\d?){_NTH})?),?[ -]
      (?P<year_2>\d{{4}})
    )(?:(?:[T ]|,\s)\s*(?P<hour>\d\d?)(?P<rest>:\d\d(?::\d\d(?:[.,]\d+)?)?)
       (?:\s*(?P<half>[ap])m)?(?:\s*(?P<zone>Z|GMT|UTC|[-+]\d\d[\d:]*)(?:\s\(\w+\))?)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_DIGITS = re.compile(
    r"([12]\d{3}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))((?:[01]\d|2[0-3])(?:[0-5]\d){1,2})?"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DURATION = re.compile(
    rf"(?:(\d{{1,6}}) ?|(an?|{'|'.join(NUMBERS)}) (?=\w\w))"
    "(?:(mo|[mhdwy])|(mo)nths?|(m)in(?:ute)?s?|(h)ours?|(d)ays?|(w)eeks?|(y)ears?)",
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
    such as 2026, 20260301 or 202603010912 for that year, date or time, as YAML has it unquoted.
    """
    if isinstance(value, str):
        at = _of_text(value.strip())
    elif type(value) is int and (_DIGITS.fullmatch(text := str(value)) or _YEAR.fullmatch(text)):
        at = _of_text(text)
    elif isinstance(value, int | float) and type(value) is not bool and abs(value) < _YEAR_10000_MS:
        at = math.floor(value * 1000 if abs(value) < _YEAR_2500_S else value)
    else:
        return None
    return at if at is not None and _YEAR_1_MS <= at < _YEAR_10000_MS else None


def parse_past_time(text: str | None, *, clock: Clock = system_clock) -> int | None:
    """Return the epoch ms of a date, a time, or an age such as `7d`; `None` for no `text`.

    An age may have `ago` after it. What is said in words, `last Friday`, begins by the local zone.
    Raises UsageError for anything else.
    """
    if not text:
        return None
    when = text.strip()
    lasting = parse_duration(when[:-4] if when.lower().endswith(" ago") else when)
    if lasting is not None:
        return max(clock() - lasting, 0)
    at = parse_time(when)
    if at is None and (at := _beginning(when, clock)) is None:
        example = "2026-03-01, March 2026, 2026-03-01T09:12:00Z, 7d, 2 weeks ago or last Friday"
        raise _no_time(when, example)
    return at


def parse_coming_time(text: str | None, *, clock: Clock = system_clock) -> int | None:
    """Return the epoch ms of a date, a time, or a span from now like `30d`; `None` for no text.

    A span may have `in` before it. Raises UsageError for anything else, and outside of 1970 to the
    year 9999.
    """
    if not text:
        return None
    when = re.sub(r"^\s*in\s+", "", text, flags=re.IGNORECASE)
    at, lasting = parse_time(when), parse_duration(when)
    if at is None:
        if lasting is None:
            raise _no_time(when, "2026-12-31, 2026-12-31T18:00:00Z or 30d")
        at = clock() + lasting
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

    The units and small numbers may be written out: `30 days`, `a week`.
    """
    found = _DURATION.fullmatch(text.strip())
    if not found:
        return None
    digits, word = found[1], (found[2] or "").lower()
    count = int(digits) if digits else NUMBERS.index(word) if word in NUMBERS else 1
    return count * _UNIT_MS[found[found.lastindex or 0].lower()]


def _beginning(text: str, clock: Clock) -> int | None:
    """Return the epoch ms at which begins what `text` says in words; None for any other form."""
    from memory_sidecar.core.time_words import beginning_of  # late: it takes 10 ms to compile

    start = beginning_of(text, datetime.fromtimestamp(clock() / 1000))
    return None if start is None else round(start.timestamp() * 1000)


def _no_time(text: str, example: str) -> UsageError:
    return UsageError(f"{text!r} is not a time", hint=f"for example {example}")


def _of_text(text: str) -> int | None:
    if loose := _LOOSE.fullmatch(text):
        text = _iso_of(loose.groupdict(""))
    elif digits := _DIGITS.fullmatch(text):
        text = "T".join(filter(None, digits.groups()))
    elif _YEAR.fullmatch(text):
        text += "-01-01"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # no form of ISO 8601, or the 31st of June
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _iso_of(has: dict[str, str]) -> str:
    """Return the parts of a time that `_LOOSE` found as ISO 8601; a month is its first day."""
    year = has["year"] or has["year_1"] or has["year_2"]
    month = has["month"] or has["month_1"] or str(_SHORT.index(has["name"][:3].casefold()) + 1)
    day = has["day"] or has["day_1"] or has["day_2"] or has["day_3"] or "1"
    hour, zone = has["hour"], has["zone"].upper().replace("GMT", "Z").replace("UTC", "Z")
    if has["half"] and 1 <= int(hour) <= 12:
        hour = str(int(hour) % 12 + 12 * (has["half"] in "pP"))
    at = f"T{hour:0>2}{has['rest']}{zone}" if hour else ""
    return f"{year}-{month:0>2}-{day:0>2}{at}"
