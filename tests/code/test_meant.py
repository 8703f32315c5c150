"""How a use is written tells what it may mean at all."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "Kinds.cs": (
        "namespace Shop;\nenum Mode { Cash, Card }\nclass Bill\n{\n    public int Card;\n}\n"
        "class Total\n{\n    public Total(int of) {}\n    public class Line\n    {\n    }\n}\n"
        "class Order\n{\n    public Total Total;\n    public int Line;\n}\n"
        "class Sum : Total\n{\n}\n"
    ),
    "Uses.cs": (
        "namespace Shop;\nclass Uses\n{\n    void A(dynamic one)\n    {\n"
        "        Pay(Mode.Card, Other.Card, one.Card, make().Card);\n"
        "        Pay(one.Total, new Shop.Total(1));\n"
        "        Pay(new Total.Line(), new Sum.Line(), one.Line);\n    }\n}\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Mode.Card", ["Uses.cs:6 exact"]),
        ("Bill.Card", ["Uses.cs:6 by name"]),
        (
            "Shop.Total",
            ["Kinds.cs:16 exact", "Kinds.cs:19 exact", "Uses.cs:7 exact", "Uses.cs:8 exact"],
        ),
        ("Order.Total", ["Uses.cs:7 by name"]),
        ("Total.Line", ["Uses.cs:8 exact", "Uses.cs:8 likely"]),
        ("Order.Line", ["Uses.cs:8 by name"]),
    ],
)
def test_in_c_sharp_no_type_and_no_constant_stands_behind_a_variable(tmp_path, name, uses):
    write_tree(tmp_path, FILES)
    assert told_in(tmp_path)("refs", name) == uses


def test_a_property_of_php_is_no_method_unless_nothing_else_has_its_name(tmp_path):
    cart = (
        "<?php\nclass Cart {\n    private bool $paid;\n"
        "    function paid() { $this->paid = true; return $this->paid(); }\n"
        "    function owner() { return $this->owner; }\n}\n"
    )
    write_tree(tmp_path, {"Cart.php": cart})
    ask = told_in(tmp_path)
    assert ask("refs", "Cart.php:3") == ["Cart.php:4 exact"]
    assert ask("callers", "Cart.php:4") == ["Cart.php:4 exact"]
    assert ask("refs", "Cart.php:5") == ["Cart.php:5 by name"]


def test_a_type_of_cpp_is_no_method_of_its_name(tmp_path):
    date = (
        "class month {};\nclass date {\n  date(const month& m);\n  int month() const;\n"
        "  int all() { return month(); }\n};\n"
    )
    write_tree(tmp_path, {"date.cpp": date})
    ask = told_in(tmp_path)
    assert ask("refs", "date.cpp:1") == ["date.cpp:3 exact"]
    assert ask("refs", "date.cpp:4") == ["date.cpp:5 exact"]


def test_beside_a_field_of_its_name_a_method_is_meant_by_calls_only(tmp_path):
    java = "class Cart {\n  int total;\n  int total() { return total; }\n"
    java += "  int twice(Cart other) { return total() + other.total; }\n}\n"
    rust = "struct Cart {\n  total: u8\n}\nimpl Cart {\n  fn total(&self) -> u8 { self.total }\n"
    rust += "  fn twice(&self) -> u8 { self.total() }\n}\n"
    write_tree(tmp_path, {"Cart.java": java, "cart.rs": rust})
    ask = told_in(tmp_path)
    assert ask("refs", "Cart.java:2") == ["Cart.java:3 exact", "Cart.java:4 exact"]
    assert ask("refs", "Cart.java:3") == ["Cart.java:4 exact"]
    assert ask("refs", "cart.rs:2") == ["cart.rs:5 exact"]
    assert ask("refs", "cart.rs:5") == ["cart.rs:6 exact"]


def test_what_a_variable_has_is_not_of_a_variable_of_its_name_in_another_file(tmp_path):
    own = "class Own {\n  Cart cart = new Cart() { public int total() { return 1; } };\n}\n"
    other = "class Other {\n  int all(Basket cart) { return cart.total(); }\n}\n"
    write_tree(tmp_path, {"Own.java": own, "Other.java": other})
    assert told_in(tmp_path)("refs", "Own.cart.total") == ["Other.java:2 by name"]
