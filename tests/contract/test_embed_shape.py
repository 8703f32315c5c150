"""`embed TEXT` prints one array of 384 numbers; `embed -` one for each line."""

from __future__ import annotations

import json
import math

import pytest


def test_one_text_is_one_array_of_length_one(sidecar):
    done = sidecar("embed", "how is a customer charged")
    assert (done.status, done.err) == (0, "")
    vector = done.json
    assert len(vector) == 384
    assert math.isclose(sum(x * x for x in vector), 1, rel_tol=1e-4)


@pytest.fixture
def embed(serve):
    """`embed` as status, vectors and standard error."""

    def embed(*arguments, stdin=b""):
        done = serve("embed", *arguments, stdin=stdin)
        return done.status, [json.loads(line) for line in done.out.splitlines()], done.err

    return embed


def test_lines_of_standard_input_keep_their_order(embed):
    _, vectors, _ = embed("-", stdin="eins\r\n\nfünf 日本\n".encode())
    assert [len(vector) for vector in vectors] == [384, 384, 384]
    assert vectors[0] == embed("eins")[1][0]
    assert vectors[1] == embed("")[1][0]
    assert vectors[2] == embed("fünf 日本")[1][0]


def test_words_are_one_text(embed):
    assert embed("two", "words")[1] == embed("two words")[1]


def test_questions_are_embedded_otherwise(embed):
    assert embed("--query", "cart")[1] != embed("cart")[1]
    assert embed("--query", "-", stdin=b"cart\ncart")[1] == 2 * embed("--query", "cart")[1]


def test_text_after_two_dashes_may_begin_with_one(embed):
    status, vectors, _ = embed("--", "--query")
    assert (status, len(vectors)) == (0, 1)


def test_a_megabyte_is_embedded(embed):
    status, vectors, _ = embed("-", stdin=b"word " * 200_000)
    assert (status, len(vectors)) == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [((), b""), (("-",), b""), (("-",), b"\xff\xfe"), (("a\udcff",), b"")],
    ids=["nothing", "empty input", "input not UTF-8", "argument not UTF-8"],
)
def test_what_is_no_text_is_wrong_usage(embed, arguments, stdin):
    status, vectors, err = embed(*arguments, stdin=stdin)
    assert (status, vectors) == (2, [])
    assert json.loads(err)["error"]["code"] == "usage"
