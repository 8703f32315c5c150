"""What belongs to a class: its constructors are called where the class is."""

from __future__ import annotations

import pytest

from tests.code.trees import write_tree


@pytest.mark.parametrize(
    ("name", "constructor", "text"),
    [
        (
            "a.cs",
            "Cart.Cart",
            "class Cart\n{ public Cart(int n) {} }\nclass U { Cart c = new(1); }\n",
        ),
        (
            "A.java",
            "Cart.Cart",
            "class Cart\n{ Cart(int n) {} }\nclass U { Cart c = new Cart(1); }\n",
        ),
        ("a.kt", "Cart.constructor", "class Cart {\n constructor(n: Int) {} }\nval c = Cart(1)\n"),
        ("a.py", "Cart.__init__", "class Cart:\n  def __init__(self): pass\nc = Cart()\n"),
        (
            "a.ts",
            "Cart.constructor",
            "class Cart {\n constructor() {} }\nexport const c = new Cart();\n",
        ),
        (
            "a.php",
            "Cart.__construct",
            "<?php class Cart {\n function __construct() {} }\n$c = new Cart();\n",
        ),
        ("a.cpp", "Cart.Cart", "class Cart {\n Cart(int n) {} };\nauto c = new Cart(1);\n"),
        ("a.swift", "Cart.init", "class Cart {\n init() {} }\nlet c = Cart()\n"),
    ],
)
def test_who_makes_an_object_calls_the_constructor(run, tmp_path, name, constructor, text):
    write_tree(tmp_path, {name: text, f"types_{name}": ""})
    assert run("index", tmp_path, "--wait", "keyword").status == 0

    def callers(what: str) -> list[int]:
        return [hit["start_line"] for hit in run("callers", what, "--json", cwd=tmp_path).json]

    assert callers(constructor) == [3]
    assert callers("Cart") == [3]  # each place once
