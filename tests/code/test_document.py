"""The head of a chunk tells where it stands, what it defines and what is said of it."""

from __future__ import annotations

import json

import pytest

from memory_sidecar.chunking.chunk import chunk_text, parse_text
from memory_sidecar.code.document import (
    HEAD_CHARACTERS,
    CodeDocument,
    FileNames,
    build_document,
    head_of,
    read_places,
)
from memory_sidecar.core.model import Chunk, Source, SourceFile

METHOD = """\
    @deprecated
    def total(self, currency: str) -> Money:
        # Rounded half to even, like the ledger.
        prices = [item.price for item in self.items]
        return sum(prices)
"""


def lines_of(code: str, **described) -> list[str]:
    return head_of("shop/cart.py", Chunk(1, 9, code, **described)).split("\n")


def test_place_signature_comments_and_code_in_that_order():
    head = lines_of(
        METHOD,
        symbols=("total",),
        scope="Cart",
        signature="def total(self, currency: str) -> Money",
    )
    assert head == [
        "shop/cart.py",
        "Cart",
        "def total(self, currency: str) -> Money",
        "Rounded half to even, like the ledger.",
        "@deprecated",
        "prices = [item.price for item in self.items]",
        "return sum(prices)",
    ]


def test_several_symbols_are_listed_before_the_code():
    assert lines_of("a = 1\nb = 2", symbols=("a", "b"))[1] == "a b"


def test_comments_of_every_kind_come_without_their_marks():
    code = "\n".join(
        ["x = 1", "# one", "/// two", " * three", "-- four", "; five", '"""Six.', "<!-- seven -->"]
    )
    found = lines_of(code)[1:]
    assert found[:7] == ["one", "two", "three", "four", "five", "Six.", "seven -->"]
    assert found[-1] == "x = 1"


def test_what_only_looks_like_a_comment_is_code():
    for code in (
        "#!/bin/sh",
        "#[derive(Debug)]",
        "--> x",
        "*/ done()",
        "#include",
        "*out = 1",
        "--left",
    ):
        assert lines_of(f"{code}\n// said")[1] == "said", code


def test_lines_without_a_word_take_no_room():
    assert lines_of("{\n}\n;\nrun()\n") == ["shop/cart.py", "run()"]


def test_a_head_is_short_whatever_the_chunk():
    long = Chunk(1, 1, "word " * 10_000, scope="Scope " * 90, signature="def f(" + "a, " * 300)
    assert len(head_of("ui/b.py", long)) == HEAD_CHARACTERS
    assert head_of("ui/b.py", long).startswith("ui/b.py\nScope ")


def test_a_path_that_says_nothing_is_left_out():
    assert head_of("x12/0007.py", Chunk(1, 1, "total = 1")) == "total = 1"


def test_every_chunk_of_a_real_file_has_a_head_of_its_own():
    text = "\n\n\n".join(
        f"def step_{n}(x):\n    return x * {n}" + "\n    x += 1" * 90 for n in range(5)
    )
    heads = [head_of("steps.py", chunk) for chunk in chunk_text(text, "python")]
    assert len(heads) > 4
    assert len(set(heads)) == len(heads)


def test_every_definition_of_a_generated_file_is_known():
    text = "".join(f"#define R{number} {number}\n" for number in range(20_001))
    names = FileNames.of(parse_text(text, "c"))
    assert (len(names.definitions), names.definitions[-1].name) == (20_001, "R20000")


def test_a_notebook_defines_what_its_cells_do(tmp_path):
    cell = {"cell_type": "code", "source": ["def load(path):\n", "    return open(path)"]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}, indent=1))
    built = build_document(Source("s", tmp_path), SourceFile("a.ipynb", 1, 0, 0), 1 << 20)
    assert isinstance(built, CodeDocument)
    assert (built.language, [each.name for each in built.names.definitions]) == ("python", ["load"])
    assert built.chunks[0].code == "def load(path):\n    return open(path)"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "csharp",
            "class A {\n int x = f();\n int P { get => g(); }\n int Q => g();\n"
            " event E V { add { g(); } remove { } }\n}\n",
        ),
        (
            "kotlin",
            "class A {\n val x = f()\n val p: Int\n  get() = g()\n val q by lazy { g() }\n}\n",
        ),
        (
            "swift",
            "class A {\n var x = f()\n var p: Int { g() }\n var q = 1 { didSet { g() } }\n}\n",
        ),
    ],
)
def test_a_call_in_the_code_of_a_property_is_within_it(language, text):
    names = FileNames.of(parse_text(text, language))
    within = {
        (used, names.definitions[place.within].path)
        for used, places in names.places
        for place in read_places(places)
        if used in "fg" and place.within is not None
    }
    properties = {("g", row.path) for row in names.definitions if row.kind == "field"}
    assert within == {("f", "A"), *properties} - {("g", "A.x")}


@pytest.mark.parametrize(
    ("language", "text", "within"),
    [
        ("javascript", "function a() { x(); } function b() { y(); }", {"x": "a", "y": "b"}),
        ("rust", "#[x] fn a() { y() } fn b() { z() }", {"x": "a", "y": "a", "z": "b"}),
        (
            "kotlin",
            "class A : X { fun b() { y() } }\nfun c() { z() }",
            {"X": "A", "y": "b", "z": "c"},
        ),
    ],
)
def test_each_of_several_definitions_in_a_line_has_its_own_uses(language, text, within):
    names = FileNames.of(parse_text(text, language))
    found = {name: [place.within for place in read_places(at)] for name, at in names.places}
    assert {
        name: names.definitions[at].name for name, (at,) in found.items() if at is not None
    } == within
