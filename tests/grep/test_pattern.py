"""What patterns mean that no single language shows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_sidecar.core.errors import UsageError
from memory_sidecar.grep.finder import Finder
from memory_sidecar.grep.match import _Matcher

SAMPLES = Path(__file__).parents[1] / "chunking" / "samples"


def hits(pattern: str, code: str, language: str = "python") -> list[str]:
    data = code.encode()
    found = Finder(pattern).find(data, language)
    assert found is not None
    return [data[hit.start : hit.stop].decode() for hit in found]


def test_the_same_name_is_the_same_text_however_it_is_broken():
    assert hits("f($X, $X)", "f(a.b, a.b)\nf(a, b)\nf(g(1,\n  2), g(1, 2))\n") == [
        "f(a.b, a.b)",
        "f(g(1,\n  2), g(1, 2))",
    ]


@pytest.mark.parametrize("last", ["", ", other"])
@pytest.mark.parametrize("argument", ["{}", "same"])
def test_the_same_siblings_twice_are_not_looked_for_at_every_length(monkeypatch, argument, last):
    bound = []

    class Counting(_Matcher):
        def bind(self, *given):
            bound.append(given)
            return super().bind(*given)

    monkeypatch.setattr("memory_sidecar.grep.match._Matcher", Counting)
    arguments = ", ".join(argument.format(f"one{number}") for number in range(300))
    assert len(hits("f($$$A, $$$A)", f"f({arguments}{last})")) == (argument == "same" and not last)
    assert len(bound) < 1_000


def test_the_same_siblings_may_be_broken_otherwise_and_have_comments():
    call = "f(one, g(1,\n  2),  # why\n  one, g(1, 2))"
    assert hits("f($$$A, $$$A)", call) == [call]


def test_names_that_begin_with_an_underscore_are_not_compared():
    assert hits("f($_A, $_A, $_)", "f(1, 2, 3)") == ["f(1, 2, 3)"]


def test_many_siblings_may_be_none():
    assert hits("f($$$)", "f()\nf(1)\nf(1, 2)\n") == ["f()", "f(1)", "f(1, 2)"]


def test_several_of_many_find_what_is_between():
    assert hits("f($$$, $X, $$$, $X, $$$)", "f(1, 2, 3, 2, 4)\nf(1, 2, 3)\n") == [
        "f(1, 2, 3, 2, 4)"
    ]


def test_what_matches_in_many_ways_takes_no_exponential_time():
    many = ", ".join(["a"] * 200)
    pattern = f"f({', '.join(['$$$, a'] * 12)}, z)"
    assert hits(pattern, f"f({many})") == []


@pytest.mark.parametrize("between", ["$$$", "$$$REST"])
def test_many_beginnings_without_an_end_take_no_quadratic_time(between):
    finder = Finder(f"begin($X)\n{between}\nend()")
    rows = b"".join(b"begin(some_value_%d)\n" % number for number in range(5_000))
    assert finder.find(b"def f(): end()\n" + rows, "python") == []
    found = finder.find(rows + b"end()\n" + rows, "python")
    assert found is not None
    assert [(hit.start, hit.stop) for hit in found] == [(0, len(rows) + len(b"end()"))]


def test_a_long_row_of_tokens_is_matched():
    code = ".".join("a" * 500)
    assert hits(code, f"var x = {code}\n", "gdscript") == [code]


def test_a_language_that_nests_a_pattern_too_deep_hides_no_other():
    finder = Finder(".".join("a" * 500))
    assert finder.not_understood_in(["gdscript", "python"]) == ["python"]
    assert finder.find(b"x = a.a", "python") == []


def test_hits_within_hits_are_hits():
    assert hits("f($X)", "f(f(f(1)))") == ["f(f(f(1)))", "f(f(1))", "f(1)"]


def test_comments_are_in_nobodys_way():
    assert len(hits("f($A, $B)", "f(\n  1,  # one\n  # two\n  2,\n)")) == 1
    assert len(hits("f(1)  # as it was", "f(1)")) == 1


def test_a_dollar_can_be_meant():
    assert hits(r"echo \$HOME", "echo $HOME\necho $OTHER\n", "bash") == ["echo $HOME"]
    assert hits("log('costs $USD')", "log('costs $USD')\nlog('costs $EUR')\n") == [
        "log('costs $USD')"
    ]


def test_an_empty_string_is_not_any_string():
    assert hits('f("")', "f('')\nf('a')\n") == ["f('')"]
    assert hits('f("")', 'func a():\n\tf("")\n\tf("a")\n', "gdscript") == ['f("")']


def test_neighbours_are_found_in_any_block():
    code = "def a():\n    lock()\n    try: pass\n    finally: free()\nlock()\nfree()\n"
    assert hits("lock()\nfree()", code) == ["lock()\nfree()"]
    assert hits("lock()\n$NEXT", code) == [
        "lock()\n    try: pass\n    finally: free()",
        "lock()\nfree()",
    ]


def test_code_with_errors_elsewhere_is_searched():
    assert hits("f($X)", "f(1)\nx = = 3\n") == ["f(1)"]


def test_data_in_one_endless_line_is_passed_over():
    assert Finder("f($X)").find(b"x = [" + b"f(1), " * 10_000 + b"]", "python") is None


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("$X", "match everything"),
        ("$$$ARGS", "match everything"),
        ("f(", "not valid code in python"),
        ("f(]", "not valid code in python"),
        ("f) + (g", "not valid code in python"),
        ("f($x)", "not valid code in python"),
        ("def test_$NAME(): $$$", "not valid code in python"),
        ("(call", "not valid code in python"),
        ("(no_such_kind) @match", "not a query in python"),
        ('(call (#eq? @a "b"))', "not a query in python"),
        ("f(" + "$X, " * 31 + ")", "too long"),
        ("x" * 10_001, "too long"),
        ("(" * 4_000 + "x" + ")" * 4_000, "nested deeper than 80 levels"),
        (".".join("a" * 500), "nested deeper than 80 levels"),
    ],
)
def test_what_is_no_pattern_is_said_in_a_line(pattern, why):
    with pytest.raises(UsageError, match=why) as raised:
        Finder(pattern).not_understood_in(["python"])
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("f($x)", "upper case: $X"),
        ("test_$NAME", "whole name"),
        (".f($X)", "before the dot, too: $X.f($X)"),
        ("f(", "must be whole"),
    ],
)
def test_the_hint_says_what_would_be_right(pattern, hint):
    with pytest.raises(UsageError) as raised:
        Finder(pattern).not_understood_in(["python"])
    assert hint in raised.value.hint


def test_one_language_that_understands_is_enough():
    assert Finder("let $X = $Y;").not_understood_in(["python", "rust"]) == ["python"]


def test_a_query_hits_what_it_calls_a_match():
    code = "open(a)\nclose(b)\nx.open(c)\n"
    assert hits("(call) @match", code) == ["open(a)", "close(b)", "x.open(c)"]
    assert hits('(call function: (identifier) @_f (#eq? @_f "open")) @match', code) == ["open(a)"]
    assert hits('(call function: (identifier) @name (#match? @name "^cl"))', code) == ["close"]
    assert hits("(argument_list)", code) == ["(a)", "(b)", "(c)"]
    assert hits("(argument_list) ; of calls", code) == ["(a)", "(b)", "(c)"]


def test_a_query_understands_what_is_between_conditions():
    code = (SAMPLES / "conditions.cpp").read_text()
    named = '(function_definition declarator: (_) @_d (#match? @_d "^Limiter::take")) @match'
    assert len(hits(named, code, "cpp")) == 1


def test_a_query_captures_by_name():
    found = Finder("(call (identifier) @name (argument_list) @_args) @match").find(
        b"open(a)", "python"
    )
    assert found is not None
    (hit,) = found
    assert hit.captures == {"name": ((0, 4),)}


def test_code_may_begin_like_a_query():
    assert hits("($A, $B) => $C", "f((a, b) => a + b)", "javascript") == ["(a, b) => a + b"]


def test_many_beginnings_whose_text_is_looked_for_take_no_quadratic_time():
    finder = Finder("$A = $B\n$$$\n$C = $A")
    rows = "".join(f"a{number} = b{number}\n" for number in range(1_500))
    assert finder.find(rows.encode(), "python") == []
    found = finder.find(f"{rows}# so\nc = a1499\n".encode(), "python")
    assert found is not None
    assert [hit.start for hit in found] == [rows.index("a1499")]


def test_what_may_fit_in_too_many_ways_is_passed_over(monkeypatch):
    monkeypatch.setattr("memory_sidecar.grep.match.MAX_TRIES", 1_000)
    finder = Finder("$A = $B\n$$$\n$C = $D\n$A = $D")
    rows = b"".join(b"a%d = b%d\n" % (number, number) for number in range(100))
    assert finder.find(rows, "python") is None
