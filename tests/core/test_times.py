from __future__ import annotations

import re
from datetime import datetime

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.core.times import (
    format_duration,
    iso_utc,
    last_week_starts,
    parse_age,
    parse_coming_time,
    parse_duration,
    parse_past_time,
    parse_time,
    week_start,
)

MARCH_1 = 1_772_356_320_000  # 2026-03-01T09:12:00Z
MIDNIGHT = MARCH_1 - (9 * 60 + 12) * 60_000
DAY = 86_400_000


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("2026-03-01T09:12:00Z", MARCH_1),
        ("2026-03-01T09:12:00.000Z", MARCH_1),
        ("2026-03-01T10:12:00+01:00", MARCH_1),
        ("2026-03-01 04:42:00-0430", MARCH_1),
        ("2026-03-01T10:12+01", MARCH_1),
        ("2026-03-01 09:12", MARCH_1),
        ("2026-3-1 9:12", MARCH_1),
        ("2026-03-01t09:12:00.1239567z", MARCH_1 + 123),
        ("2026-03-01T09:12:00,1239 +00:00", MARCH_1 + 123),
        ("20260301T091200Z", MARCH_1),
        ("2026-03-01", MIDNIGHT),
        ("2026-3-1", MIDNIGHT),
        (" 2026-03-01\n", MIDNIGHT),
        ("2026-W09-7", MIDNIGHT),
        ("20260301", MIDNIGHT),
        (20260301, MIDNIGHT),
        (202603010912, MARCH_1),
        ("2026/03/01", MIDNIGHT),
        ("2026.3.1 9:12", MARCH_1),
        ("01.03.2026, 09:12", MARCH_1),
        ("March 1, 2026", MIDNIGHT),
        ("1 Mar 2026", MIDNIGHT),
        ("Sunday, March 1st 2026, 9:12:00 am", MARCH_1),
        ("Sun, 01 Mar 2026 10:12:00 +0100", MARCH_1),
        ("Sun, 1 Mar 2026 09:12:00 +0000 (UTC)", MARCH_1),
        ("1-Mar-2026 9:12 GMT", MARCH_1),
        ("March 2026", MIDNIGHT),
        ("1 \u017fep 2026", MIDNIGHT + 184 * DAY),  # a long s, which is an s where case is ignored
        ("2026-03", MIDNIGHT),
        ("2026", MIDNIGHT - 59 * DAY),
        (2026, MIDNIGHT - 59 * DAY),
        ("20260301091200", MARCH_1),
        (MARCH_1, MARCH_1),
        (MARCH_1 // 1000, MARCH_1),
        (MARCH_1 / 1000 + 0.25, MARCH_1 + 250),
        (0, 0),
        ("0001-01-01", -62_135_596_800_000),
    ],
)
def test_a_moment_in_every_form(value, ms):
    assert parse_time(value) == ms


@pytest.mark.parametrize("text", ["0001-02-03T04:05:06.789Z", "9999-12-31T23:59:59.999Z"])
def test_a_moment_is_written_as_it_was_read(text):
    at = parse_time(text)
    assert at is not None
    assert iso_utc(at) == text


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "soon",
        "yesterday",
        "2026-06-31",
        "3/1/2026",
        "maybe 2026",
        "1 March 2 2026",
        "June 31, 2026",
        "20260",
        pytest.param(f"2026-03-01 9:12{' ' * 100_000}x", id="many spaces"),
        "2026-13-01",
        "2026-00-01",
        "2026-01-01T25:00",
        "2026-01-01T09:60",
        "2026-01-01T09:00+25:00",
        [],
        "30d",
        "1767225600",
        "0001-01-01T00:00+05:00",
        10**30,
        20260231,
        10**400,
        -(10**400),
        float("nan"),
        float("inf"),
    ],
)
def test_what_is_no_moment(value):
    assert parse_time(value) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("15m", 900_000),
        ("12h", 12 * 3_600_000),
        ("30d", 30 * DAY),
        ("2w", 14 * DAY),
        ("6mo", 180 * DAY),
        (" 1 Y ", 365 * DAY),
        ("30 days", 30 * DAY),
        ("1 week", 7 * DAY),
        ("2 months", 60 * DAY),
        ("5 min", 300_000),
        ("1 Year", 365 * DAY),
        ("a week", 7 * DAY),
        ("An hour", 3_600_000),
        ("two months", 60 * DAY),
    ],
)
def test_a_length_of_time(text, ms):
    assert parse_duration(text) == ms
    assert parse_age(text, clock=lambda: MARCH_1) == MARCH_1 - ms


@pytest.mark.parametrize(
    "text",
    [" ", "30", "d", "-3d", "1.5d", "3 dayss", "2026-03-01", "1234567d", "a w", "a few days"],
)
def test_what_is_no_length_of_time(text):
    assert parse_duration(text) is None
    with pytest.raises(UsageError, match="is not a length of time"):
        parse_age(text)


def test_no_text_is_no_age():
    assert parse_age("") is parse_age(None) is None


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (628, "10 min 28 s"), (11_520, "3 h 12 min")],
)
def test_how_long_is_told_in_two_units(seconds, told):
    assert format_duration(seconds) == told


def test_a_past_moment_is_said_or_counted_back():
    assert parse_past_time("2026-3-1", clock=lambda: 0) == MIDNIGHT
    assert parse_past_time("2w", clock=lambda: MARCH_1) == MARCH_1 - 14 * DAY
    for text in ("2 weeks ago ", "two weeks ago", "Two Weeks Ago"):
        assert parse_past_time(text, clock=lambda: MARCH_1) == MARCH_1 - 14 * DAY
    assert parse_past_time("a week ago", clock=lambda: MARCH_1) == MARCH_1 - 7 * DAY
    assert parse_past_time("999999y", clock=lambda: MARCH_1) == 0
    assert parse_past_time("", clock=lambda: MARCH_1) is None
    assert parse_past_time(None, clock=lambda: MARCH_1) is None


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ("today", "2026-03-04"),
        ("yesterday", "2026-03-03"),
        ("Yesterday ", "2026-03-03"),
        ("the day before yesterday", "2026-03-02"),
        ("last Friday", "2026-02-27"),
        ("Monday", "2026-03-02"),
        ("since Monday", "2026-03-02"),
        ("this week", "2026-03-02"),
        ("last week", "2026-02-23"),
        ("last month", "2026-02-01"),
        ("this year", "2026-01-01"),
        ("24 February", "2026-02-24"),
    ],
)
def test_a_past_moment_said_in_words_begins_in_the_local_zone(words, begins):
    now = datetime(2026, 3, 4, 15, 30)  # a Wednesday, in the local zone

    at = parse_past_time(words, clock=lambda: round(now.timestamp() * 1000))

    assert at == datetime.fromisoformat(begins).timestamp() * 1000


@pytest.mark.parametrize(
    "words",
    [
        "tomorrow",
        "next Friday",
        "yesterday-ish",
        "may fail",
        "now",
        "yesterday ago",
        "Monday ago",
        "2026-03-01 ago",
    ],
)
def test_words_that_are_no_past_moment_are_refused(words):
    with pytest.raises(UsageError, match="is not a time"):
        parse_past_time(words, clock=lambda: MARCH_1)


def test_a_coming_moment_is_said_or_counted_on():
    assert parse_coming_time("2026-3-1", clock=lambda: 0) == MIDNIGHT
    assert parse_coming_time("6mo", clock=lambda: MARCH_1) == MARCH_1 + 180 * DAY
    for text in ("in 30 days", "In 30d", "30 days", "in a month", "in one month"):
        assert parse_coming_time(text, clock=lambda: MARCH_1) == MARCH_1 + 30 * DAY
    assert parse_coming_time("", clock=lambda: MARCH_1) is None


@pytest.mark.parametrize("read", [parse_past_time, parse_coming_time])
def test_what_is_no_time_is_a_usage_error(read):
    with pytest.raises(UsageError, match="'tomorrow' is not a time"):
        read("tomorrow", clock=lambda: MARCH_1)


def test_each_form_that_a_refusal_names_is_read():
    with pytest.raises(UsageError) as refused:
        parse_past_time("soon", clock=lambda: MARCH_1)
    forms = re.split(", | or ", refused.value.hint.removeprefix("for example "))
    assert len(forms) == 6
    assert all(parse_past_time(form, clock=lambda: MARCH_1) is not None for form in forms)


@pytest.mark.parametrize("text", ["9999y", "1969-12-31"])
def test_a_coming_moment_can_be_written_as_a_date(text):
    with pytest.raises(UsageError, match="out of range"):
        parse_coming_time(text, clock=lambda: MARCH_1)


def test_weeks_begin_on_mondays_in_utc():
    monday = parse_time("2026-03-02T00:00:00Z")
    assert monday is not None
    assert [week_start(monday + each) for each in (-1, 0, 7 * DAY - 1)] == [
        *(monday - 7 * DAY, monday, monday),
    ]
    assert last_week_starts(2, now=monday + 1) == [monday - 7 * DAY, monday]
