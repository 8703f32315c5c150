"""Where source code is cut, and what its chunks know about themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memory_sidecar.chunking.chunk import chunk_text
from memory_sidecar.chunking.lines import MAX_BYTES, MIN_BYTES
from memory_sidecar.core.model import Chunk


def sizes(chunks: tuple[Chunk, ...]) -> list[int]:
    return [len(chunk.code.encode()) for chunk in chunks]


def holding(chunks: tuple[Chunk, ...], text: str) -> Chunk:
    """The one chunk with `text` in it."""
    (found,) = [chunk for chunk in chunks if text in chunk.code]
    return found


def csharp_class(name: str, *, methods: int) -> str:
    body = "\n".join(
        f"""
    /// <summary>Adds number {number} to the {name}.</summary>
    /// <param name="count">How many.</param>
    [Pure, Obsolete("use {number + 1}")]
    public int {name}Add{number}(int count)
    {{
        var sum = {number} + count;
        for (var index = 0; index < count; index++)
        {{
            sum += index * {number};
        }}
        return sum;
    }}"""
        for number in range(methods)
    )
    return f"/// <summary>The {name}.</summary>\npublic class {name}\n{{{body}\n}}\n"


def test_small_file_is_one_chunk_with_all_its_symbols():
    (chunk,) = chunk_text("import os\n\n\ndef a():\n    pass\n\n\nclass B:\n    x = 1\n", "python")
    assert (chunk.start_line, chunk.end_line) == (1, 9)
    assert chunk.symbols == ("a", "B", "x")
    assert (chunk.scope, chunk.signature) == ("", "")


def test_csharp_documentation_stays_with_its_member():
    text = "using System;\n\nnamespace Shop;\n\n" + csharp_class("Cart", methods=12)
    chunks = chunk_text(text, "csharp")
    assert len(chunks) > 3
    for number in range(12):
        chunk = holding(chunks, f"number {number} to")
        assert f"int CartAdd{number}(" in chunk.code
        assert f"CartAdd{number}" in chunk.symbols
    inside = chunks[1]
    assert inside.scope == "Shop.Cart"
    assert inside.signature == f"public int {inside.symbols[0]}(int count)"
    assert inside.code.lstrip().startswith("/// <summary>Adds number")


def test_methods_of_a_class_share_chunks_with_each_other_only():
    text = csharp_class("Cart", methods=5) + "\n" + csharp_class("Shop", methods=5)
    for chunk in chunk_text(text, "csharp"):
        assert not ("CartAdd" in chunk.code and "ShopAdd" in chunk.code)


def test_closing_brackets_are_no_chunk():
    chunks = chunk_text(f"namespace A\n{{\n{csharp_class('Cart', methods=9)}}}\n", "csharp")
    assert min(sizes(chunks)) >= MIN_BYTES
    assert chunks[-1].code.endswith("}\n}\n}")


def test_large_method_is_split_and_knows_where_it_lies():
    body = "\n".join(f"        total += compute(item, {number})" for number in range(150))
    text = (
        f"class Cart:\n    def add(self, item):\n        total = 0\n{body}\n        return total\n"
    )
    chunks = chunk_text(text, "python")
    assert len(chunks) > 3
    assert max(sizes(chunks)) <= MAX_BYTES
    assert chunks[0].symbols == ("Cart", "add")
    for chunk in chunks[1:]:
        assert chunk.scope == "Cart.add"
        assert chunk.signature == "def add(self, item)"
        assert chunk.symbols == ()


def test_chunk_in_the_midst_of_a_module_says_only_what_module_that_is():
    prose = "".join(f"  A line of documentation, number {number}.\n" for number in range(80))
    doc = f'  @moduledoc """\n{prose}  """\n'
    source = f"defmodule Shop.Cart do\n{doc}\n  def add(cart), do: cart\nend\n"
    first, *inner, last = chunk_text(source, "elixir")
    assert (first.symbols, first.signature) == (("Cart",), "defmodule Shop.Cart")
    assert {(chunk.scope, chunk.signature) for chunk in inner} == {("Shop.Cart", "")}
    assert (last.scope, last.symbols) == ("Shop.Cart", ("add",))


def test_gdscript_is_cut_between_functions():
    functions = "".join(
        f"""
## Moves by {number}.
##
## Called every frame.
@rpc("any_peer")
func move_{number}(delta: float) -> void:
\tvelocity = Vector2({number}, delta)
\tif velocity.length() > {number}:
\t\tvelocity = velocity.normalized() * {number}
\tmove_and_slide()

"""
        for number in range(12)
    )
    text = f"class_name Player\nextends Node2D\n\nsignal hurt(amount)\n\n{functions}"
    chunks = chunk_text(text, "gdscript")
    assert chunks[0].symbols[:3] == ("Player", "hurt", "move_0")
    for number in range(12):
        chunk = holding(chunks, f"## Moves by {number}.\n")
        assert f"func move_{number}(" in chunk.code
        assert f"* {number}\n\tmove_and_slide()" in chunk.code
    assert chunks[1].scope == "Player"
    assert chunks[1].code.startswith("## Moves by")
    assert chunks[1].signature == f"func {chunks[1].symbols[0]}(delta: float) -> void"


@pytest.mark.parametrize("line_break", ["\r\n", "\r"])
def test_line_breaks_of_other_systems_count_the_same(line_break):
    text = csharp_class("Cart", methods=9)
    assert chunk_text(text.replace("\n", line_break), "csharp") == chunk_text(text, "csharp")


def test_form_feed_and_unicode_breaks_are_no_lines():
    (chunk,) = chunk_text("a = 1\f\nb = '\u2028\x85\v'\n\f\ndef c(): pass\n", "python")
    assert (chunk.start_line, chunk.end_line, chunk.symbols) == (1, 4, ("a", "b", "c"))


def test_one_long_line_stays_one_chunk():
    chunks = chunk_text("x = 1\n" + "data = '" + "x" * 5_000 + "'\ny = 2\n", "python")
    assert [chunk.end_line - chunk.start_line for chunk in chunks if len(chunk.code) > 4_000] == [0]


@pytest.mark.parametrize(("language", "before"), [("c", "static int "), ("lua", "local ")])
def test_one_statement_may_define_a_thousand_names(language, before):
    names = [f"name_{number}" for number in range(1000)]
    chunks = chunk_text(before + ",\n  ".join(names) + ";\n", language)
    assert "".join(chunk.code.rstrip() for chunk in chunks).count("name_") == 1000
    assert max(sizes(chunks)) <= MAX_BYTES


def test_same_chunks_from_many_threads():
    texts = [(csharp_class(f"C{n}", methods=n), "csharp") for n in range(12)]
    texts += [(f"def f{n}():\n" + "    x = 1\n" * 300, "python") for n in range(12)]
    expected = [chunk_text(*text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: chunk_text(*text), texts * 3)) == expected * 3


@pytest.mark.parametrize("language", ["csharp", "java", "python", "javascript", "cpp", "bash"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("(\n" * 10_000, id="open parentheses"),
        pytest.param("(" * 10_000 + ")" * 10_000, id="nested parentheses"),
        pytest.param("a<b<\n" * 5_000, id="ambiguous at every token"),
        pytest.param("x" * 1_000_000, id="1 MB on one line"),
        pytest.param("\0" * 100_000, id="NUL"),
        pytest.param("class A { void f() {} } " * 500 + "\n\n", id="all on one line"),
        pytest.param("/* a */\n" + "var f = function() {}; " * 2_000 + "\n", id="minified"),
        pytest.param("namespace a {\n" * 3_000, id="nested namespaces"),
    ],
)
def test_text_that_nobody_wrote_comes_through(language, text):
    chunks = chunk_text(text, language)
    assert sum(len(chunk.code.split("\n")) for chunk in chunks) == len(
        text.rstrip("\n").split("\n")
    )
