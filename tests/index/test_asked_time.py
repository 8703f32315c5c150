"""What counts as the time that a question is about, and which days that is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memory_sidecar.index.asked_time import asked_time

NOW = datetime(2026, 7, 1, 14, 30)  # a Wednesday
NOW_MS = round(NOW.timestamp() * 1000)


def days(text: str) -> str:
    """First and last day of the time in `text`, or ""."""
    time = asked_time(text, now=NOW_MS)
    if time is None:
        return ""
    first, end = (datetime.fromtimestamp(each / 1000) for each in (time.start, time.end))
    return f"{first:%Y-%m-%d}…{end - timedelta(milliseconds=1):%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("what broke on 24 April", "2026-04-24…2026-04-24"),
        ("the release of April 24th, 2025", "2025-04-24…2025-04-24"),
        ("what was decided on the 3rd of december", "2025-12-03…2025-12-03"),
        ("checkout slow, 2026-03-14", "2026-03-14…2026-03-14"),
        ("incidents of 2026-03", "2026-03-01…2026-03-31"),
        ("why was it slow in March", "2026-03-01…2026-03-31"),
        ("price caching last November", "2025-11-01…2025-11-30"),
        ("what made the February bill so high", "2026-02-01…2026-02-28"),
        ("benchmark at the end of May", "2026-05-22…2026-05-31"),
        ("the beach in 2025", "2025-01-01…2025-12-31"),  # which ends like "each"
        ("what changed on the 24th", "2026-06-24…2026-06-24"),
        ("what was said on the 3rd of last month", "2026-06-03…2026-06-03"),
        ("decision of 24.4.2026 about caching", "2026-04-24…2026-04-24"),
        ("incident on 4/24/2026", "2026-04-24…2026-04-24"),
        ("incident on 24-Apr-2026", "2026-04-24…2026-04-24"),
        ("incident of Apr 24 '25", "2025-04-24…2025-04-24"),
        ("on Friday, 24 April it broke", "2026-04-24…2026-04-24"),
        ("release notes for May 3-5", "2026-05-03…2026-05-05"),
        ("notes 2026-03-01 to 2026-03-05", "2026-03-01…2026-03-05"),
        ("the week of May 6", "2026-05-04…2026-05-10"),
        ("shipped in calendar week 20", "2026-05-11…2026-05-17"),
        ("early June results", "2026-06-01…2026-06-10"),
        ("in the last week of May", "2026-05-24…2026-05-31"),
        ("in March last year", "2025-03-01…2025-03-31"),
        ("what was the plan for June", "2026-06-01…2026-06-30"),
        ("the first half of 2025", "2025-01-01…2025-06-30"),
        ("decisions from early 2026", "2026-01-01…2026-05-02"),
        ("late last year we dropped it", "2025-09-01…2025-12-31"),
        ("the outage last summer", "2025-06-01…2025-08-31"),
        ("what have we done today", "2026-07-01…2026-07-01"),
        ("what did I ask 30 minutes ago", "2026-07-01…2026-07-01"),
        ("what went wrong Monday morning", "2026-06-29…2026-06-29"),
        ("Monday's deploy", "2026-06-29…2026-06-29"),
        ("what did we decide two Fridays ago", "2026-06-19…2026-06-19"),
        ("Friday before last", "2026-06-19…2026-06-19"),
        ("the weekend before last", "2026-06-20…2026-06-21"),
        ("errors over the last month", "2026-06-01…2026-07-01"),
        ("two or three days ago it broke", "2026-06-28…2026-06-29"),
        ("what did we decide the other day", "2026-06-24…2026-06-30"),
        ("from Monday to Tuesday it failed", "2026-06-29…2026-06-30"),
        ("what was done between Monday and Wednesday last week", "2026-06-22…2026-06-24"),
        ("speed in Q1", "2026-01-01…2026-03-31"),
        ("restore drill in 2025", "2025-01-01…2025-12-31"),
        ("what did we decide yesterday", "2026-06-30…2026-06-30"),
        ("the day before yesterday we fixed what", "2026-06-29…2026-06-29"),
        ("what did we deploy last Thursday", "2026-06-25…2026-06-25"),
        ("what did we deploy last Tuesday", "2026-06-23…2026-06-23"),  # or yesterday would be said
        ("why was it slow on Monday", "2026-06-29…2026-06-29"),
        ("how was it on Monday last week", "2026-06-22…2026-06-22"),
        ("what did we do over the weekend", "2026-06-27…2026-06-28"),
        ("what did we plan last week", "2026-06-22…2026-06-28"),
        ("plans of this week", "2026-06-29…2026-07-05"),
        ("what did we plan the week before last", "2026-06-15…2026-06-21"),
        ("upgrades last month", "2026-06-01…2026-06-30"),
        ("upgrades last quarter", "2026-04-01…2026-06-30"),
        ("deployment three weeks ago", "2026-06-06…2026-06-14"),
        ("two days ago it was slow", "2026-06-29…2026-06-29"),
        ("checkout in the last three days", "2026-06-28…2026-07-01"),
        ("deploys since last Friday", "2026-06-26…2026-07-01"),
        ("slow between 1 and 10 April", "2026-04-01…2026-04-10"),
        ("notes from 3 March to 5 May", "2026-03-03…2026-05-05"),
    ],
)
def test_a_time_is_read_as_people_write_it(text, meant):
    assert days(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "timeout of 30 days",
        "the march algorithm",
        "it may fail",
        "may 5 users share it",
        "who is May",
        "the last commit",
        "where does the second retry go",
        "can I deploy on Friday",
        "read-only until Monday",
        "certificates every Sunday",
        "how do updates reach the browser today",
        "Rust edition 2024",
        "dates after 2038",
        "why did we not correct figures before 29 March",
        "31 June",
        "does the invoice job run on the 24th",
        "on the 2nd retry it failed",
        "upgraded to 24.4.1",
        "3/4/2026",
        "does the backup run at the weekend",
        "was the weekend rate changed",
        "every Monday it was sent",
        "how is last month computed",
        "last week's retention",
        "the first half of the list",
        "keep logs for the last 30 days",
        "is it paid on one of the last 3 days of the month",
        "reports of the last week of the quarter",
        "the fiscal year starts in April",
        "tax forms are due in April",
        "how are dates like 2026-03-14 parsed",
        "why was the sep option renamed",
        "spring boot",
        "what did Sunday say",
        "the office is staffed from Monday to Friday",
        "999999 years ago",
        "error at 2026-03-14T12:00:03Z",
        "2026-03-14 12:00:03 ERROR timeout",
        "docs/2026-03-14-incident.md",
        "the preset 'yesterday'",
        "yesterday " + "x" * 400,
    ],
)
def test_what_may_mean_something_else_is_no_time(text):
    assert not days(text)


@pytest.mark.parametrize(
    ("text", "rest", "is_all"),
    [
        ("what did we deploy last Tuesday, and why", "what did we deploy , and why", False),
        ("notes from 3 March to 5 May on caches", "notes on caches", False),
        ("what did we do yesterday", "what did we do yesterday", True),
    ],
)
def test_the_rest_of_a_question_is_what_is_looked_for(text, rest, is_all):
    time = asked_time(text, now=NOW_MS)
    assert time
    assert (time.rest, time.is_all) == (rest, is_all)
