"""What each language's query finds in a small source, as written down in `outlines/`.

A line there: rows, path, the row it begins with (doc comment, attribute or decorator), signature.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import pytest

from memory_sidecar.chunking.lines import Lines
from memory_sidecar.chunking.outline import has_outline, outline
from memory_sidecar.core.language import LANGUAGES, detect_language

SAMPLES = Path(__file__).parent / "samples"
EXPECTED = Path(__file__).parent / "outlines"


def outline_of(sample: Path) -> str:
    """One line a definition, as the files in `outlines/` have it."""
    lines = Lines(sample.read_text(encoding="utf-8"))
    found = outline(lines.data, detect_language(sample.name))
    assert found.is_sound
    return "".join(
        f"{d.start + 1}-{d.stop} {d.path}{'' if d.symbol else ' (encloses)'}"
        f" | {lines.rows[d.start].strip()} | {d.signature(lines.data)}\n"
        for d in found.definitions
    )


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_outline_is_the_one_written_down(sample):
    expected = (EXPECTED / f"{sample.name}.txt").read_text(encoding="utf-8")
    assert outline_of(sample) == expected


def test_every_language_with_an_outline_has_a_sample():
    sampled = {detect_language(sample.name) for sample in SAMPLES.iterdir()}
    assert sampled == {language for language in LANGUAGES if has_outline(language)}


def test_what_was_parsed_is_not_kept_in_memory():
    data = b"def a():\n    return 1\n" * 50
    before = sys.getrefcount(data)
    assert outline(data, "python").definitions
    gc.collect()
    assert sys.getrefcount(data) == before


def test_what_sql_makes_is_of_its_own_kind():
    source = (SAMPLES / "cart.sql").read_bytes()
    kinds = [each.kind for each in outline(source, "sql").definitions]
    assert kinds == ["table", "index", "view", "function", "trigger"]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_what_is_required_is_imported_and_not_defined(language):
    source = b"""
var rounded = require('./money').rounded;
const LIMIT = 3;
exports.add = function add(item) { return rounded(item); };
"""
    found = outline(source, language).definitions
    assert [(d.symbol, d.kind) for d in found] == [("LIMIT", "variable"), ("add", "function")]


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_a_function_that_is_a_value_is_one_definition_by_its_outer_name(language):
    source = (
        b"const f = function g() { return 1; };\nexports.h = function i() {};\n"
        b"let j; j = function k() {};\nlet m = j || function n() {};\nlet o = [function* p() {}];\n"
    )
    found = outline(source, language).definitions
    functions = [each.symbol for each in found if each.kind == "function"]
    assert functions == ["f", "h", "k", "n", "p"]


def test_what_elixir_calls_is_a_definition_by_the_word_that_is_called():
    source = (SAMPLES / "cart.ex").read_bytes()
    found = outline(source, "elixir")
    kinds = {each.path: each.kind for each in found.definitions}
    assert kinds["Shop.Cart"] == "module"
    assert kinds["Shop.Cart.__using__"] == "macro"
    assert kinds["Total"] == "interface"
    assert kinds["Shop.Cart.add"] == "function"
    called = {each.name for each in found.references if each.how == "call"}
    assert called >= {"length", "output"}
    assert not called & {"add", "def", "defmodule", "use", "doc"}


def test_no_query_runs_over_very_much_that_makes_no_sense(monkeypatch):
    broken = b"template<template<\n"
    assert outline(b"int one() { return 1; }\n" + broken, "cpp").definitions

    def query(language, *parts):
        raise AssertionError(language, parts)

    monkeypatch.setattr("memory_sidecar.chunking.outline.load_query", query)
    assert not outline(broken * 8_000, "cpp").is_sound


@pytest.mark.parametrize(
    ("language", "source", "signature"),
    [
        (
            "python",
            "def f(a,  # first\n      b):  # noqa\n    # why\n    return a\n",
            "def f(a, b)",
        ),
        ("python", "def f():\n    # why\n    return 1\n", "def f()"),
        (
            "go",
            "func F(a int, // first\n\tb int) error {\n\treturn nil\n}\n",
            "func F(a int, b int) error",
        ),
        (
            "typescript",
            "function f(a /* of it */: number) {\n  return a\n}\n",
            "function f(a : number)",
        ),
        (
            "csharp",
            "interface A {\n#if B\n  [C]\n#endif\n  int F(\n#if B\n    int b\n#endif\n  );\n}\n",
            "int F(int b)",
        ),
        (
            "java",
            "class A {\n  int f(@B int a) // why\n  {\n    return a;\n  }\n}\n",
            "int f(@B int a)",
        ),
    ],
)
def test_neither_comment_nor_condition_is_part_of_a_signature(language, source, signature):
    assert (
        outline(source.encode(), language).definitions[-1].signature(source.encode()) == signature
    )


@pytest.mark.parametrize(
    ("language", "source", "signature"),
    [
        ("kotlin", "class A {\n  val b: Int\n    get() { return c() }\n}", "val b: Int"),
        ("kotlin", "var b = 1\n  get() = c()\n  set(d) { e(d) }", "var b = 1"),
        ("swift", "struct A { var b: Int { c() } }", "var b: Int"),
        ("swift", "struct A { var b = 1 { didSet { c() } } }", "var b = 1"),
        ("csharp", "class A { event E B { add { c(); } remove { d(); } } }", "event E B"),
    ],
)
def test_what_a_property_runs_is_no_part_of_its_signature(language, source, signature):
    found = outline(source.encode(), language).definitions[-1]
    assert found.signature(source.encode()) == signature
    assert found.is_code


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("c", "/**/ int a;\n" * 80_000),
        ("python", "import a as b\n" + "".join(f"import a as b{n}\n" for n in range(50_000))),
        ("javascript", f"import '{'a' * 19_000}:';\n" * 20),
        ("javascript", f"x = '{'a' * 19_000} '.f();\n" * 50),
    ],
    ids=["leads", "aliases", "a module", "a receiver"],
)
def test_a_file_made_to_be_slow_takes_no_time(language, source):
    began = time.thread_time()
    outline(source.encode(), language)
    assert time.thread_time() - began < 15


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "TABLE = [\n{}]\n\nclass Lexer:\n    pass\n"),
        ("csharp", "class Lexer {{\n    int[] table = {{\n{}}};\n}}\n"),
        ("php", "<?php\n$table = [\n{}];\nclass Lexer {{\n}}\n"),
        ("ruby", "TABLE = [\n{}]\n\nclass Lexer\nend\n"),
    ],
)
@pytest.mark.parametrize("row", ["1,2,3,4,5,6,7,8,\n", "'a','b','c','d',\n"])
def test_a_file_with_a_large_table_has_an_outline(language, source, row):
    data = source.format(row * 3_000).encode()
    assert "Lexer" in [each.symbol for each in outline(data, language).definitions]


GROUP = b"""package a

type (
\tOne struct{}

\t// Two is another.
\tTwo struct{ X int }
\tN = int
)
"""


def test_each_type_of_a_group_of_go_is_defined_by_its_own_lines():
    defined = outline(GROUP, "go").definitions
    found = [(each.path, each.signature(GROUP), each.stop) for each in defined]
    assert found == [
        ("One", "One struct", 4),
        ("Two", "Two struct", 7),
        ("Two.X", "X int", 7),
        ("N", "N = int", 8),
    ]


def test_a_function_of_c_may_have_its_name_in_parentheses():
    found = outline(b"int (add)(int);\nint (*sum)(int);\n", "c").definitions
    assert [(each.symbol, each.kind) for each in found] == [
        ("add", "function"),
        ("sum", "variable"),
    ]
