"""What belongs to a class: its constructors are called where the class is."""

from __future__ import annotations

from functools import partial

import pytest

from tests.code.trees import hits_in, told_in, write_tree


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
        (
            "a.rb",
            "Cart.initialize",
            "class Cart\n def initialize(n); end; end\nc = Cart.new(1)\nCart.newest\n",
        ),
        ("a.cpp", "Cart.Cart", "class Cart {\n Cart(int n) {} };\nauto c = new Cart(1);\n"),
        ("a.swift", "Cart.init", "class Cart {\n init() {} }\nlet c = Cart()\n"),
    ],
)
def test_who_makes_an_object_calls_the_constructor(tmp_path, name, constructor, text):
    write_tree(tmp_path, {name: text, f"types_{name}": ""})
    hits = hits_in(tmp_path)
    for what in (constructor, "Cart"):
        assert [hit["start_line"] for hit in hits("callers", what)] == [3]  # each place once


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        (
            "a.py",
            "class Coin:\n  def pay(self): pass\n  def buy(self): self.pay()\n"
            "class Penny(Coin):\n  def pay(self): super().pay()\n"
            "class Euro(Coin):\n  def sell(self): self.pay()\n"
            "class Dime(Penny):\n  def sell(self): self.pay()\n",
            {3: "likely", 9: "exact"},
        ),
        (
            "A.java",
            "interface Coin { void pay(); }\nclass Penny implements Coin {\n"
            "  public void pay() {} }\nclass Shop {\n  void buy(Coin coin) { coin.pay(); } }\n",
            {5: "likely"},
        ),
        (
            "a.cs",
            "abstract class Coin {\n abstract void Pay();\n void Buy() { Pay(); } }\n"
            "class Penny : Coin {\n override void Pay() {} }\n",
            {3: "likely"},
        ),
        (
            "a.ts",
            "abstract class Coin {\n  abstract pay(): void;\n  buy() { this.pay(); }\n}\n"
            "class Penny extends Coin {\n  pay() {}\n}\n",
            {3: "likely"},
        ),
        (
            "a.php",
            "<?php\nabstract class Coin {\n abstract function pay();\n"
            " function buy() { $this->pay(); } }\nclass Penny extends Coin {\n"
            " function pay() { parent::pay(); } }\n",
            {4: "likely"},
        ),
        (
            "a.swift",
            "class Coin {\n func pay() {}\n func buy() { self.pay() } }\n"
            "class Penny: Coin {\n override func pay() {} }\n",
            {3: "likely"},
        ),
        (
            "a.rb",
            "class Coin\n  def pay; end\n  def buy; self.pay(); end\nend\n"
            "class Penny < Coin\n  def pay; end\nend\n",
            {3: "likely"},
        ),
        (
            "a.kt",
            "open class Coin {\n open fun pay() {}\n fun buy() { this.pay() } }\n"
            "class Penny : Coin() {\n override fun pay() {} }\n",
            {3: "likely"},
        ),
        (
            "a.cpp",
            "struct Coin {\n virtual void pay() {}\n void buy() { this->pay(); } };\n"
            "struct Penny : Coin {\n void pay() override {} };\n",
            {3: "likely"},
        ),
        (
            "a.rs",
            "pub trait Coin {\n fn pay(&self);\n fn buy(&self) { self.pay(); } }\nstruct Penny;\n"
            "impl<T> fmt::Coin<T> for crate::Penny {\n fn pay(&self) {} }\n",
            {3: "likely"},
        ),
    ],
)
def test_what_calls_a_method_of_a_base_likely_calls_what_overrides_it(tmp_path, name, text, lines):
    write_tree(tmp_path, {name: text})
    asked = "Penny.Pay" if name == "a.cs" else "Penny.pay"
    found = {hit["start_line"]: hit["confidence"] for hit in hits_in(tmp_path)("callers", asked)}
    assert found == lines


FILES = {
    "lib/Base.cs": (
        "namespace Lib.Core;\npublic class Base { protected void Send() {} }\n"
        "public partial class Part { public void First() {} }\npublic class Task {}\n"
    ),
    "lib/Other.cs": (
        "namespace Lib.Other;\npublic delegate void Send();\n"
        "public class Some { public static int Guid() => 1; public class T {} }\n"
    ),
    "lib/Part.cs": "namespace Lib.Core;\npublic partial class Part : Base { }\n",
    "lib/More.cs": (
        "namespace Lib.Core\n{\n    public partial class Part\n    {\n"
        "        void Go() { Send(); First(); }\n    }\n}\n"
    ),
    "app/Child.cs": (
        "using Lib.Core;\nusing Lib.Other;\nnamespace App;\nclass Child<T> : Base\n{\n"
        "    void Run(T x) { Send(); new Guid(); Part p; Task t; }\n}\n"
    ),
    "app/Task.cs": "namespace App;\nclass Task {}\n",
    "far/Use.cs": "using System.Core;\nnamespace Far;\nclass Use { Task t; Part p; }\n",
    "a/Words.java": (
        "package a;\npublic class Words { public static String String() { return null; } }\n"
    ),
    "b/Top.java": "package b;\npublic class Top { void close() {} }\n",
    "b/Low.java": (
        "package b;\nimport a.Words;\nclass Low extends Top {\n  String s = String.valueOf(1);\n"
        "  void end() { close(); }\n}\n"
    ),
    "c/Other.java": "package c;\nclass Other { void close() {} }\n",
}


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("classes")
    write_tree(root, FILES)
    return partial(told_in(root), "refs")


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Base.Send", ["app/Child.cs:6 exact", "lib/More.cs:5 exact"]),
        ("Other.Send", []),  # what is inherited comes before a type
        ("Part.First", ["lib/More.cs:5 exact"]),
        ("Some.Guid", []),
        ("Some.T", []),
        ("Words.String", []),
        ("Top.close", ["b/Low.java:5 exact"]),
        ("Other.close", []),
    ],
)
def test_a_bare_name_is_a_member_of_the_classes_around_it_and_their_bases(refs, name, uses):
    assert refs(name) == uses


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Part", ["app/Child.cs:6 exact", "far/Use.cs:3 likely"]),
        ("App.Task", ["app/Child.cs:6 exact", "far/Use.cs:3 by name"]),
        ("Core.Task", ["far/Use.cs:3 by name"]),
    ],
)
def test_a_class_of_csharp_is_told_by_the_namespaces_that_a_file_sees(refs, name, uses):
    assert refs(name) == uses


def test_what_a_namespace_is_called_is_no_part_of_a_query(tmp_path):
    files = {
        "odd/Item.cs": "namespace A./* it's */B.C { public class Item {} }\n",
        "odd/Other.cs": "namespace D { public class Item {} }\n",
        "odd/Use.cs": "using D;\nnamespace E { class Use { Item i; } }\n",
    }
    write_tree(tmp_path, files)
    assert told_in(tmp_path)("refs", "D.Item") == ["odd/Use.cs:2 exact"]


MORE = {
    "core/Usings.cs": "global using Shop.Tax;\n",
    "core/Rate.cs": "namespace Shop.Tax;\npublic class Rate\n{\n    public class Zone {}\n}\n",
    "core/Bill.cs": (
        "namespace Shop;\nclass Bill\n{\n    Rate rate; Rate.Zone zone;\n"
        "    protected Bill(int n) {}\n    int Parse(string s) => int.Parse(s);\n"
        "    bool Is(object o) => o is Bill { Total: 1 };\n    int Total;\n}\n"
    ),
    "core/Large.cs": "namespace Shop;\nclass Large : Bill\n{\n    Large() : base(1) {}\n}\n",
    "far/Use.cs": "namespace Far;\nclass Use { Rate rate; }\n",
    "core/Ref.cs": "namespace Shop;\nclass Ref\n{\n    public void Tell() {}\n}\n",
    "core/Actor.cs": (
        "namespace Shop;\nclass Actor\n{\n    Ref Self;\n    void Tell() {}\n"
        "    void Go() { Self.Tell(); }\n}\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("Rate", ["core/Bill.cs:4 exact", "far/Use.cs:2 likely"]),
        ("Bill.Bill", ["core/Large.cs:4 exact"]),
        ("Bill.Parse", []),
        ("Bill.Total", ["core/Bill.cs:7 exact"]),
        ("Actor.Self", ["core/Actor.cs:6 exact"]),  # no keyword there
    ],
)
def test_what_csharp_implies_is_a_use(tmp_path, name, uses):
    """A global using, the base that a constructor calls, the class of a pattern; not `int`."""
    write_tree(tmp_path, MORE)
    assert told_in(tmp_path)("refs", name) == uses


OBJECTS = {
    "runner.js": (
        "function Runner() {\n  this.begin()\n}\n"
        "Runner.prototype.begin = function () {\n  this.fail()\n}\n"
        "Runner.prototype.fail = function () {\n  each(function () { this.begin() })\n}\n"
    ),
    "api.js": "const api = {\n  fetch() {},\n  list() { return this.fetch() },\n}\n",
    "suite.js": (
        "class Suite {\n  run() { this.hook() }\n}\nSuite.prototype.hook = function () {}\n"
    ),
    "cart.js": "function Cart() {}\nCart.prototype.sum = function () { this.merge() }\n",
    "merge.js": "export function merge() {}\n",
    "metric.lua": (
        "local Metric = class()\nfunction Metric:count(n) end\n"
        "function Metric:all(nodes)\n  self:count(1)\n  self.count(self, 2)\nend\n"
    ),
    "other.lua": "local Other = class()\nfunction Other:all(nodes)\n  self:count(1)\nend\n",
}


@pytest.fixture(scope="module")
def loose(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("objects")
    write_tree(root, OBJECTS)
    return partial(told_in(root), "refs")


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("begin", ["runner.js:2 exact", "runner.js:8 exact"]),
        ("fail", ["runner.js:5 exact"]),
        ("fetch", ["api.js:3 exact"]),
        ("hook", ["suite.js:2 exact"]),
        ("merge", ["cart.js:2 by name"]),  # Cart may have got it from anywhere
        ("count", ["metric.lua:4 exact", "metric.lua:5 exact", "other.lua:3 by name"]),
    ],
)
def test_an_object_that_gets_its_functions_one_by_one_has_members(loose, name, uses):
    assert sorted(loose(name)) == sorted(uses)


def test_a_class_without_a_name_has_the_base_that_its_variable_or_method_is_of(tmp_path):
    use = (
        "class Use {\n"
        "  static final Cart EMPTY = new Cart() {\n    int total() { return 0; }\n  };\n"
        "  Cart make() {\n    return new Cart() { int total() { return 1; } };\n  }\n"
        "  int all(Cart cart) { return cart.total(); }\n}\n"
    )
    plan = "enum Plan {\n  FREE { int days() { return 1; } };\n  abstract int days();\n"
    plan += "  static int of(Plan plan) { return plan.days(); }\n}\n"
    cart = "abstract class Cart { abstract int total(); }\n"
    write_tree(tmp_path, {"Cart.java": cart, "Use.java": use, "Plan.java": plan})
    ask = told_in(tmp_path)
    assert ask("refs", "Use.EMPTY.total") == ask("refs", "Use.make.total") == ["Use.java:8 likely"]
    assert ask("refs", "Plan.FREE.days") == ["Plan.java:4 likely"]
