"""What a variable has: the type that a signature declares it with tells its members apart."""

from __future__ import annotations

import time

import pytest

from tests.code.trees import hits_in, told_in, write_tree

FILES = {
    "Refs.cs": (
        "namespace Lib;\ninterface IRef\n{\n    void Tell(object o, IRef sender);\n}\n"
        "class Log\n{\n    public void Tell(object o) {}\n    public void Warn() {}\n}\n"
        "class Meter\n{\n    public void Warn() {}\n    public int Count;\n}\n"
        "static class Extensions\n{\n    public static void Tell(this IRef to, object o) {}\n}\n"
    ),
    "Actor.cs": (
        "namespace Lib;\nclass Actor\n{\n    protected IRef Self { get; }\n"
        "    readonly Meter _all;\n"
        "    void A(Log sink) { sink.Warn(); sink.Tell(1); }\n"
        "    void B() { _all.Warn(); }\n    void C<T>(T one) { one.Warn(); }\n}\n"
    ),
    "Child.cs": "namespace Lib;\nclass Child : Actor\n{\n    void D() { Self.Tell(2); }\n}\n",
    "One.java": (
        "class One {\n  void go() {}\n}\nclass Two {\n  void go() {}\n}\n"
        "class Three extends Two {}\n"
        "class Use {\n  private final Three tool;\n"
        "  void a() { tool.go(); }\n  void b(One tool) { tool.go(); }\n}\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Log.Warn", ["Actor.cs:6 exact", "Actor.cs:8 by name"]),
        ("Meter.Warn", ["Actor.cs:7 exact", "Actor.cs:8 by name"]),
        ("Log.Tell", ["Actor.cs:6 exact"]),
        ("IRef.Tell", ["Child.cs:4 likely"]),
        ("Extensions.Tell", ["Child.cs:4 likely"]),
        ("One.go", ["One.java:11 exact"]),
        ("Two.go", ["One.java:10 exact"]),
    ],
)
def test_a_member_is_of_the_type_that_its_variable_is_declared_with(tmp_path, name, uses):
    write_tree(tmp_path, FILES)
    assert told_in(tmp_path)("callers", name) == uses


def test_a_variable_is_declared_by_any_head_around_it(tmp_path):
    uses = (
        "namespace Lib;\nclass Box<T>\n{\n    public void Warn() {}\n}\n"
        "record Ship(Log Sink, Meter sinks, Log sink)\n{\n"
        "    void A() { sinks.Warn(); }\n"
        "    void B() { void Go() { sink.Warn(); } }\n"
        "    void C(Meter all, Log one) { void Go() { one.Warn(); } }\n"
        "    void D(List<Meter> all, Box<(Log, int)> box) { box.Warn(); }\n}\n"
    )
    write_tree(tmp_path, {"Refs.cs": FILES["Refs.cs"], "Ship.cs": uses})
    ask = told_in(tmp_path)
    assert ask("callers", "Meter.Warn") == ["Ship.cs:8 exact"]
    assert ask("callers", "Log.Warn") == ["Ship.cs:9 exact", "Ship.cs:10 exact"]
    assert ask("callers", "Box.Warn") == ["Ship.cs:11 exact"]


def test_of_classes_that_differ_in_case_a_variable_is_of_the_first(tmp_path):
    names = ("decMode", "encMode", "tagMode", "simMode", "cutMode", "mapMode")
    both = "type {1} interface {{\n\tRun{0}()\n}}\n\ntype {0} struct{{}}\n"
    does = "func ({0}) Run{0}() {{}}\n"
    tried = "func Try{0}(last{1} any) {{\n\tlast{1}.Run{0}()\n\tvar _ {1} = {0}{{}}\n}}\n"
    texts = [part.format(n, f"{n[:3].title()}Mode") for n in names for part in (both, does, tried)]
    write_tree(tmp_path, {"mode.go": "package mode\n\n" + "\n".join(texts)})
    ask = hits_in(tmp_path)
    assert {ask("callees", f"Try{n}")[0]["enclosing"][0] for n in names} == set("DETSCM")


BEHIND = {
    "shop/cart.go": (
        "package shop\ntype Item interface {\n\tPrice() int\n\tName() string\n}\n"
        "type Cart struct {\n\ttotal int\n\tlast *Gift\n}\n"
        "type Gift struct{ total int }\n"
        "func (g *Gift) Price() int { return g.total }\n"
        "func (g *Gift) Name() string { return `` }\n"
        "func (c *Cart) Price() int { return c.last.Price() }\n"
        "func all(a, b *Cart, item Item) int { return b.total + item.Price() }\n"
    ),
    "other/cart.go": (
        "package other\nimport `x/shop`\ntype Cart struct { total int }\n"
        "func of(c *shop.Cart, d *Cart) int { return c.total + d.total }\n"
    ),
    "src/cart.rs": (
        "pub struct Bag { price: u8 }\npub struct Box { price: u8 }\n"
        "fn all(one: &'a mut Bag, two: Option<Box>) { one.price; two.price; }\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("shop/cart.go:7", ["shop/cart.go:14 exact", "other/cart.go:4 exact"]),
        ("Gift.total", ["shop/cart.go:11 exact"]),
        ("other/cart.go:3", ["other/cart.go:4 exact"]),
        ("Item.Price", ["shop/cart.go:14 exact"]),
        ("Gift.Price", ["shop/cart.go:13 likely", "shop/cart.go:14 likely"]),
        ("Cart.Price", []),
        ("Bag.price", ["src/cart.rs:3 exact", "src/cart.rs:3 by name"]),
        ("Box.price", ["src/cart.rs:3 by name"]),
    ],
)
def test_a_type_may_stand_behind_its_variable(tmp_path, name, uses):
    write_tree(tmp_path, BEHIND)
    assert sorted(told_in(tmp_path)("refs", name)) == sorted(uses)


def test_a_variable_of_another_function_is_of_another_type(tmp_path):
    go = "package a\ntype One struct{ n int }\ntype Two struct{ n int }\n"
    go += "func first(c *One) { c.n = 1 }\nfunc second(c *Two) { c.n = 2 }\n"
    write_tree(tmp_path, {"a/one.go": go})
    ask = told_in(tmp_path)
    assert ask("refs", "One.n") == ["a/one.go:4 exact"]
    assert ask("refs", "Two.n") == ["a/one.go:5 exact"]


def test_the_types_that_implement_an_interface_are_found_once_for_a_name(tmp_path):
    kinds = [
        f"type T{n} struct{{}}\nfunc (t *T{n}) String() int {{ return 1 }}" for n in range(900)
    ]
    kinds += [f"type I{n} interface {{\n\tString() int\n\tRun{n}()\n}}" for n in range(300)]
    parts = {f"a{n}.go": "\n".join(["package a", *kinds[n::20]]) for n in range(20)}
    write_tree(
        tmp_path, parts | {"use.go": "package a\nfunc use(t *T1) int { return t.String() }\n"}
    )
    ask = hits_in(tmp_path)
    began_s = time.process_time()
    assert [hit["filename"] for hit in ask("refs", "String")] == ["use.go"]
    assert time.process_time() - began_s < 5  # or minutes
