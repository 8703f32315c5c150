"""Reads the time that a question is about, "on 24 April" or "last Tuesday", and lifts its rows.

Only what hardly means anything else counts: no "may fail", no "timeout of 30 days", no "can I
deploy on Friday". Days are those of the local zone. Of days and months without a year, and of
weekdays, the latest is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from memory_sidecar.core.sqlite import Connection
from memory_sidecar.core.time_words import TIME, time_at, times_in
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
_TO = re.compile(r" ?(?:-|\N{EN DASH}|\.\.) ?| (?:to|until|till|through) ", re.IGNORECASE)
_AND = re.compile(" and ", re.IGNORECASE)


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
    for found, times in times_in(text, moment) if len(text) <= MAX_CHARACTERS else ():
        (start, end), after = times, text[found.end() :]
        match relation := (found["relation"] or "").lower():
            case "since":
                end = moment
            case "after":
                start, end = end, moment
            case "before" | "until":  # nearly everything was
                continue
            case _ if to := _TO.match(after) or (relation == "between" and _AND.match(after)):
                rest = f"in {after[to.end() :]}"
                until = TIME.match(rest)
                if until and (later := time_at(until, text, moment)):
                    end, after = later[1], rest[until.end() :]
                    while start >= end:  # from Monday to Friday last week
                        start -= timedelta(7)
        if start < min(end, moment):
            rest = " ".join(f"{text[: found.start()]}{after}".split())
            is_all = _NO_SUBJECTS.issuperset(plain_words(rest))
            first, last = (round(each.timestamp() * 1000) for each in (start, end))
            return AskedTime(first, last, text if is_all else rest, is_all)
    return None
