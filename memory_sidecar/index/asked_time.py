"""Reads the time that a question is about, "on 24 April" or "last Tuesday", and lifts its rows.

Only what hardly means anything else counts: no "may fail", no "timeout of 30 days", no "can I
deploy on Friday". Days are those of the local zone. Of days and months without a year, and of
weekdays, the latest is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.index.arms import Scores
from memory_sidecar.index.codes import Ids
from memory_sidecar.index.ids import distinct, mask_allowed
from memory_sidecar.index.keyword import rows_with
from memory_sidecar.index.schema import Corpus
from memory_sidecar.index.words import STOPWORDS, plain_words

ONLY_TIME = 1.0  # weight of a time where a question asks for nothing else: above all words
MAX_CHARACTERS = 400  # of a question: what is longer was pasted, and its dates tell little

_NO_SUBJECTS = STOPWORDS | frozenset(
    "all anything ask asked change changed decide decided discuss discussed done earlier"
    " everything finish finished first go happen happened learn learned list new say said"
    " summarize talk talked went work worked".split()
)
_VERBS = ("may", "mar", "march")  # in lower case: months only after a preposition
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = "zero one two three four five six seven eight nine ten".split()
_COUNTS = {word: at for at, word in enumerate(_NUMBERS)} | {"a": 1, "an": 1, "couple": 2, "few": 3}
_DAYS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_MONTHS_OF = {"month": 1, "quarter": 3, "year": 12}

_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    "|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY = r"\d\d?(?:st|nd|rd|th)?"
_COUNT = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}|(?:an?\ )?(?:couple\ of|few)|an?"
_UNIT = "(?:hour|day|week|month|year)"
_TIME = re.compile(
    rf"""(?<![\w./`'"-])
    (?:(?P<relation>on|in|over|during|since|after|before|until|by|from|between|of|for)\ )?
    (?:the\ )?(?:
      (?P<iso>\d{{4}}-\d\d(?:-\d\d)?)(?!T|\ \d\d?:)
    | (?:(?P<first>{_DAY})\ ?(?:-|to|and|until)\ ?)?
      (?P<day>{_DAY})\ (?:of\ )?(?P<day_month>{_MONTH})(?:,?\ (?P<day_year>\d{{4}}))?
    | (?P<month_day>{_MONTH})\.?\ (?P<of_month>{_DAY})(?:,?\ (?P<of_year>\d{{4}}))?
    | (?P<part>(?:early|late|mid|last|this|(?:beginning|start|middle|end|week)\ of)[ -])?
      (?P<month>{_MONTH})(?:\ (?P<month_year>\d{{4}}))?
    | Q(?P<quarter>[1-4])(?:\ (?:of\ )?(?P<quarter_year>\d{{4}}))?
    | (?P<year>(?:19|20)\d\d)
    | (?P<near>day\ before\ yesterday|yesterday|last\ night|today|this\ (?:morning|afternoon))
    | (?P<ago>{_COUNT})\ (?P<ago_unit>{_UNIT})s?\ ago
    | (?:last|past)\ (?P<back>{_COUNT})\ (?P<back_unit>{_UNIT})s?
    | (?P<which>last|previous|past|this)\ (?P<unit>week|month|quarter|year)
    | (?P<before_last>week\ before\ last)
    | (?P<weekend>(?:last\ )?weekend)
    | (?P<last>last\ )?(?P<weekday>{"|".join(_WEEKDAYS)})(?P<last_week>(?:\ of)?\ last\ week)?
    )(?![\w`"/(-]|'(?!s\b)|\.\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_TO = re.compile(" (?:to|and|until) ", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had|went|said|broke|\w{3,}ed)\b", re.IGNORECASE)

_Times = tuple[datetime, datetime]  # from, to (exclusive), in the local zone


@dataclass(frozen=True, slots=True)
class Lift:
    """What the rows from a time gain."""

    rows: Ids  # ascending
    weight: float
    full: float  # of a full match: any other hit can do without, unless nothing else is asked

    def of(self, ids: Ids) -> Scores:
        """Return what each of `ids` gains: (n,)."""
        return self.weight * mask_allowed(ids, self.rows).astype(np.float64)


NO_LIFT = Lift(np.empty(0, np.int64), 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time that a question is about: epoch ms from `start` to `end`, exclusive."""

    start: int
    end: int
    rest: str  # the question without it; all of it where nothing else is asked
    is_all: bool  # nothing else is asked

    def lift(self, connection: Connection, corpus: Corpus, written: Ids, weight: float) -> Lift:
        """Lift the rows that were `written` in this time and those that name it, by `weight`."""
        names = [rows_with(connection, corpus, name, None) for name in self._names()]
        rows = distinct(written, *names)
        return Lift(rows, ONLY_TIME, ONLY_TIME) if self.is_all else Lift(rows, weight, 0.0)

    def _names(self) -> set[str]:
        """Return how texts write this day or month."""
        first, last = (datetime.fromtimestamp(each / 1000) for each in (self.start, self.end - 1))
        name, day = f"{first:%B}", first.day
        if first.date() == last.date():
            spoken = {f"{day} {m}" for m in (name, name[:3])} | {
                f"{m} {day}" for m in (name, name[:3])
            }
            return {*spoken, f"{first:%Y %m %d}"}
        is_month = day == 1 and (last + timedelta(1)).day == 1 and first.month == last.month
        return {f"{name} {first.year}", f"{first:%Y %m}"} if is_month else set()


def asked_time(text: str, *, now: int) -> AskedTime | None:
    """Return the first time in `text` that has begun by `now`, epoch ms; None if there is none."""
    moment = datetime.fromtimestamp(now / 1000)
    for found in _TIME.finditer(text) if len(text) <= MAX_CHARACTERS else ():
        if (times := _times_of(found, moment)) is None:
            continue
        (start, end), after = times, text[found.end() :]
        match (found["relation"] or "").lower():
            case "between" | "from" if to := _TO.match(after):
                rest = f"in {after[to.end() :]}"
                until = _TIME.match(rest)
                if until and (later := _times_of(until, moment)):
                    end, after = later[1], rest[until.end() :]
            case "since":
                end = moment
            case "after":
                start, end = end, moment
            case "before" | "until":  # nearly everything was
                continue
        if start < min(end, moment):
            rest = " ".join(f"{text[: found.start()]}{after}".split())
            is_all = _NO_SUBJECTS.issuperset(plain_words(rest))
            first, last = (round(each.timestamp() * 1000) for each in (start, end))
            return AskedTime(first, last, text if is_all else rest, is_all)
    return None


def _times_of(found: re.Match[str], now: datetime) -> _Times | None:
    """Return the time that `found` names; None if it is none."""
    has = {name: value.lower() for name, value in found.groupdict("").items()}
    try:
        return _dated(has, now, found) or _counted(has, now, found)
    except (ValueError, OverflowError):  # 31 June; 999 years ago
        return None


def _dated(has: dict[str, str], now: datetime, found: re.Match[str]) -> _Times | None:
    """Return the day, month, quarter or year that is named by itself."""
    in_it = has["relation"] not in ("", "of", "for", "on", "by")
    if has["iso"]:
        year, month, *day = map(int, has["iso"].split("-"))
        return _days(datetime(year, month, day[0])) if day else _months(year, month)
    if name := has["day_month"] or has["month_day"]:
        if not has["relation"] and (found["day_month"] or found["month_day"]) in _VERBS:
            return None
        last = _number(has["day"] or has["of_month"])
        start, end = _latest(
            has["day_year"] or has["of_year"],
            now,
            lambda year: _days(datetime(year, _month(name), last)),
        )
        return start.replace(day=_number(has["first"] or str(last))), end
    if (name := has["month"]) and (in_it or has["part"] or has["month_year"]):
        return _latest(has["month_year"], now, lambda year: _months(year, _month(name)))
    if has["quarter"] and (in_it or has["quarter_year"]):
        first = 3 * int(has["quarter"]) - 2
        return _latest(has["quarter_year"], now, lambda year: _months(year, first, 3))
    return _months(int(has["year"]), 1, 12) if has["year"] and in_it else None


def _counted(has: dict[str, str], now: datetime, found: re.Match[str]) -> _Times | None:
    """Return the time that is counted back from `now`."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if has["near"].startswith("t"):  # today, this morning
        return _days(today) if _PAST.search(found.string) else None
    if has["near"]:
        return _days(today - timedelta(1 + has["near"].startswith("day")))
    if has["back"]:
        return now - timedelta(_DAYS[has["back_unit"]] * _count(has["back"])), now
    if not has["ago"]:
        return _of_calendar(has, today, found)
    days, is_vague = _DAYS[has["ago_unit"]], has["ago"].endswith(("few", "of"))
    half = timedelta(days * (0.5 + is_vague) if days > 1 or is_vague else 0.0)
    middle = (today if days >= 1 else now) - timedelta(days * _count(has["ago"]))
    return middle - half, middle + half + timedelta(min(days, 1))


def _of_calendar(has: dict[str, str], today: datetime, found: re.Match[str]) -> _Times | None:
    """Return the day, week, month, quarter or year that is named by its place before `today`."""
    monday = today - timedelta(today.weekday())
    ago = has["which"] != "this"
    if has["which"] == "past":
        return today - timedelta(_DAYS[has["unit"]]), today + timedelta(1)
    if has["unit"] == "week" or has["before_last"]:
        return _days(monday - timedelta(14 if has["before_last"] else 7 * ago), 7)
    if count := _MONTHS_OF.get(has["unit"]):
        at = 12 * today.year + (today.month - 1) // count * count - count * ago
        return _months(at // 12, at % 12 + 1, count)
    if has["weekend"]:
        return _days(monday - timedelta(2), 2)
    if not (name := has["weekday"]):
        return None
    if has["last_week"]:
        return _days(monday + timedelta(_WEEKDAYS.index(name) - 7))
    is_past = has["relation"] and _PAST.search(found.string)
    if not (has["last"] or is_past or has["relation"] == "since"):
        return None
    back = (today.weekday() - _WEEKDAYS.index(name) - 1) % 7 + 1
    return _days(today - timedelta(back + 7 * bool(has["last"] and back == 1)))  # not yesterday


def _days(first: datetime, count: int = 1) -> _Times:
    return first, first + timedelta(count)


def _months(year: int, month: int, count: int = 1) -> _Times:
    after = 12 * year + month - 1 + count
    return datetime(year, month, 1), datetime(after // 12, after % 12 + 1, 1)


def _latest(year: str, now: datetime, times: Callable[[int], _Times]) -> _Times:
    """Return the `times` of `year`, or if that is "", of the last year in which they have begun."""
    if year:
        return times(int(year))
    this = times(now.year)
    return this if this[0] <= now else times(now.year - 1)


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _number(ordinal: str) -> int:
    return int(ordinal.rstrip("stndrh"))


def _count(words: str) -> int:
    word = re.sub(r"^an? (?=\w)", "", words).split()[0]
    return int(word) if word.isdecimal() else _COUNTS[word]
