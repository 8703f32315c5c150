"""What a file costs grows with its size, whatever stands in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import thread_time

import pytest

from memory_sidecar.chunking import lines
from memory_sidecar.chunking.chunk import parse_text
from memory_sidecar.chunking.lines import Lines, split
from memory_sidecar.chunking.notebook import read_notebook
from memory_sidecar.code.document import FileNames

TIMES = 8


def seconds(text: str, language: str) -> float:
    began = thread_time()
    if language == "notebook":
        read_notebook(text)
    else:
        parse_text(text, language)
    return thread_time() - began


@pytest.mark.parametrize(
    ("language", "make", "count"),
    [
        pytest.param("c", lambda n: "@@@ ] ) $$\n" * n + "#elif\n" * n * 3, 400, id="conditions"),
        pytest.param(
            "hcl",
            lambda n: "x = a" + (".id" * 50 + "\n") * (n // 50) + "\n",
            2_000,
            id="attributes",
        ),
        pytest.param("bash", lambda n: "f() {\n((\n" + "{\n" * n, 1000, id="blocks"),
        pytest.param("notebook", lambda n: " " * n + "x", 4_000, id="spaces"),
        pytest.param("c", lambda n: "#define X " + '\\" ' * n + "\n", 800, id="quotes"),
        pytest.param("kotlin", lambda n: "fun f() {\n" + ("$" * n + "\n") * 4, 2_000, id="dollars"),
        pytest.param("sql", lambda n: ("a" + "\n@a" * n + ";\n") * 60, 80, id="parameters"),
        pytest.param(
            "php",
            lambda n: "<?php class A {\n/** @var A */ " + "#[]" * n + "(\n$a->b();\n",
            40,
            id="attributes of PHP",
        ),
        pytest.param(
            "php",
            lambda n: "<?php class A {\n/**" + "@var A\n" * n + "*/" + "    \n" * n + "}\n$a->b();",
            300,
            id="types in a comment",
        ),
        pytest.param(
            "php",
            lambda n: (
                "<?php class A { function f() {\n"
                + f"$this->a = b(); // {'-' * 60}\n" * n
                + f"$this->a->b(); // {'-' * 60}\n" * n
                + "}}\n"
            ),
            500,
            id="values of a field",
        ),
    ],
)
def test_time_grows_as_a_file_does(language: str, make: Callable[[int], str], count: int):
    seconds(make(count), language)  # loads the grammar
    small = min(seconds(make(count), language) for _ in range(3))
    large = min(seconds(make(count * TIMES), language) for _ in range(2))
    assert large < small * TIMES * 3 + 0.2  # it takes seconds to grow with the square


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", f"class {'A' * 15_000}:\n" + "  def f(self): pass\n" * 500),
        ("python", f"from {'m' * 15_000} import b as c\n" + "c.d\n" * 500),
        ("python", f"import {'m' * 15_000} as c\n" + "c.d\n" * 500),
        ("javascript", f"import {{a as c}} from './{'m' * 15_000}'\n" + "c()\n" * 500),
        ("markdown", f"# {'t' * 15_000}\n\n" + f"## a\n\n{'word ' * 60}\n\n" * 100),
        ("toml", f"[{'t' * 15_000}]\n" + "number = 1\n" * 5_000),
        (
            "php",
            f"<?php function f({'|'.join(f'A{n}' for n in range(2_000))} $a) {{\n"
            + f"$a->b(); // {'-' * 60}\n" * 500,
        ),
    ],
)
def test_a_long_name_is_not_told_with_all_that_it_holds(language, text):
    parsed = parse_text(text, language)
    names = FileNames.of(parsed)
    told = sum(len(chunk.scope) + len(chunk.signature) for chunk in parsed.chunks)
    told += sum(len(each.path) + len(each.signature) for each in names.definitions)
    told += sum(len(places) for _, places in names.places)
    assert told < 3 * len(text)


def test_a_signature_is_not_read_from_all_that_stands_between_comments():
    (table,) = parse_text("X = [\n" + "  1,  # one\n" * 5_000 + "]\n", "python").outline.definitions
    assert len(table.head) <= 40


def test_names_of_one_statement_are_not_told_apart_for_each_of_its_chunks():
    names = ",\n  ".join(f"name_{number}" for number in range(1_000))
    scopes = {chunk.scope for chunk in parse_text(f"static int {names};\n", "c").chunks}
    assert scopes == {"", "name_0"}


def test_a_file_with_a_deep_place_is_not_looked_through_from_each_of_its_levels():
    deep = "x" + "\n.add(item)" * 1_000 + ";\n"
    assert not parse_text(deep + "function f() {}\n" * 9_000, "javascript").outline.is_sound


CUT = """
from memory_sidecar.chunking.chunk import chunk_text

rest = "one two three\\n" * 200
for text, language in (
    ("> " * 400 + rest, "markdown"),
    ("- " * 400 + rest, "markdown"),
    ("1. " * 400 + rest, "markdown"),
    ("".join(" " * n + "- a\\n" for n in range(90)) + " " * 90 + "- " * 300 + rest, "markdown"),
    ("---\\na: b\\nc: " + "- " * 400 + "\\n" + "- " * 400 + rest + "---\\n", "markdown"),
    ("- " * 400 + rest, "yaml"),
    ("? " * 400 + rest, "yaml"),
    ("x = <<" + "A" * 300 + "\\n" + rest + "A" * 300 + "\\n", "ruby"),
    ('x = <<~"' + "A " * 150 + '"\\n' + rest + "A " * 150 + "\\n", "ruby"),
):
    assert "".join(chunk.code for chunk in chunk_text(text, language)).count("three") == 200
"""


def test_text_that_a_grammar_of_the_splitter_ends_the_process_for_is_cut_as_plain():
    subprocess.run([sys.executable, "-c", CUT], check=True)


@pytest.mark.parametrize(
    ("language", "text", "cut_as"),
    [
        ("csharp", " = new(1);" * 20 + "\n", None),
        ("csharp", "Use(cart, 1);\n", "csharp"),
        ("markdown", "- [one](two) three\n", "markdown"),
    ],
)
def test_what_our_parser_gives_up_is_not_parsed_by_the_splitter(
    language, text, cut_as, monkeypatch
):
    asked, splitter = [], lines._splitter()

    class Recorder:
        def split(self, *arguments):
            asked.append(arguments[-1])
            return splitter.split(*arguments)

    monkeypatch.setattr(lines, "_splitter", Recorder)
    rows = Lines(text * (12_000 // len(text)))
    split(rows, (0, len(rows.rows)), language)
    assert asked == [cut_as]
