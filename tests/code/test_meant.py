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
