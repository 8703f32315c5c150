"""Two tellings of a session become one that lost nothing and says nothing twice."""

from __future__ import annotations

import random
import time

import pytest

from memory_sidecar.sessions.merge import merge_documents, merge_items
from tests.sessions.conftest import said

FULL = said("why does it fail", "the token expired", "go on", "done", "go on", "all is green")


def with_ids(messages):
    return [{**each, "id": f"m{at}"} for at, each in enumerate(messages)]


def contents(messages):
    return [each["content"] for each in messages]


@pytest.mark.parametrize("named", [list, with_ids], ids=["by words", "by ids"])
@pytest.mark.parametrize(
    "part",
    [slice(0, 3), slice(2, None), slice(1, 4), slice(0, 0), slice(None)],
    ids=["cut", "rolled", "both", "empty", "the same"],
)
def test_a_part_adds_nothing_and_takes_nothing(named, part):
    full = named(FULL)
    assert merge_items(full, full[part]) == full
    assert merge_items(full[part], full) == full


def test_ids_tell_apart_what_is_said_often():
    full = with_ids(FULL)
    assert merge_items(full, full[::2]) == merge_items(full[::2], full) == full


def test_what_went_on_elsewhere_is_added_where_it_belongs():
    assert contents(merge_items(FULL, FULL[:2] + said("use a lock"))) == [
        *contents(FULL),
        "use a lock",
    ]
    assert contents(merge_items(FULL[:2], FULL[1:])) == contents(FULL)


def test_what_only_one_telling_has_between_two_that_both_have_goes_by_time():
    first, second, third, fourth = (
        {**each, "created_at": f"2026-03-01T09:0{at}:00Z"} for at, each in enumerate(FULL[:4])
    )
    assert merge_items([first, third], [first, second, fourth]) == [first, second, third, fourth]


def test_the_same_id_is_the_same_message_and_keeps_its_longer_words():
    whole = [{"id": "m", "role": "assistant", "content": "I see.\n\nReading."}]
    half = [{"id": "m", "role": "assistant", "content": "I see."}]
    other = [{"id": "m", "role": "assistant", "content": "Mended by hand."}]
    assert merge_items(whole, half) == merge_items(half, whole) == whole
    assert merge_items(whole, other) == other


def test_a_telling_without_ids_is_the_same_as_one_with_them():
    assert merge_items(FULL, with_ids(FULL)) == with_ids(FULL)
    assert merge_items(with_ids(FULL), FULL[:3]) == with_ids(FULL)


def test_the_words_of_no_message_are_lost_whatever_was_left_out():
    draw = random.Random(7)
    for _ in range(300):
        full = said(*(draw.choice(["go on", "yes", str(draw.random())]) for _ in range(8)))
        parts = [[each for each in full if draw.random() < 0.7] for _ in range(2)]
        both = merge_items(*parts)
        for message in full:
            most = max(part.count(message) for part in parts)
            assert both.count(message) >= most


def test_a_telling_that_is_merged_again_adds_nothing():
    rolled = said("done", "done", "done")
    once = merge_items(said("done", "done", "use a lock"), rolled)
    assert merge_items(once, rolled) == once
    draw = random.Random(7)
    for _ in range(300):
        first, again = (
            said(*(draw.choice(["go on", "yes", str(draw.random())]) for _ in range(8)))
            for _ in range(2)
        )
        again = first[: draw.randrange(8)] + again[draw.randrange(8) :]
        once = merge_items(first, again)
        assert merge_items(once, again) == once


def test_messages_noted_late_keep_their_place_and_add_nothing_when_merged_again():
    known = [{**said("it is green")[0], "created_at": "2026-03-01T09:07:00Z"}]
    told = [
        {**each, "created_at": f"2026-03-01T09:0{at}:00Z"}
        for each, at in zip(said("queued", "asked before", "done"), (2, 1, 4), strict=True)
    ]
    once = merge_items(known, told)
    assert once == [*told, *known]
    assert merge_items(once, told) == once


def test_what_was_said_again_later_is_no_part_of_what_was_said_before():
    first, second, third = (
        {**each, "created_at": f"2026-03-01T09:0{at}:00Z"}
        for at, each in enumerate(said("done", "go on", "go on"))
    )
    assert merge_items([first, second], [third]) == [first, second, third]


def test_long_tellings_that_differ_everywhere_take_no_time():
    known, told = (
        [{"role": "user", "content": f"{at if at % 2 else side}-{at}"} for at in range(10_000)]
        for side in "ab"
    )
    began = time.thread_time()
    assert len(merge_items(known, told)) == 15_000
    assert time.thread_time() - began < 20


def test_a_cut_telling_keeps_the_beginning_and_all_lists():
    known = {
        "created_at": "2026-03-01T09:00:00Z",
        "messages": FULL,
        "topics": ["auth"],
        "code_snippets": [{"code": "lock()"}],
        "metadata": {"imported_from": "a.jsonl", "pinned": True},
    }
    told = {
        "created_at": "2026-03-01T11:00:00Z",
        "messages": FULL[4:],
        "topics": ["tokens"],
        "code_snippets": [{"code": "free()"}],
        "metadata": {"imported_from": "b.jsonl", "model": "m"},
    }
    assert merge_documents(told, known) == {
        "created_at": "2026-03-01T09:00:00Z",
        "messages": FULL,
        "topics": ["auth", "tokens"],
        "code_snippets": [{"code": "lock()"}, {"code": "free()"}],
        "metadata": {"imported_from": "a.jsonl", "pinned": True, "model": "m"},
    }
