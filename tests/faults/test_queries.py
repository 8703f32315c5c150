"""A query is text: nothing in it is syntax, and no length hangs."""

from __future__ import annotations

import pytest

from memory_sidecar.core.results import WEAK_ALONE

QUERIES = [
    '"',
    '"unbalanced',
    "*",
    "cart*",
    "NEAR(",
    "NEAR(cart, 2)",
    "-x",
    "AND",
    "cart AND",
    "OR OR OR",
    "NOT cart",
    "col:x",
    "body : cart",
    "^cart",
    "{body symbols}",
    "(",
    "');DROP TABLE files;--",
    "%_%",
    "\\",
    "\x00",
    "total\x00price",
    "😀",
    "日本語の検索",
    "\u202ecart",
    "e\u0301",
    "?",
    "../../etc/passwd",
    "\ufffe\uffff",
]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_no_query_is_syntax(serve, indexed, mode):
    for query in QUERIES:
        done = serve("search", "--all", "--mode", mode, "--json", "-", stdin=query.encode())
        assert (done.status, done.err) in ((0, ""), (0, f"note: {WEAK_ALONE}\n")), query
        assert isinstance(done.json, list)


def test_syntax_around_a_word_does_not_hide_it(serve, indexed):
    for query in (
        '"total_price"',
        "total_price*",
        "-total_price",
        "^total_price",
        "total_price AND",
    ):
        done = serve("search", "--all", "--mode", "keyword", "--json", "-", stdin=query.encode())
        assert any("total_price" in hit["code"] for hit in done.json[:2]), query


@pytest.mark.parametrize(
    "query",
    [
        b"total_price " + b"x" * 1_000_000,
        b"total_price " + b"a.b/" * 250_000,
        b"total_price " + b" ".join(b"name_%d" % n for n in range(100_000)),
        b"total_price " + b"\0" * 1_000_000,
        b"total_price " + b" " * 1_000_000 + b"x",
        b"total_price " + "日".encode() * 330_000,
    ],
    ids=["one word", "one path", "many names", "NUL", "space", "CJK"],
)
@pytest.mark.timeout(20)
def test_a_megabyte_is_answered(serve, indexed, query):
    done = serve("search", "--all", "--json", "-", stdin=query)
    assert done.status == 0
    assert any("total_price" in hit["code"] for hit in done.json)


@pytest.mark.parametrize("query", ["", " ", "\n\t\n", "\u3000"])
def test_an_empty_query_is_wrong_usage(serve, indexed, query):
    done = serve("search", "--all", "--json", "-", stdin=query.encode())
    assert (done.status, done.error["code"]) == (2, "usage")


@pytest.mark.parametrize("glob", ["[", "**/**/**", "\\", "a/b/[!", "{", "", " ", "/", "#"])
def test_a_strange_glob_is_a_glob_or_wrong_usage(serve, indexed, glob):
    done = serve("search", "--all", "cart", "--path", glob, "--json")
    assert done.status in (0, 2)
