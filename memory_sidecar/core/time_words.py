"""Reads a time as people write it in English, "the 24th" or "late last year", as a span of days.

One expression finds all forms. Those that may well mean something else, such as a weekday without
"last", need a question about the past. Nothing here knows what a question asks for besides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from memory_sidecar.core.number_words import NUMBERS

_VERBS = ("may", "mar", "march")  # in lower case: months only after a preposition
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_COUNTS: dict[str, float] = {word: at for at, word in enumerate(NUMBERS)}
_COUNTS.update({"a": 1, "an": 1, "half": 0.5, "couple": 2, "few": 3, "several": 4})
_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "fortnight": 14}
_DAYS |= {"month": 30, "quarter": 91, "year": 365}
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # of the north
_PARTS = {"half": 2, "week": 4}  # how many there are; otherwise thirds
_ORDER = {"first": 0, "early": 0, "beginning": 0, "start": 0, "second": 1, "mid": 1, "middle": 1}
_ORDER |= {"third": 2, "fourth": 3, "late": -1, "end": -1, "last": -1}

_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = (
    "(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?"
    "|sat(?:urday)?|sun(?:day)?)"
)
_NTH = r"\d\d?(?:st|nd|rd|th)"
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_YEAR = r"(?:(?:19|20)\d\d|'\d\d)"
_OF_YEAR = rf"(?:{_YEAR}|(?:this|last)\ year)"
_COUNT = (
    rf"(?:half\ an?|\d{{1,3}}|{'|'.join(NUMBERS)}|(?:an?\ )?(?:couple(?:\ of)?|few)|several|an?)"
)
_UNIT = "(?:minute|hour|day|week|fortnight|month|year)"
_DAYTIME = "(?:morning|afternoon|evening|night)"
_PART = (
    "(?:early|late|mid(?:dle)?|beginning|start|end|(?:first|second|third|last)\\ (?:half|week))"
    "(?:\\ (?:of|in))?[ -]"
)
TIME = re.compile(
    rf"""(?<![\w./`'"-])(?<!\bevery\ )(?<!\beach\ )(?<!\bnext\ )
    (?:(?P<relation>on|in|at|over|during|within|around|since|after|before|until|by|from|between|of
        |for)\ )?
    (?P<the>the\ )?(?:
      (?:(?P<week>week\ of\ )|{_WEEKDAY},?\ )?(?:the\ )?(?:
        # 2026-04-24, 2026/04/24, 2026-04
        (?P<iso>\d{{4}}(?:-\d\d(?:-\d\d)?|/\d\d/\d\d))(?!T|\ \d\d?:)
      # 24.4.2026, 24-Apr-2026
      | (?P<numeric>\d\d?(?P<mark>[./-])(?:\d\d?|{_MONTH})(?P=mark)\d{{4}})
      # the 24th of April 2026, 3 to 5 May
      | (?:(?P<first>{_DAY})\ ?(?:-|to|and|until)\ ?)?
        (?P<day>{_DAY})\ (?:of\ )?(?P<day_month>{_MONTH})(?:,?\ (?P<day_year>{_YEAR}))?
      # April 24-26, 2026
      | (?P<month_day>{_MONTH})\.?\ (?P<of_month>{_DAY})(?:\ ?(?:-|to)\ ?(?P<to_day>{_DAY}))?
        (?:,?\ (?P<of_year>{_YEAR}))?)
    # the 24th, the 24th of last month
    | (?P<nth>{_NTH})(?P<nth_of>\ of\ last\ month|)
      (?=$|[?.!,;:]|\ (?:we|i|you|they|what|which|why|how|did|was|were|had|about)\b)
    # early June, last March, April of last year
    | (?P<month_part>{_PART})?(?P<which_month>(?:last|this|past|this\ past|week\ of)\ )?
      (?P<month>{_MONTH})(?:,?\ (?:of\ )?(?P<month_year>{_OF_YEAR}))?
    # Q2 2026, the first half of last year
    | (?P<quarter>Q[1-4]|H[12]|(?:first|second|third|fourth)\ (?:quarter|half))
      (?:\ (?:of\ )?(?P<quarter_year>{_OF_YEAR}))?
    # 2026, late 2025
    | (?P<year_part>{_PART})?(?P<year>(?:19|20)\d\d)
    # last summer, spring of 2026
    | (?P<which_season>(?:last|this|past)\ )?(?P<season>{"|".join(_SEASONS)})
      (?:\ (?:of\ )?(?P<season_year>{_OF_YEAR}))?
    | (?:calendar\ week|[CK]W)\ ?(?P<calendar_week>\d\d?)
    # yesterday morning, the other day
    | (?P<near>day\ before\ yesterday|yesterday(?:\ {_DAYTIME})?|last\ night|today|tonight
      |this\ {_DAYTIME}|other\ day)
    # a week ago, two or three months ago, two Fridays ago, a day or so ago
    | (?P<ago>{_COUNT})(?:(?:\ ?-\ ?|\ or\ |\ to\ )(?P<ago_to>{_COUNT}))?
      \ (?P<ago_unit>{_UNIT}|{_WEEKDAY})s?(?P<ago_more>\ or\ (?:two|so))?\ ago
    # in the last three days
    | (?:last|past)\ (?P<back>{_COUNT})\ (?P<back_unit>{_UNIT})s?(?!\ of\ the\b)
    # this week, late last year
    | (?P<unit_part>{_PART})?(?P<which>last|previous|past|this)
      \ (?P<unit>hour|week|month|quarter|year)(?!\ of\ the\b)
    # the Friday before last
    | (?P<before_last>week|weekend|{_WEEKDAY})\ before\ last
    | (?P<which_weekend>(?:last|this|past)\ )?(?P<weekend>weekend)
    # on Monday, last Tuesday evening, Friday of last week
    | (?P<last>(?:last|previous|past|this)\ )?(?P<weekday>{_WEEKDAY})(?:\ (?P<daytime>{_DAYTIME}))?
      (?P<last_week>(?:\ of)?\ last\ week)?
    )(?![\w`"/(-]|'(?!s\b|\ )|\.\w)
    (?!(?:'s)?\ (?:of\ )?(?:button|column|field|filter|label|number|option|picker|preset|retention)
      \b)""",
    re.IGNORECASE | re.VERBOSE,
)
_PAST = re.compile(
    r"\b(?:did|was|were|had|went|said|told|broke|ran|found|made|came|got|fell"
    r"|(?!need)(?<!is )(?<!are )\w{3,}ed"
    r"|(?:have|has) (?:i|it|he|she|they|the|we|you))\b",
    re.IGNORECASE,
)
_NO_TIME_AFTER = (" begins ", " starts ", " ends ", " expires ", " due ", " like ")
_END = re.compile(r"'s|\s*(?:$|[?.!,;])")
_PRESENT = re.compile(r"how (?:do|does|is|are|can|should|to)\b", re.IGNORECASE)

Times = tuple[datetime, datetime]  # from, to (exclusive), in the local zone


def times_in(text: str, now: datetime) -> Iterator[tuple[re.Match[str], Times]]:
    """Yield each time in `text` with its place; "since" and the like are left to the caller."""
    for found in TIME.finditer(text):
        if text[: found.start()].lower().endswith(_NO_TIME_AFTER):
            continue
        if (times := time_at(found, text, now)) is not None:
            yield found, times


def time_at(found: re.Match[str], text: str, now: datetime) -> Times | None:
    """Return the time that `found` names in the question `text`; None if it is none."""
    has = {name: value.lower() for name, value in found.groupdict("").items()}
    is_past = has["relation"] in ("since", "after") or found.string.startswith("'s", found.end())
    is_past = is_past or bool(_PAST.search(text))
    try:
        if times := _dated(has, now, found, is_past=is_past):
            return times
        return None if _PRESENT.match(text) else _counted(has, now, found, is_past=is_past)
    except (ValueError, OverflowError):  # 31 June; 999 years ago
        return None


def beginning_of(words: str, now: datetime) -> datetime | None:
    """Return when the past time begins that `words` name, and nothing else: "last Friday"."""
    found = TIME.fullmatch(words)
    times = time_at(found, f"was {words}", now) if found else None
    return times[0] if times and times[0] <= now else None


def _dated(
    has: dict[str, str], now: datetime, found: re.Match[str], *, is_past: bool
) -> Times | None:
    """Return the day, month, quarter, season or year that is named by itself."""
    if times := _day(has, now, found):
        days = timedelta(3 if has["relation"] == "around" else 0)
        if has["week"]:
            return _days(times[0] - timedelta(times[0].weekday()), 7)
        return times[0] - days, times[1] + days
    in_it = has["relation"] not in ("", "of", "for", "on", "at", "by")
    if has["iso"]:
        return _months(*map(int, has["iso"].split("-")))
    if name := has["month"]:
        is_named = has["month_part"] or has["which_month"] or has["month_year"] or in_it
        is_meant = has["relation"] in ("of", "for") or (has["the"] and len(name) > 3)
        if is_named or (is_meant and is_past and found["month"] not in _VERBS):
            month, which = _month(name), has["which_month"]
            times = _latest(has["month_year"], which, now, lambda year: _months(year, month))
            return _part_of(times, has["month_part"])
    if (name := has["quarter"]) and (has["quarter_year"] or (in_it and name[0] == "q")):
        count = 6 if name[0] == "h" or name.endswith("half") else 3
        first = 1 + count * (int(name[1]) - 1 if name[1].isdigit() else _ORDER[name.split()[0]])
        return _latest(has["quarter_year"], "", now, lambda year: _months(year, first, count))
    if (name := has["season"]) and (has["which_season"] or has["season_year"]):
        first, which = _SEASONS[name], has["which_season"]
        return _latest(has["season_year"], which, now, lambda year: _months(year, first, 3))
    if name := has["calendar_week"]:
        week = int(name)
        return _latest("", "", now, lambda y: _days(datetime.fromisocalendar(y, week, 1), 7))
    is_year = has["year"] and (has["year_part"] or in_it)
    return _part_of(_months(int(has["year"]), 1, 12), has["year_part"]) if is_year else None


def _day(has: dict[str, str], now: datetime, found: re.Match[str]) -> Times | None:
    """Return the day that is named by its date, or the days from one to the other of a month."""
    if has["iso"].count("-") == 2 or "/" in has["iso"]:
        return _days(datetime(*map(int, re.split("[-/]", has["iso"]))))  # type: ignore[arg-type]
    if has["numeric"]:
        day, month, year = has["numeric"].split(has["mark"])
        if has["mark"] == "/" and int(month) > 12:
            day, month = month, day
        elif has["mark"] == "/" and int(day) <= 12 and day != month:
            return None  # a day of one month to some, of another to others
        number = int(month) if month.isdigit() else _month(month)
        return _days(datetime(int(year), number, int(day)))
    if name := has["day_month"] or has["month_day"]:
        if not has["relation"] and (found["day_month"] or found["month_day"]) in _VERBS:
            return None
        day = has["day"] or has["of_month"]
        last, year = _number(has["to_day"] or day), has["day_year"] or has["of_year"]
        start, end = _latest(year, "", now, lambda y: _days(datetime(y, _month(name), last)))
        return start.replace(day=_number(has["first"] or day)), end
    return None


def _counted(
    has: dict[str, str], now: datetime, found: re.Match[str], *, is_past: bool
) -> Times | None:
    """Return the time that is counted back from `now`."""
    today = _midnight(now)
    near = has["near"]
    if near.startswith(("today", "ton", "this")):
        return _days(today) if is_past else None
    if near == "other day":
        return (today - timedelta(7), today) if is_past else None
    if near:
        return _days(today - timedelta(1 + near.startswith("day")))
    if has["nth"]:
        return _nth(has, today) if has["the"] and has["relation"] and is_past else None
    if has["back"]:
        if has["relation"] == "for" and not is_past:
            return None
        return now - timedelta(_DAYS[has["back_unit"]] * _count(has["back"])), now
    if has["ago"]:
        return _ago(has, now) if is_past or _DAYS.get(has["ago_unit"], 1) >= 1 else None
    return _of_calendar(has, now, found, is_past=is_past)


def _ago(has: dict[str, str], now: datetime) -> Times:
    """Return the time some days, weeks … ago: half such a unit around, more where that is vague."""
    unit, count, until = has["ago_unit"], _count(has["ago"]), has["ago_to"]
    if unit not in _DAYS:  # two Fridays ago
        return _days(_weekday_before(now, unit) - timedelta(7 * (count - 1)))
    days, so = _DAYS[unit], has["ago_more"].endswith("so")
    is_vague = so or has["ago"].endswith(("few", "of", "couple", "several"))
    longest = _count(until) if until else 2 if has["ago_more"] and not so else count
    around = count / 4 if count < 1 or days < 1 else 0.5 * (days > 1) + is_vague
    start, half = _midnight(now) if days >= 1 else now, timedelta(days * around)
    return (
        start - timedelta(days * longest) - half,
        start - timedelta(days * count) + half + timedelta(min(days, 1)),
    )


def _of_calendar(
    has: dict[str, str], now: datetime, found: re.Match[str], *, is_past: bool
) -> Times | None:
    """Return the day, week, month, quarter or year that is named by its place before `today`."""
    if has["unit"]:
        return _of_unit(has, now, is_past=is_past)
    today = _midnight(now)
    monday = today - timedelta(today.weekday())
    if before := has["before_last"]:
        if before == "week":
            return _days(monday - timedelta(14), 7)
        if before == "weekend":
            return _days(monday - timedelta(9), 2)
        return _days(_weekday_before(today, before) - timedelta(7))
    follows = has["relation"] or has["daytime"] or _END.match(found.string, found.end())
    is_then = is_past and bool(follows)
    if has["weekend"]:
        return _days(monday - timedelta(2), 2) if is_then or has["which_weekend"] else None
    name = has["weekday"]
    if has["last_week"]:
        return _days(monday + timedelta(_WEEKDAYS.index(name[:3]) - 7))
    if not (has["last"] or (is_then and name.endswith("day"))):
        return None
    day = _weekday_before(today, name)
    is_yesterday = has["last"].startswith(("last", "previous")) and (today - day).days == 1
    return _days(day - timedelta(7 * is_yesterday))


def _of_unit(has: dict[str, str], now: datetime, *, is_past: bool) -> Times | None:
    """Return the last or this hour, week, month, quarter or year, or the part of it."""
    unit, ago, today = has["unit"], has["which"] != "this", _midnight(now)
    if unit == "hour":
        return (now - timedelta(hours=1), now) if is_past else None
    is_rolling = has["the"] and has["relation"] in ("in", "over", "during", "within")
    if has["which"] == "past" or (has["which"] == "last" and is_rolling):
        return today - timedelta(_DAYS[unit]), today + timedelta(1)
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * ago)
        return _part_of(_days(monday, 7), has["unit_part"])
    count = _MONTHS_OF[unit]
    at = 12 * today.year + (today.month - 1) // count * count - count * ago
    return _part_of(_months(at // 12, at % 12 + 1, count), has["unit_part"])


def _nth(has: dict[str, str], today: datetime) -> Times | None:
    """Return the latest day of that number that has begun."""
    month = today.replace(day=1) - timedelta(1 if has["nth_of"] else 0)
    for _ in range(4):
        day = month.replace(day=1) + timedelta(_number(has["nth"]) - 1)
        if day.month == month.month and day <= today:
            return _days(day)
        month = month.replace(day=1) - timedelta(1)
    return None


def _part_of(times: Times, words: str) -> Times | None:
    """Return the part of `times` that `words` name: all, a third, a half, a week of a month."""
    if not words:
        return times
    start, end = times
    first = re.split("[ -]", words)[0]
    count = next((n for name, n in _PARTS.items() if name in words), 3)
    days, at = (end - start).days, _ORDER[first] % count
    if count == _PARTS["week"] and not 28 <= days <= 31:
        return None
    begins, ends = (timedelta(round(days * each / count)) for each in (at, at + 1))
    return start + begins, start + ends


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _weekday_before(now: datetime, name: str) -> datetime:
    """Return the latest day called `name` before that of `now`."""
    back = (now.weekday() - _WEEKDAYS.index(name[:3]) - 1) % 7 + 1
    return _midnight(now) - timedelta(back)


def _days(first: datetime, count: int = 1) -> Times:
    return first, first + timedelta(count)


def _months(year: int, month: int, count: int = 1) -> Times:
    after = 12 * year + month - 1 + count
    return datetime(year, month, 1), datetime(after // 12, after % 12 + 1, 1)


def _latest(year: str, which: str, now: datetime, times: Callable[[int], Times]) -> Times:
    """Return the `times` of `year`; without one, of the last year in which they have begun.

    `which`: in July "last July" is over.
    """
    if year.endswith("year"):
        return times(now.year - year.startswith("last"))
    if year:
        return times(int(year.replace("'", "20")))
    at = 1 if which == "last " else 0
    return next(span for y in range(now.year, 0, -1) if (span := times(y))[at] <= now)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _number(ordinal: str) -> int:
    return int(ordinal.rstrip("stndrh"))


def _count(words: str) -> float:
    word = re.sub(r"^an? (?=\w)", "", words).split()[0]
    return int(word) if word.isdecimal() else _COUNTS[word]
