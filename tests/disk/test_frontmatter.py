"""Pages are read forgivingly and edited without touching what did not change."""

from __future__ import annotations

import random
import time

import pytest
import yaml

from memory_sidecar.core.errors import PageBroken, UsageError
from memory_sidecar.disk.frontmatter import edit_page, new_page, parse_page, with_body

PAGE = """---
# Written by hand.
created_at: 2026-03-01T09:12:00Z
tags:   [payment, "area:build"]   # sorted
unknown-key: { a: 1 }
evidence:  # both checked
  - session:2026-03-01
  # the second one
  - EXP-021
summary: |
  two lines
  # not a comment

# about the rest
pinned: true
refs: 2
---

Body: with --- and
---
rules.
"""


def test_values_are_text_unless_nobody_could_take_them_for_text():
    page = parse_page(
        "---\ndate: 2026-03-09\nat: 2026-03-01 09:12\nversion: 1.10\nyes: yes\nid: 007\n"
        "time: 12:30\nrefs: 2\nminus: -3\nquoted: '2'\npinned: true\nnothing:\nnull: null\n---\n"
    )
    assert page.problem == ""
    assert page.meta == {
        "date": "2026-03-09",
        "at": "2026-03-01 09:12",
        "version": "1.10",
        "yes": "yes",
        "id": "007",
        "time": "12:30",
        "refs": 2,
        "minus": -3,
        "quoted": "2",
        "pinned": True,
        "nothing": None,
        "null": None,
    }


def test_body_stands_as_it_is_and_its_line_is_known():
    page = parse_page(PAGE)
    assert page.body == "\nBody: with --- and\n---\nrules.\n"
    assert PAGE.splitlines()[page.body_line - 1 :] == page.body.splitlines()
    assert page.meta["evidence"] == ["session:2026-03-01", "EXP-021"]
    assert page.meta["summary"] == "two lines\n# not a comment\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "no --- frontmatter\n---\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "--- a: 1\n---\n",
        "---\n",
        "---\na rule above and\nno end",
        "---\n\nA paragraph between two rules.\n\n---\nand more",
    ],
    ids=repr,
)
def test_text_without_frontmatter_is_all_body(text):
    page = parse_page(text)
    assert (page.meta, page.body, page.problem, page.body_line) == ({}, text, "", 1)


@pytest.mark.parametrize(
    ("text", "meta"),
    [
        ("\ufeff---\na: 1\n---\nbody", {"a": 1}),
        ("---\r\na: x\r\n---\r\nbody", {"a": "x"}),
        ("---\ra: x\r---\rbody", {"a": "x"}),
        ("---  \na: x\n---\t\nbody", {"a": "x"}),
        ("---\n---\nbody", {}),
        ("---\n# only a comment\n---\nbody", {}),
        ("---\n{a: 1, b: [x, y]}\n---\nbody", {"a": 1, "b": ["x", "y"]}),
        ("---\na: &x [1]\nb: *x\n---\nbody", {"a": [1], "b": [1]}),
        ("---\na: !!python/object/apply:os.system [ls]\n---\nbody", {"a": ["ls"]}),
    ],
    ids=repr,
)
def test_every_form_of_frontmatter_is_read(text, meta):
    page = parse_page(text)
    assert (page.meta, page.body, page.problem) == (meta, "body", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\nsummary: a: b\n---\nbody", "line 2: mapping values are not allowed"),
        ("---\na: 1\ntags: [x\n---\nbody", "line 4: "),
        ("---\na: 1\nb: 2\na: 3\n---\nbody", "line 4: the key 'a' is there twice"),
        ("---\na: 1\nb: \x07\n---\nbody", "line 3: a character that YAML forbids"),
        ("---\na: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n---\nbody", "line 3: a merge"),
        ("---\na: 1\n---\nbody\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> x\n", "line 5: a merge"),
        ("<<<<<<< HEAD\n---\na: 1\n---\nbody\n=======\n>>>>>>> x\n", "line 1: a merge"),
        ("---\n- a list\n---\nbody", "line 2: a list where"),
        ("--- \na: 1\nbody", "line 1: nothing ends the frontmatter"),
        ("---\n? [a]\n: 1\n---\nbody", "line 2: a key that is no text"),
        ("---\na: " + "[" * 500 + "]" * 500 + "\n---\nbody", "line 2: nested too deep"),
        ("---\na: " + "[" * 60_000 + "\n---\nbody", "line 2: nested too deep"),
        ("---\na: " + "[" * 90_000 + "\n---\nbody", "line 2: "),
        ("---\na: &a [*a]\n---\nbody", "line 2: "),
        ("---\na: \ud800\n---\nbody", "line "),
        (
            "---\na0: &a0 [x]\n"
            + "".join(f"a{n}: &a{n} [{f'*a{n - 1}, ' * 9}]\n" for n in range(1, 9))
            + "---\nbody",
            "nested too deep or too large",
        ),
    ],
    ids=lambda text: repr(text)[:60],
)
def test_a_problem_is_a_line_and_the_body_is_there(text, problem):
    page = parse_page(text)
    assert problem in page.problem
    assert "\n" not in page.problem
    assert "body" in page.body


def test_a_broken_frontmatter_keeps_what_can_be_read():
    page = parse_page(
        "---\ncreated_at: 2026-03-01T09:12:00Z\nsummary: note: a colon\ntags:\n- x\n---\nbody\n"
    )
    assert page.meta == {"created_at": "2026-03-01T09:12:00Z", "tags": ["x"]}
    assert page.problem.startswith("line 3: ")
    assert page.body == "body\n"


def test_a_conflict_that_is_only_shown_is_none():
    shown = "---\na: 1\n---\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n"
    assert parse_page(shown).problem == ""
    assert parse_page(shown + "<<<<<<< HEAD\n").problem.startswith("line 9: ")


@pytest.mark.parametrize("keys", ["tags: [x]\n", ""])
def test_a_conflict_from_the_first_line_on_is_no_text(keys):
    told = "<<<<<<< HEAD\ncreated_at: 1\n=======\ncreated_at: 2\n>>>>>>> other\n"
    page = parse_page(f"---\n{told}{keys}---\nbody\n")
    assert page.problem == "line 2: a merge conflict is not resolved"
    assert (page.body, page.meta.get("tags")) == ("body\n", ["x"] if keys else None)
    with pytest.raises(PageBroken):
        edit_page(f"---\n{told}{keys}---\nbody\n", {"a": 1})


def test_the_values_at_the_lines_of_a_conflict_count():
    page = (
        "---\ncreated_at: 2026-03-01\n<<<<<<< HEAD\nupdated_at: 2026-03-02\nsupersedes: [a.md]\n"
        "||||||| base\nupdated_at: 2026-03-01\n=======\nupdated_at: 2026-03-03\npinned: true\n"
        ">>>>>>> other\n---\nbody\n"
    )
    for text in (page, page.replace("\n", "\r\n")):
        assert parse_page(text).meta == {
            "created_at": "2026-03-01",
            "updated_at": "2026-03-03",
            "supersedes": ["a.md"],
            "pinned": True,
        }


def test_a_conflict_in_the_body_does_not_keep_the_frontmatter_from_changing():
    page = "---\na: x\n---\n<<<<<<< HEAD\n=======\n>>>>>>> x\n"
    assert edit_page(page, {"a": "z"}) == page.replace("a: x", "a: z")


def test_of_a_repeated_key_the_last_one_counts():
    assert parse_page("---\na: 1\nb: 2\na: 3\n---\n").meta == {"a": 3, "b": 2}


# Editing


def test_what_does_not_change_stays_to_the_byte():
    assert edit_page(PAGE, {}) == PAGE
    assert edit_page(PAGE, {"refs": 2, "tags": ["payment", "area:build"], "absent": None}) == PAGE


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"refs": 3}, "refs: 2\n", "refs: 3\n"),
        ({"tags": ["x"]}, 'tags:   [payment, "area:build"]   # sorted', "tags: [x]   # sorted"),
        ({"tags": None}, 'tags:   [payment, "area:build"]   # sorted\n', ""),
        ({"pinned": None}, "pinned: true\n", ""),
        (
            {"evidence": ("K-1", "K-2")},
            "evidence:  # both checked\n  - session:2026-03-01\n  # the second one\n  - EXP-021\n",
            "evidence: [K-1, K-2]  # both checked\n",
        ),
        ({"summary": "one"}, "summary: |\n  two lines\n  # not a comment\n", "summary: one\n"),
        ({"summary": None}, "summary: |\n  two lines\n  # not a comment\n", ""),
        ({"unknown-key": None}, "unknown-key: { a: 1 }\n", ""),
        ({"status": "valid"}, "refs: 2\n", "refs: 2\nstatus: valid\n"),
        (
            {"created_at": "2026-03-02", "refs": None, "by": "me, myself"},
            None,
            PAGE.replace("2026-03-01T09:12:00Z", "2026-03-02").replace(
                "refs: 2\n", "by: me, myself\n"
            ),
        ),
    ],
    ids=repr,
)
def test_only_the_changed_keys_change(changes, old, new, newline):
    wanted = PAGE.replace(old, new) if old else new
    assert wanted != PAGE
    edited = edit_page(PAGE.replace("\n", newline), changes)
    assert edited == wanted.replace("\n", newline)


def test_a_page_without_frontmatter_gets_one():
    assert edit_page("body\n", {"a": 1}) == "---\na: 1\n---\nbody\n"
    assert edit_page("\ufeffbody\r\n", {"a": 1}) == "\ufeff---\r\na: 1\r\n---\r\nbody\r\n"
    assert edit_page("", {"a": "x"}) == "---\na: x\n---\n"


def test_an_empty_value_and_an_empty_frontmatter_are_filled():
    assert edit_page("---\na:\nb: 2\n---\n", {"a": "x"}) == "---\na: x\nb: 2\n---\n"
    assert edit_page("---\na:   # why\nb: 2\n---\n", {"a": "x"}) == "---\na: x   # why\nb: 2\n---\n"
    assert edit_page("---\n---\nbody", {"a": 1}) == "---\na: 1\n---\nbody"


def test_what_cannot_be_spliced_is_written_anew():
    """The new text of a value that others refer to, or that stands in braces, reads the same."""
    for text, meta in [
        ("---\na: &x [1]\nb: *x\n---\nbody", {"a": 2, "b": [1]}),
        ("---\n{a: 1, b: [1]}\n---\nbody", {"a": 2, "b": [1]}),
    ]:
        page = parse_page(edit_page(text, {"a": 2}))
        assert (page.meta, page.body, page.problem) == (meta, "body", "")


def test_a_broken_page_is_not_edited():
    with pytest.raises(PageBroken, match="line 2"):
        edit_page("---\nsummary: a: b\n---\nbody", {"refs": 1})


def test_a_body_is_replaced_under_the_same_frontmatter():
    assert with_body(PAGE, "new\n") == PAGE[: PAGE.index("Body:")] + "new\n"
    windows = "\ufeff---\r\na: 1\r\n---\r\nold\r\n"
    assert with_body(windows, "x\ny\n") == windows.replace("old", "x\r\ny")
    assert with_body("\ufeffold", "new") == "\ufeffnew"
    assert with_body("---\nbroken: a: b\n---\nold", "new") == "---\nbroken: a: b\n---\nnew"


# Writing

NASTY = [
    *("", " ", "a", "yes", "no", "On", "null", "~", "true", "False", "12", "-3", "1.10", "0x1f"),
    *("007", "1e3", "1_000", "12:30:45", ".5", ".inf", "2026-01-01", "2026-01-01T00:00:00Z", "="),
    *("- dash", "-", "--", "---", "...", "--flag", "key: value", "a:b", "ends:", ":x", "? q", "?"),
    *(
        "# no",
        "a # b",
        "a#b",
        "'single'",
        '"double"',
        "it's",
        'say "hi"',
        "back\\slash",
        "\\n",
        "<<",
    ),
    *("two\nlines", "tab\there", "\ttab", "cr\r\n", " lead", "trail ", "*star", "&amp", "!bang"),
    *("|", "> x", "%x", "@x", "`x`", "[x]", "{x}", "a, b", "x]", "a[0]", "日本語", "emoji 🎉", "é"),
    *("\x00", "\x07", "\x7f", "\x85", "\u2028", "\ufeff", "\uffff", "\u200b", "http://x.y/z?a=b#c"),
    *("session:2026-03-01-payment", "C:\\dir", "a" * 5000, "🎉" * 100, "-0", "+1", "0", "00"),
]


@pytest.mark.parametrize("text", NASTY, ids=lambda text: repr(text)[:40])
def test_every_text_is_read_back(text):
    meta = {"a": text, "list": [text, "x", text], "map": {"k": text}, text[:99]: "as a key"}
    page = parse_page(new_page(meta, "body"))
    assert (page.meta, page.body, page.problem) == (meta, "body", "")


def test_random_pages_are_read_back_and_survive_edits():
    chance = random.Random(4)
    alphabet = "ab:- #,[]{}\"'\\\n\t|>&*!%@`?~=.019é日🎉"

    def text():
        if chance.random() < 0.3:
            return chance.choice(NASTY)
        return "".join(chance.choices(alphabet, k=chance.randrange(8)))

    def key():
        return text()[:99]

    def value():
        kind = chance.randrange(6)
        if kind == 0:
            return chance.choice([True, False, 0, -7, 10**17])
        return [text() for _ in range(chance.randrange(4))] if kind < 3 else text()

    for _ in range(400):
        meta = {key(): value() for _ in range(chance.randrange(1, 6))}
        body = text()
        page = new_page(meta, body)
        assert parse_page(page).meta == meta
        changes = {chance.choice(list(meta)): chance.choice([None, value()]), key(): value()}
        edited = parse_page(edit_page(page, changes))
        wanted = {key: value for key, value in (meta | changes).items() if value is not None}
        assert (edited.meta, edited.body, edited.problem) == (wanted, body, "")


@pytest.mark.parametrize("text", ["why?", "what is it? this", "why:?", "a?b"])
def test_a_question_mark_in_a_list_is_read_by_every_parser(text):
    page = new_page({"tags": [text], "of": {text: text}}, "body\n")
    assert parse_page(page).meta == {"tags": [text], "of": {text: text}}
    assert parse_page(page).problem == ""
    front = page.split("---\n")[1]
    assert yaml.load(front, Loader=yaml.BaseLoader) == parse_page(page).meta


def test_quotes_only_where_they_are_needed():
    meta = {
        "created_at": "2026-03-01T09:12:00Z",
        "tags": ["payment", "area:build", "a, b", "12"],
        "summary": "Strategy, in [payment], isn't it",
        "source": "agent:architect",
    }
    assert new_page(meta, "") == (
        "---\ncreated_at: 2026-03-01T09:12:00Z\n"
        'tags: [payment, area:build, "a, b", "12"]\n'
        "summary: Strategy, in [payment], isn't it\nsource: agent:architect\n---\n"
    )


def test_what_frontmatter_cannot_hold_is_refused():
    with pytest.raises(TypeError):
        new_page({"a": object()}, "")


def test_what_could_not_be_read_again_is_not_written():
    for write in (lambda long: new_page(long, ""), lambda long: edit_page(PAGE, long)):
        with pytest.raises(UsageError, match="longer than 65,536"):
            write({"summary": "a" * 70_000})


def test_blank_lines_in_a_value_that_is_replaced_take_no_time():
    page = f"---\ntags: |\n  a\n{chr(10) * 30_000}  b\n# kept\nid: x\n---\n"
    began = time.thread_time()
    assert edit_page(page, {"tags": ["c"]}) == "---\ntags: [c]\n# kept\nid: x\n---\n"
    assert time.thread_time() - began < 5
