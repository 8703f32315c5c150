"""A message is found where it stands in a source, or where that makes it."""

from __future__ import annotations

import pytest

from memory_sidecar.code import messages
from memory_sidecar.code.messages import MAX_MESSAGE_CHUNKS, quoted_in, readings
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.search import KEYWORD_ROWS
from memory_sidecar.core.model import SearchMode
from memory_sidecar.core.results import Silent

MESSAGE = "The queue of retries is full"
FILLED_IN = "No retry of 'orders/7' within 30 s: the queue of shop is full"


@pytest.fixture
def search(make_codebase, project):
    made = make_codebase()

    def search(text):
        made.index([project], reporter=Silent())
        return made.search(CodeQuery(text, explain=True), reporter=Silent())

    return search


def test_a_message_comes_first_where_it_stands(search, project):
    (project / "odd.py").write_text(f'def put(x):\n    raise Full("{MESSAGE}: wait")\n')
    best = search(MESSAGE)[0]
    assert best.filename == "odd.py"
    assert best.score >= 0.9
    assert best.explain.boosts["exact_text"] == 1
    assert sum(best.explain.terms.values()) == pytest.approx(best.score, abs=1e-5)


@pytest.mark.parametrize(
    "before",
    [
        "error: ",
        "shop: error (at <stdin>:1): ",
        "2026-11-27 00:00:01,234 - shop.queue - ERROR - ",
        "[ERROR] shop/main.py:7 | shop.errors.Full: ",
        "Traceback (most recent call last):\n  File 'x', line 3\nFull: ",
    ],
)
@pytest.mark.parametrize(
    "made_by", [f'"{MESSAGE}"', "f'The queue of {name} is full'"], ids=["stands", "made"]
)
def test_what_a_program_puts_before_a_message_is_no_part_of_it(search, project, before, made_by):
    (project / "odd.py").write_text(f"raise Full({made_by})\n")
    best, *others = search(before + MESSAGE)
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)
    assert all("exact_text" not in hit.explain.boosts for hit in others)


def test_a_pasted_row_of_numbers_is_not_looked_for_in_every_way_through_a_table():
    assert quoted_in("0 " * 39 + "7", {1: "0, " * 400}) == []
    assert quoted_in("0 " * 39 + "7", {1: "0, " * 400 + "1, 7"}) == [1]


def test_a_comment_comes_first_though_a_word_is_left_out_of_it(search, project):
    said = "# The queue of the old retries\n# must never be full: wait"
    (project / "odd.py").write_text(f"{'x = 1; ' * 99}\n{said}\nput()\n")
    (project / "queue.py").write_text("class Retries:\n    def queue(old): return full, never\n")
    best = search("queue of the retries must never full")[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)
    for other in ("queue of retries must never full", "never full: the queue of the retries must"):
        assert all("exact_text" not in hit.explain.boosts for hit in search(other))


def test_a_question_after_a_prefix_is_no_message():
    assert readings("shop: how is the queue filled") == ["shop: how is the queue filled"]
    assert readings("shop: Full: no place left")[1:] == ["Full: no place left", "no place left"]


def test_where_a_message_is_made_comes_before_the_test_that_quotes_it(search, project):
    (project / "odd.py").write_text("raise Full(f'The queue of {name} is full')\n")
    (project / "tests").mkdir()
    (project / "tests/test_odd.py").write_text(f'def test_full():\n    says("{MESSAGE}")\n')
    assert [hit.filename for hit in search(MESSAGE)[:2]] == ["odd.py", "tests/test_odd.py"]


def test_a_message_is_found_where_a_value_follows_a_sign_of_its_own(search, project):
    (project / "odd.rb").write_text('raise Full, "the queue of shop #{name} is full"\n')
    best = search("the queue of shop 'orders' is full")[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.rb", 1)


def test_the_same_words_in_another_order_are_no_message(search, project):
    (project / "odd.py").write_text("# full is the queue, of retries the\n")
    assert all("exact_text" not in hit.explain.boosts for hit in search(MESSAGE))


def test_what_many_say_tells_none_of_them(search, project):
    for number in range(MAX_MESSAGE_CHUNKS + 1):
        (project / f"said_{number}.py").write_text(f'NOTE = "{MESSAGE}"\n')
    assert all("exact_text" not in hit.explain.boosts for hit in search(MESSAGE))


def test_a_message_is_found_however_many_languages_it_is_translated_to(search, project):
    (project / "cart.php").write_text(f'<?php fail(t("{MESSAGE}"));\n')
    for first in "bcdf":
        for second in "aeir":
            (project / f"Locale/{first}{second}").mkdir(parents=True)
            text = f'<?php return ["{MESSAGE}" => "{first * 9} {second * 9}"];\n'
            (project / f"Locale/{first}{second}/texts.php").write_text(text)
    best, *others = search(MESSAGE)
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("cart.php", 1)
    assert all("exact_text" not in hit.explain.boosts for hit in others)


@pytest.mark.parametrize("said", ["The queue of data is full", "The queue of tests is full"])
def test_a_message_asks_for_no_data_nor_tests_that_it_speaks_of(search, project, said):
    (project / "odd.py").write_text(f'raise Full("{said}")\n')
    (project / "tests/data").mkdir(parents=True)
    for number in range(MAX_MESSAGE_CHUNKS):
        (project / f"tests/data/{number}.json").write_text(f'{{"says": "{said}"}}\n')
    best, *others = search(said)
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)
    assert all("exact_text" not in hit.explain.boosts for hit in others)


def test_words_around_the_title_of_a_page_are_no_message_that_it_makes(search, project):
    (project / "odd.py").write_text('TITLE = "two factor authentication"\n')
    hits = search("two factor authentication totp code check session")
    assert all("exact_text" not in hit.explain.boosts for hit in hits)


def test_two_words_are_no_message(search, project):
    (project / "odd.py").write_text('NOTE = "retries full"\n')
    assert all("exact_text" not in hit.explain.boosts for hit in search("retries full"))


def test_an_aside_says_a_message_only_letter_by_letter(search, project):
    (project / "CHANGES.md").write_text(f"# 1.2\n\n- {MESSAGE}\n  no more\n")
    assert search(f"{MESSAGE} no more")[0].explain.boosts["exact_text"] == 1
    assert all("exact_text" not in hit.explain.boosts for hit in search("queue of `retries`"))
    assert all("exact_text" not in hit.explain.boosts for hit in search(MESSAGE.lower()))


def test_a_few_words_that_an_aside_says_are_no_message(search, project):
    (project / "CHANGES.md").write_text(f"# 1.2\n\n- {MESSAGE}\n")
    few = MESSAGE.removesuffix(" is full")
    assert all("exact_text" not in hit.explain.boosts for hit in search(few))
    (project / "odd.py").write_text(f'NOTE = "{MESSAGE}"\n')
    assert search(few)[0].filename == "odd.py"


@pytest.mark.parametrize(
    ("file", "made_by"),
    [
        ("odd.py", 'f"No retry of {name!r} within {wait} s: the queue of {shop} is full"'),
        ("odd.py", '"No retry of %r within %d s: the queue of %s is full" % told'),
        ("odd.js", "`No retry of '${name}' within ${wait} s: the queue of ${shop} is full`"),
        ("odd.rb", "\"No retry of '#{name}' within #{wait} s: the queue of #{shop} is full\""),
        ("odd.go", "\"No retry of '%s' within %v s: the queue of %q is full\", told"),
        ("odd.php", "\"No retry of '$name' within $wait s: the queue of $shop is full\""),
        ("odd.cs", "$\"No retry of '{name}' within {wait:F0} s: the queue of {shop} is full\""),
        ("odd.c", "\"No retry of '%s' within %zu s: the queue of %s is full\", told"),
        ("odd.c", "\"No retry of '%2$s' within %1$ld s: the queue of %3$s is full\", told"),
        ("odd.cpp", "tr(\"No retry of '%1' within %2 s: the queue of %3 is full\")"),
        ("odd.rb", "\"No retry of '%{name}' within %<wait>d s: the queue of %{shop} is full\""),
        ("odd.js", "\"No retry of '{{id}}' within {{ wait }} s: the queue of {{shop}} is full\""),
        ("odd.php", "\"No retry of ':name' within :wait s: the queue of :shop is full\""),
        (
            "odd.py",
            "'No retry of \\'' + name + \"' within \" + wait + \" s: the queue of \" + shop",
        ),
    ],
)
def test_a_message_with_its_values_comes_first_where_it_is_made(search, project, file, made_by):
    (project / file).write_text(f"throw({made_by})\n")
    (project / "near.py").write_text(
        "# the queue of orders is full: retry within 30 s, or no orders/7\n"
    )
    best, *others = search(f"Traceback:\n  File 'x', line 3\nFull: {FILLED_IN}")
    assert best.filename == file
    assert best.explain.boosts["exact_text"] == 1
    assert all("exact_text" not in hit.explain.boosts for hit in others)


@pytest.mark.parametrize("value", ["/var/log/shop/2026-11/out.log", "https://shop.example/a/b?c=d"])
def test_a_value_of_many_words_is_one_word_of_a_message(search, project, value):
    (project / "odd.py").write_text("raise Full(f'Cannot redirect {name} to {path}')\n")
    (project / "near.py").write_text(f"def redirect_stdout(to='{value}'): return to\n")
    best = search(f"Cannot redirect STDOUT to {value}")[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)


def test_a_message_is_looked_for_by_the_words_around_a_path(search, project, monkeypatch):
    monkeypatch.setattr(messages, "MESSAGE_DEPTH", 1)  # as in a project of many chunks
    (project / "odd.py").write_text("raise Full(f'Failed to open table {path}: {why}')\n")
    (project / "near.py").write_text("# var log shop retries out.log\n")
    best = search("Failed to open table /var/log/shop/retries/out.log: denied")[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)


@pytest.mark.parametrize("quote", ["'", ""])
def test_a_message_is_found_by_common_words_where_its_value_is_a_rare_one(
    search, project, monkeypatch, quote
):
    monkeypatch.setitem(KEYWORD_ROWS, SearchMode.HYBRID, 1)  # as in a project of many chunks
    template = f"cannot resolve {quote}{{name}}{quote} in a table"
    (project / "odd.py").write_text(f'raise Error(f"{template}")\n')
    (project / "titles.py").write_text("titel = 'a book'\n")
    for number in range(3):
        (project / f"other_{number}.py").write_text("# resolve the table, as it cannot be read\n")
    best = search(template.format(name="titel").capitalize())[0]
    assert (best.filename, best.explain.boosts.get("exact_text")) == ("odd.py", 1)


@pytest.mark.parametrize(
    "line",
    [
        "raise Full(f'the queue {name} is short')",  # says something else
        "raise Full(f'is full: the queue of {name}')",  # in another order
        "raise Full(f'the queue')",  # too little of it
    ],
)
def test_what_makes_another_message_is_not_meant(search, project, line):
    (project / "odd.py").write_text(f"{line}\n")
    assert all("exact_text" not in hit.explain.boosts for hit in search(FILLED_IN))


def test_a_string_that_many_make_tells_none_of_them(search, project):
    for number in range(MAX_MESSAGE_CHUNKS + 1):
        (project / f"made_{number}.py").write_text(
            "raise Full(f'No retry of {name} within {n} s')\n"
        )
    assert all("exact_text" not in hit.explain.boosts for hit in search(FILLED_IN))


def test_what_begins_like_a_question_is_no_message(search, project):
    (project / "odd.py").write_text("search('how is the queue of retries filled')\n")
    found = search("how is the queue of retries filled")
    assert all("exact_text" not in hit.explain.boosts for hit in found)
