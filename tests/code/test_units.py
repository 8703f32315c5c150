"""What a stub of Python declares, or Kotlin expects, is what is defined elsewhere."""

from __future__ import annotations

from functools import partial

import pytest

from tests.code.trees import hits_in, told_in, write_tree
from tests.conftest import run_in

FILES = {
    "shop/__init__.py": "from ._make import order\n",
    "shop/__init__.pyi": "def order(item: str) -> int: ...\ndef later() -> int: ...\n",
    "shop/_make.py": "def order(item): ...\n",
    "shop/cart.py": "class Cart:\n    def add(self, item): ...\n",
    "shop/cart.pyi": "class Cart:\n    def add(self, item: str) -> None: ...\n",
    "other/_base.pyi": "def order(item: str) -> int: ...\n",
    "till.py": "import shop\nfrom shop import later\n\nshop.order(1)\nlater()\n",
    "test_make.py": "import shop\nfrom shop._make import (\n    order,\n)\n\norder(1)\n",
    "use.py": "from shop.cart import Cart\n\ncart = Cart()\ncart.add(1)\n",
}


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("stubs")
    write_tree(root, FILES)
    return partial(told_in(root), "refs")


def test_what_a_package_exports_is_used_where_its_module_defines_it(refs):
    used = [
        "shop/__init__.py:1 exact",
        "test_make.py:3 exact",
        "test_make.py:6 exact",
        "till.py:4 likely",
    ]
    assert refs("shop/_make.py:1") == refs("shop/__init__.pyi:1") == used
    assert refs("other/_base.pyi:1") == []


def test_a_class_is_one_with_its_stub(refs):
    assert refs("shop/cart.py:1") == refs("shop/cart.pyi:1") == ["use.py:1 exact", "use.py:3 exact"]
    assert refs("Cart.add") == ["use.py:4 likely"]


def test_what_a_stub_alone_declares_is_found_there(refs):
    assert refs("later") == ["till.py:2 exact", "till.py:5 exact"]


def test_a_definition_and_its_stub_are_the_one_meant(tmp_path):
    write_tree(tmp_path, FILES)
    hits = hits_in(tmp_path)("def", "shop.cart.Cart")
    assert [(each["filename"], each["confidence"]) for each in hits] == [
        ("shop/cart.py", "exact"),
        ("shop/cart.pyi", "exact"),
    ]


def test_a_map_shows_no_stub_beside_its_module(tmp_path):
    use = "from shop._fast import tally\n\ntally()\n"  # a compiled module has no other text
    write_tree(tmp_path, FILES | {"shop/_fast.pyi": "def tally() -> int: ...\n", "sum.py": use})
    run = run_in(tmp_path)
    run("index", tmp_path, "--wait", "keyword")
    shown = {each["filename"] for each in run("map", "--json").json}
    assert {"shop/_make.py", "shop/cart.py", "shop/_fast.pyi"} <= shown
    assert not {"shop/__init__.pyi", "shop/cart.pyi"} & shown


def test_what_is_private_is_used_in_its_own_file_only(tmp_path):
    kinds = "class A { private void Go() {} void B() { Go(); } }\n"
    partial = "partial class P { private void Go() {} private protected int Sum; }\n"
    write_tree(
        tmp_path,
        {
            "A.cs": f"{kinds}class C {{ void D(dynamic one) {{ one.Go(); }} }}\n",
            "B.cs": "class E { void F(dynamic one) { one.Go(); one.Sum++; } }\n",
            "P.cs": partial,
            "A.java": "class Api { private void run() {} void b(Api api) { api.run(); } }\n",
            "B.java": "class B { void run() {} void c(Object any) { any.run(); } }\n",
        },
    )
    write_tree(
        tmp_path,
        {
            "Cart.kt": "class Cart private constructor(val sum: Int) { companion object }\n",
            "Use.kt": "fun use(cart: Cart) {}\n",
        },
    )
    ask = told_in(tmp_path)
    assert ask("refs", "Cart") == ["Use.kt:1 exact"]
    assert ask("refs", "A.Go") == ["A.cs:1 exact", "A.cs:2 by name"]
    assert ask("refs", "P.Go") == ["A.cs:2 by name", "B.cs:1 by name"]
    assert ask("refs", "P.Sum") == ["B.cs:1 by name"]
    assert ask("refs", "Api.run") == ["A.java:1 exact"]


def test_what_kotlin_expects_is_one_with_what_each_platform_has(tmp_path):
    shared = "expect object Tools {\n    fun id(): String\n}\n\nexpect fun Tools.stamp(): Long\n"
    actual = shared.replace("expect", "actual").replace("fun id", "actual fun id")
    write_tree(
        tmp_path / "shop",
        {
            "common/Tools.kt": f"package shop\n\n{shared}",
            "jvm/Tools.jvm.kt": f"package shop\n\n{actual}",
            "js/Tools.js.kt": f"package shop\n\n{actual}",
            "common/Cart.kt": "package shop\n\nval id = Tools.id()\nval stamp = Tools.stamp()\n",
        },
    )
    told = told_in(tmp_path / "shop")
    assert told("def", "Tools.id") == [
        "common/Tools.kt:4 exact",
        "js/Tools.js.kt:4 exact",
        "jvm/Tools.jvm.kt:4 exact",
    ]
    assert told("refs", "Tools.id") == ["common/Cart.kt:3 exact"]
    assert told("refs", "stamp") == ["common/Cart.kt:4 likely"]
