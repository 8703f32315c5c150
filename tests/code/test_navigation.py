"""From a name to its places: what is found, in which order, and how sure it is said to be."""

from __future__ import annotations

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Callable
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_sidecar.code import absent, query_names
from memory_sidecar.code.navigation import MAX_FOLLOWED
from tests.code.trees import told_in, write_tree
from tests.conftest import run_in
from tests.finished import Finished

SHOP = {
    "shop/cart.py": '''
from shop.money import rounded

class Base:
    def total(self):
        return 0

class Cart(Base):
    """What a customer is about to buy."""

    def add(self, item):
        self.items.append(item)
        return self.total()

    def price(self):
        return rounded(sum(self.items))
''',
    "shop/money.py": """
def rounded(value):
    return round(value, 2)

def open(path):
    return path
""",
    "shop/checkout.py": """
from shop.cart import Cart
from shop import money
import json

def check_out(items):
    cart = Cart()
    for item in items:
        cart.add(item)
    json.dumps(items)
    return pay(money.rounded(cart.price()))

def pay(amount):
    return amount

handlers = [check_out]
""",
    "tests/test_cart.py": """
from shop.cart import Cart

def test_price():
    assert Cart().price() == 0
""",
    "other/basket.py": """
class Basket:
    def add(self, item):
        pass

    def price(self):
        return 1
""",
    "other/dumps.py": "def dumps(value):\n    return value\n",
    "app/Cart.cs": """
namespace App;
public class Cart
{
    public int Add(int item) { return Total(item); }
    private int Total(int item) => item;
}
""",
    "app/Program.cs": """
namespace App;
class Program
{
    static void Main() { var cart = new Cart(); cart.Add(1); }
}
""",
    "web/cart.ts": """
import { rounded } from './money';
export class Cart { price(): number { return rounded(1); } }
""",
    "web/money.ts": "export function rounded(value: number): number { return value; }\n",
    "c/cart.h": "int cart_add(int item);\n",
    "c/cart.c": '#include "cart.h"\nint cart_add(int item) { return item; }\n',
    "c/main.c": '#include "cart.h"\nint main(void) { return cart_add(1); }\n',
    "kit/__init__.py": "from kit.tools import hammer\n",
    "kit/tools.py": "def hammer(): pass\n",
    "other/tools.py": "class Tools:\n    def hammer(self): pass\n",
    "shop/use.py": "import kit\n\nkit.hammer()\n",
    "notes.md": "# Cart\n\nWhat `Cart` is.\n",
    "notes.txt": "What `Cart` is.\n",
}

POWER = {
    "meter.hpp": """
namespace power {
class Meter {
 public:
  int reading() const;
};
class Gauge {
 public:
  int level();
};
int scaled(int value);
}
""",
    "meter.cpp": """
#include "meter.hpp"
namespace power {
int Meter::reading() const { return scaled(1); }
int scaled(int value) { return value; }
}
""",
    "main.cpp": """
#include "meter.hpp"
static int helper() { return 1; }
int main() { power::Meter meter; return meter.reading() + helper(); }
""",
    "other.cpp": """
static int helper() { return 2; }
int other() { return helper(); }
""",
}

Ask = Callable[..., Any]


@pytest.fixture
def shop(tmp_path: Path, known_vectors: None) -> Path:
    root = tmp_path / "shop"
    write_tree(root, SHOP)
    return root


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Runs a command where the project is, which is indexed and stays as it is."""
    folder = tmp_path_factory.mktemp("navigation")
    write_tree(folder / "shop", SHOP)
    return indexed(run_in(folder), folder / "shop")


@pytest.fixture
def own(run: Callable[..., Finished], shop: Path) -> Ask:
    """As `call`, in a project that the test may change."""
    return indexed(run, shop)


def test_a_command_in_a_hint_holds_in_the_folder_where_it_is_printed(own, shop):
    here = shop / "a b"
    here.mkdir()
    told = own("judged", "add", "q", "gone.py", cwd=here).err
    (command,) = re.findall("`memory-sidecar ([^`]*)`", told)
    assert own(*shlex.split(command), "--json", cwd=here).json["path"] == f"{here}/gone.py", told


def indexed(run: Callable[..., Finished], root: Path) -> Ask:
    assert run("index", root, "--wait", "keyword").status == 0
    return partial(run, cwd=root)


@pytest.fixture(scope="module")
def ask(call: Ask) -> Ask:
    """The JSON of a command."""

    def ask(*arguments: object) -> Any:
        done = call(*arguments, "--json")
        assert done.status == 0, done.err
        return done.json

    return ask


def places(hits: list[dict[str, Any]]) -> list[str]:
    return [
        f"{hit['filename']}:{hit['start_line']} {hit['enclosing']} {hit['confidence']}"
        for hit in hits
    ]


def test_a_definition_says_what_it_is_and_where(ask):
    (hit,) = ask("def", "check_out")
    assert hit["signature"] == "def check_out(items)"
    assert (hit["filename"], hit["start_line"], hit["end_line"]) == ("shop/checkout.py", 5, 10)
    assert (hit["kind"], hit["enclosing"], hit["language"]) == ("function", "", "python")
    assert (hit["confidence"], hit["others"]) == ("exact", 0)


def test_one_of_many_definitions_is_named_by_what_encloses_it(ask):
    assert len(ask("def", "Cart")) == 3
    assert places(ask("def", "Cart", "--language", "typescript")) == ["web/cart.ts:2  by name"]
    assert places(ask("def", "Basket.add")) == ["other/basket.py:2 Basket exact"]
    assert places(ask("def", "Basket::add()")) == ["other/basket.py:2 Basket exact"]
    assert places(ask("def", "money.rounded")) == [
        "shop/money.py:1  by name",
        "web/money.ts:1  by name",
    ]


def test_folders_and_modules_may_stand_before_a_name(ask, call):
    for name in ("shop.cart.Cart.add", "shop.Cart.add", "shop::cart::Cart::add"):
        assert places(ask("def", name)) == ["shop/cart.py:10 Cart exact"]
    assert places(ask("def", "kit.hammer")) == ["kit/tools.py:1  exact"]
    for name in ("shop.add", "cart.shop.Cart", "other.Cart.add"):
        assert call("def", name).status == 3


def test_what_a_prototype_has_is_of_what_it_is_the_prototype_of(run, tmp_path):
    (tmp_path / "reply.js").write_text(
        "function Reply () {}\nReply.prototype.send = function () {}\n"
    )
    run("index", tmp_path, "--wait", "keyword")
    for name in ("Reply.send", "Reply.prototype.send"):
        assert run("def", name, "--json", cwd=tmp_path).json[0]["start_line"] == 2


@pytest.mark.parametrize("name", ["log::warn", "git-clean", "_a:b", "git.stat"])
def test_a_function_is_asked_for_as_the_shell_calls_it(run, tmp_path, name):
    (tmp_path / "log.sh").write_text(f"{name}() {{\n  :\n}}\n{name} x\n")
    run("index", tmp_path, "--wait", "keyword")
    assert run("def", name, "--json", cwd=tmp_path).json[0]["start_line"] == 1
    assert run("callers", name, "--json", cwd=tmp_path).json[0]["start_line"] == 4


def test_a_place_is_also_found_in_the_source_that_is_named_or_around(call, tmp_path):
    found = call("refs", "shop/money.py:1", "--json").json
    assert found
    named = call("refs", "shop/money.py:1", "--source", "shop", "--json", cwd=tmp_path)
    assert named.json == found
    root = call.keywords["cwd"]
    assert call("refs", "shop/money.py:1", "--json", cwd=root / "app").json == found
    (hit,) = call("related", "c/cart.c:2", "-n", "1", "--json", cwd=root / "app").json
    assert hit["filename"] != "c/cart.c"


def test_an_import_and_a_call_of_what_it_names_are_exact(ask):
    assert places(ask("refs", "shop/money.py:1")) == [
        "shop/cart.py:1  exact",
        "shop/cart.py:15 Cart.price exact",
        "shop/checkout.py:10 check_out exact",
    ]


@pytest.mark.parametrize("place", ["shop/money.py:1:5", "shop/money.py(1,5)", "shop/money.py#L1"])
def test_a_place_is_one_as_compilers_write_it(ask, place):
    assert places(ask("def", place)) == ["shop/money.py:1  exact"]


def test_a_method_of_another_class_is_told_apart_by_its_variable(ask):
    assert places(ask("refs", "Cart.add", "--language", "python")) == [
        "shop/checkout.py:8 check_out likely"
    ]
    assert ask("refs", "Basket.add") == []


def test_a_method_of_self_is_found_in_the_base_class(ask):
    assert places(ask("refs", "Base.total")) == ["shop/cart.py:12 Cart.add exact"]


def test_a_function_of_a_module_imported_from_elsewhere_is_not_ours(ask):
    assert ask("refs", "dumps.dumps") == []


def test_what_a_package_hands_on_is_found_by_the_package(ask):
    assert places(ask("refs", "kit/tools.py:1")) == [
        "kit/__init__.py:1  exact",
        "shop/use.py:3  likely",
    ]


def test_what_is_named_but_not_called_has_no_callers(call):
    assert places(call("refs", "check_out", "--json").json) == ["shop/checkout.py:15  exact"]
    told = call("callers", "check_out").err
    assert "nothing that is indexed here calls it" in told
    assert "uses without a call, which `memory-sidecar refs` shows: shop/checkout.py (1)" in told
    assert "without a call" not in call("callers", "check_out", "--path", "tests/**").err


def test_what_another_package_defines_is_shown_where_it_is_used(call):
    done = call("refs", "json.dumps", "--json")
    assert places(done.json) == ["shop/checkout.py:9 check_out likely"]
    assert (
        "nothing that is indexed here defines json.dumps; what uses the name is shown" in done.err
    )
    assert "nothing that is indexed here defines or calls json; " in call("callers", "json").err
    assert places(call("callers", "append", "--json").json) == ["shop/cart.py:11 Cart.add by name"]
    assert call("def", "json.dumps").status == 3


def test_uses_of_a_parameter_are_not_said_to_be_all(own, shop):
    (shop / "ask.py").write_text("def ask(show_all=True):\n    box.show_all = show_all\n")
    own("index", shop, "--wait", "keyword")
    done = own("refs", "show_all", "--json")
    assert places(done.json) == ["ask.py:2 ask by name"]
    assert "but no variables or parameters: find them as text" in done.err


ATTRIBUTES = {
    "queues.py": "class Queues:\n    def __init__(self):\n        self.aliases = {}\n",
    "more.py": "class More(Queues):\n    def pop(self):\n        return self.aliases.pop()\n",
    "other.py": "class Other:\n    def f(self, q):\n        return self.aliases or q.aliases\n",
    "user.py": "from queues import Queues\nqueues = Queues()\nqueues.aliases\n",
    "cart.js": "class Cart {\n  constructor() { this.aliases = []; }\n}\n",
    "desk.php": "<?php\nclass Desk {\n  function __construct() { $this->aliases = 4; }\n}\n",
}


def test_an_attribute_that_is_only_assigned_belongs_to_the_class_around(run, tmp_path):
    write_tree(tmp_path / "attributes", ATTRIBUTES)
    call = indexed(run, tmp_path / "attributes")
    assert places(call("refs", "Queues.aliases", "--json").json) == [
        "more.py:3 More.pop likely",
        "queues.py:3 Queues.__init__ likely",
        "user.py:3  by name",
    ]
    assert places(call("refs", "Cart.aliases", "--json").json) == [
        "cart.js:2 Cart.constructor likely"
    ]
    assert places(call("refs", "Desk::aliases", "--path", "*.php", "--json").json) == [
        "desk.php:3 Desk.__construct likely"
    ]
    assert call("refs", "Queues.aliases", "--path", "*.js").status == 3
    assert call("refs", "Nothing.aliases").status == 3


def test_a_name_that_is_not_called_is_a_reference_too(ask):
    found = ask("refs", "check_out")
    assert [(hit["start_line"], hit["how"], hit["code"]) for hit in found] == [
        (15, "other", "handlers = [check_out]")
    ]


def test_uses_that_are_alike_in_one_line_are_shown_once(run, tmp_path):
    (tmp_path / "cart.py").write_text("class Cart:\n    def due(self): pass\n")
    (tmp_path / "pay.py").write_text("def pay(a, b):\n    return a.due() + b.due(a.due)\n")
    run("index", tmp_path, "--wait", "keyword")
    found = run("refs", "due", "--json", cwd=tmp_path).json
    assert sorted((hit["start_line"], hit["how"]) for hit in found) == [
        *((2, "attribute"), (2, "call")),
    ]


def test_tests_come_behind_what_they_test(ask):
    found = ask("refs", "Cart", "--language", "python", "-n", "3")
    assert [hit["filename"] for hit in found][-1] == "tests/test_cart.py"
    assert {hit["how"] for hit in found} == {"call", "import"}


def test_callers_are_followed_step_by_step(ask):
    found = ask("callers", "shop/money.py:1", "--depth", "3")
    assert [(hit["depth"], hit["enclosing"], hit["name"]) for hit in found] == [
        (1, "Cart.price", "rounded"),
        (1, "check_out", "rounded"),
        (2, "check_out", "price"),
        (2, "test_price", "price"),
    ]
    assert [hit["depth"] for hit in ask("callers", "c/cart.c:2", "--depth", "9")] == [1]


def test_callees_are_what_the_source_defines(ask):
    found = ask("callees", "check_out")
    assert [hit["name"] for hit in found] == ["Cart", "add", "pay", "price", "rounded"]
    assert found[-1]["confidence"] == "exact"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("App.Cart.Add", ["app/Program.cs:4 App.Program.Main likely"]),
        ("App.Cart.Total", ["app/Cart.cs:4 App.Cart.Add exact"]),
        ("web/money.ts:1", ["web/cart.ts:1  exact", "web/cart.ts:2 Cart.price exact"]),
        ("cart_add", ["c/main.c:2 main exact"]),
    ],
)
def test_other_languages_are_resolved_by_their_own_rules(ask, name, expected):
    assert places(ask("refs", name)) == expected


def test_in_cpp_a_method_is_one_wherever_it_stands_and_a_static_function_of_its_file(run, tmp_path):
    write_tree(tmp_path, POWER)
    assert run("index", tmp_path, "--wait", "keyword").status == 0

    def ask(*words: str) -> list[Any]:
        return [
            (hit["filename"], hit.get("confidence"))
            for hit in run(*words, "--json", cwd=tmp_path).json
        ]

    places = {path for path, _ in ask("def", "Meter.reading")}
    assert places == {"meter.hpp", "meter.cpp"}
    assert ("main.cpp", "likely") in ask("refs", "reading")
    assert "meter.cpp" in {path for path, _ in ask("refs", "Meter")}
    assert ask("refs", "main.cpp:2") == [("main.cpp", "exact")]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("area'", "A.hs"),
        ("|>", "A.hs"),
        ("Cart#owner=", "cart.rb"),
        ("<=>", "cart.rb"),
        ("n::Box<int>::get", "box.h"),
        ("Box::~Box", "box.h"),
        ("Box.operator==", "box.h"),
        ("Box::size_", "box.h"),
        ("operator bool", "box.h"),
        ("Box::operator bool()", "box.h"),
        ("operator std::string", "box.h"),
        ("n::Box<int>::operator std::vector<int>()", "box.h"),
    ],
)
def test_a_name_may_have_marks_and_arguments_of_types(run, tmp_path, name, path):
    write_tree(
        tmp_path / "names",
        {
            "A.hs": "area' :: Int -> Int\narea' x = x\nx |> f = f x\n",
            "cart.rb": "class Cart\n  def owner=(x); end\n  def <=>(o); end\nend\n",
            "box.h": "namespace n {\ntemplate <class T> struct Box {\n  ~Box();\n  T get();\n"
            "  int size_;\n  bool operator==(const Box& o);\n};\n}\n"
            "n::Box<int>::operator bool() const { return true; }\n"
            "n::Box<int>::operator std::string() const { return s; }\n"
            "n::Box<int>::operator std::vector<int>() const { return v; }\n",
        },
    )
    run("index", tmp_path / "names", "--wait", "keyword")
    assert [each["filename"] for each in run("def", name, "--all", "--json").json] == [path]


def test_an_outline_lists_what_a_file_defines(call, ask):
    assert [(hit["name"], hit["enclosing"]) for hit in ask("outline", "shop/cart.py")] == [
        *(("Base", ""), ("total", "Base"), ("Cart", "")),
        *(("add", "Cart"), ("price", "Cart")),
    ]
    assert ask("outline", "shop/cart.py:4") == ask("outline", "shop/cart.py")
    shown = call("outline", "shop/cart.py").out.splitlines()
    assert shown[:2] == ["        3-5  class Base", "        4-5    def total(self)"]


def test_where_a_folder_was_moved_the_command_that_moves_its_source_is_named(run, tmp_path):
    shop, till = tmp_path / "shop", tmp_path / "till"
    write_tree(shop, {"cart.py": "def price():\n    return 1\n"})
    run("index", shop, "--wait", "keyword")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "source move" not in run("refs", "price", cwd=elsewhere).err
    shop.rename(till)
    told = run("refs", "price", cwd=till).err
    assert "`memory-sidecar source move shop .` does if shop was moved here" in told
    run("source", "move", "shop", till)
    assert run("def", "price", "--json", cwd=till).json


def test_an_outline_shows_a_line_that_defines_several_names_once(run, tmp_path):
    (tmp_path / "many.py").write_text("class Null:\n    pop = update = None\n")
    run("index", tmp_path, "--wait", "keyword")
    assert len(run("outline", "many.py", "--json", cwd=tmp_path).json) == 3
    assert run("outline", "many.py", cwd=tmp_path).out.count("pop = update") == 1


def test_the_outline_of_a_folder_names_a_file_of_tests_last(own, shop):
    many = "\n\n".join(f"def test_{number}(): pass" for number in range(40))
    (shop / "shop/test_all.py").write_text(many)
    assert own("index", shop, "--wait", "keyword").status == 0
    assert "name a file such as shop/cart.py;" in own("outline", "shop").err


def test_a_map_shows_what_most_leads_to(call, ask):
    entries = ask("map")
    assert max(entries, key=lambda each: each["score"])["name"] in ("Cart", "rounded")
    names = {(each["filename"], each["name"]) for each in entries}
    assert ("c/cart.c", "cart_add") in names
    assert ("shop/checkout.py", "check_out") not in names  # nothing else uses it
    assert 0.9 < sum(each["score"] for each in entries) < 1.001  # each is rounded
    shown = call("map", "--max-tokens", "40").out.splitlines()
    assert shown[:2] == ["shop/money.py", "     1  def rounded(value)"]
    assert len(shown) < len(entries)


def test_a_budget_too_small_for_anything_is_told(call):
    told = call("search", "rounded", "--max-tokens", "1").err
    assert told.endswith("note: no hits that fit into 1 token\n")
    told = call("map", "--max-tokens", "2").err
    assert told.endswith("another file defines, or it does not fit into 2 tokens\n")


def test_a_map_keeps_to_its_length_with_all_that_it_prints(run, tmp_path):
    names = [f"Till{number}" for number in range(20)]
    types = [f"pub enum {name} {{\n    Penny,\n}}\n" for name in names]
    methods = [f"impl {name} {{\n    pub fn ring_{name}() {{}}\n}}\n" for name in names]
    (tmp_path / "till.rs").write_text("\n".join([*types, *methods]))
    uses = [f"    {name}::ring_{name}();\n" for name in names]
    (tmp_path / "main.rs").write_text("".join(["fn main() {\n", *uses, "}\n"]))
    run("index", tmp_path, "--wait", "keyword")
    for tokens in (150, 200, 300):
        shown = run("map", "--max-tokens", str(tokens), cwd=tmp_path).out
        assert "  in Till" in shown
        assert tokens * 3 < len(shown) <= tokens * 4


def test_a_map_around_a_file_or_a_question_shows_what_that_leads_to(ask):
    assert {each["filename"] for each in ask("map", "--around", "c/main.c")} == {
        *("c/cart.c", "c/cart.h"),
    }
    assert ask("map", "--around", "c/main.c:1-9") == ask("map", "--around", "c/main.c")
    found = ask("map", "--around", "check out a cart of items and pay")
    assert {"Cart", "rounded"} <= {each["name"] for each in found}


def test_a_map_around_a_question_shows_what_the_files_that_answer_it_define(run, tmp_path):
    """What only its own file uses, private too; not for a file, whose outline shows that."""
    retries = (
        "class Retry:\n    def again(self, job):\n        return self._wait(job)\n\n"
        "    def _wait(self, job):\n        return log(job)\n"
    )
    files = {"retry.py": retries, "log.py": "def log(text):\n    print(text)\n"}
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    for around, names in (("how long does a retry wait", {"_wait", "log"}), ("retry.py", {"log"})):
        found = run("map", "--around", around, "--json", cwd=tmp_path).json
        assert {each["name"] for each in found} == names, around


def test_a_map_shows_what_other_files_are_meant_to_use(run, tmp_path):
    """Types of Go, and not what is private, a test's, a constant, or a name of the user's own."""
    files = {
        "db.go": "package db\n\ntype DB struct {\n\tpath string\n}\n\n"
        "func Open(path string) *DB {\n\treturn &DB{path: path}\n}\n",
        "main.go": "package main\n\nfunc run() *db.DB {\n\treturn db.Open(path)\n}\n",
        "a.sh": "main() {\n  echo a\n}\nmain\n",
        "b.sh": "main() {\n  echo b\n}\nmain\n",
        "src/lib.rs": "pub fn parse() {}\npub fn run_tests() {}\nfn split() {}\nmod tests {\n"
        "    macro_rules! check { () => {} }\n    pub fn tried() {}\n}\n",
        "src/main.rs": "fn main() {\n    parse();\n    split();\n    check!();\n    tried();\n"
        "    run_tests();\n}\n",
        "size.h": "#define MOST 9\n#define twice(x) ((x) * 2)\n",
        "size.c": "int most(void) {\n    return twice(MOST);\n}\n",
        "Tool.cs": "class Tool\n{\n    private static void Hide() { }\n"
        "    public static void Show() { }\n}\n",
        "Use.cs": "class Use\n{\n    void Go() { Tool.Show(); Tool.Hide(); }\n}\n",
        "money.js": "export function paid() {}\nfunction asked() {}\n",
        "pay.js": "import { paid, asked } from './money';\npaid();\nasked();\n",
        "shop.py": "def price():\n    pass\n",
        "tests/fakes.py": "def fake_price():\n    pass\n",
        "till.py": "price()\nfake_price()\ntext.split_words()\n",
        "words.py": "def words(text):\n    def split_words(text):\n        return text\n",
        "screen.js": "export function screen() {\n  function draw() {}\n  return { draw };\n}\n",
        "page.js": "import { screen } from './screen';\nscreen().draw();\n",
        "list.js": "export const Rows = {\n  map(rows) {},\n  sort(rows) {},\n};\n"
        "export class Set {}\nfunction* then() {}\n",
        "walk.js": "export const all = new Set(rows.map(then));\n",
        "rows.js": "import { Rows } from './list';\nRows.sort([]);\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    entries = run("map", "--json", cwd=tmp_path).json
    scores = {each["name"]: each["score"] for each in entries}
    assert scores.keys() == {
        *("DB", "Open", "parse", "Tool", "Show", "paid", "asked", "price", "fake_price"),
        *(
            "run_tests",
            "twice",
            "screen",
            "draw",
            "sort",
        ),  # not split_words, which stays in its function
    }
    assert scores["paid"] > scores["asked"]
    assert scores["price"] > scores["fake_price"]


def test_a_map_of_a_folder_shows_what_in_it_other_files_use(run, tmp_path):
    files = {
        "till/drawer.py": "from till.coin import Coin\n\n\ndef open_drawer():\n    return Coin()\n",
        "till/coin.py": "class Coin: ...\n\n\ndef unused(): ...\n",
        "till/tests/test_coin.py": "from till.coin import Coin\n\n\ndef test_it(): Coin()\n",
        "shop/sale.py": "from till.drawer import open_drawer\n\n\ndef sell(): open_drawer()\n",
        "main.py": "from shop.sale import sell\n\nsell()\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    for folder in ("till", "till/", "./till"):
        entries = run("map", "--around", folder, "--json", cwd=tmp_path).json
        assert {each["name"] for each in entries} == {"open_drawer", "Coin"}
    told = run("map", "--around", "shops/", cwd=tmp_path)
    assert "no definition is known in shops" in told.err


def test_a_map_counts_what_a_name_can_mean(run, tmp_path):
    files = {
        "text.py": "def lower(text):\n    pass\n\ndef upper(text):\n    pass\n",
        "cart.py": (
            "class Cart:\n    def total(self):\n        pass\n    def paid(self):\n        pass\n"
        ),
        "vendor/pad.py": "def pad(text):\n    pass\n",
        "use.py": (
            "import text\nfrom cart import Cart\n"
            "def run(row):\n    row.name.lower()\n    text.upper(row)\n    pad(row)\n"
            "    Cart().total()\n"
        ),
        "other.py": "def all(rows):\n    rows.paid()\n    rows.lower()\n",
        "app.js": "const app = {};\napp.listen = function () {};\n",
        "main.js": "const it = require('./app');\nit.listen();\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    scores = {each["name"]: each["score"] for each in run("map", "--json", cwd=tmp_path).json}
    assert scores.keys() == {"upper", "Cart", "total", "listen"}  # not pad, which is vendored


def alone_and_beside_another(run, tmp_path, files, *question):
    """Ask `question` in the project `shop`, before and after the project `other` is indexed."""
    write_tree(tmp_path, files)
    answers = []
    for folder in ("shop", "other"):
        run("index", tmp_path / folder, "--wait", "keyword")
        answers.append(run(*question, "--json", cwd=tmp_path / "shop").json)
    return answers


@pytest.mark.parametrize("name", ["Till.__init__", "app.get"])
def test_uses_are_the_same_whatever_another_project_calls_its_classes(run, tmp_path, name):
    made = "    def __init__(self):\n        super().__init__()\n"
    files = {
        "shop/till.py": f"class Till:\n{made}",
        "shop/bag.py": f"class Bag:\n{made}",
        "shop/log.py": f"from logging import Handler\n\nclass Log(Handler):\n{made}",
        "shop/main.py": "app.get('/')\nstore.get('price')\n",
        "other/web.py": "class Handler: 0\n\nclass Web(app):\n    def get_it(self): self.get()\n",
    }
    alone, beside = alone_and_beside_another(run, tmp_path, files, "refs", name)
    assert beside == alone


def test_a_map_is_the_same_whatever_another_project_calls_its_classes(run, tmp_path):
    files = {
        "shop/Cart.cs": "namespace Shop { public class Cart { } }\n",
        "shop/Till.cs": "class Till { Cart Open() { return new Cart(); } }\n",
        "other/shop.py": "class Shop:\n    pass\n",
    }
    alone, beside = alone_and_beside_another(run, tmp_path, files, "map")
    assert [each["name"] for each in alone] == ["Cart"]
    assert beside == alone


def test_a_map_shows_what_is_vendored_only_from_there(run, tmp_path):
    files = {
        "shop.py": "def price():\n    pass\n\ndef rate():\n    pass\n",
        "till.py": "price()\nrate()\npad()\n",
        "vendor/pad.py": "def pad(text):\n    pass\n\ndef rate():\n    pass\n",
        "vendor/use.py": "pad()\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    scores = {each["name"]: each["score"] for each in run("map", "--json", cwd=tmp_path).json}
    assert scores.keys() == {"price", "rate"}
    assert scores["price"] > scores["rate"]  # which may be the vendored one
    around = run("map", "--json", "--around", "vendor/use.py", cwd=tmp_path).json
    assert [each["name"] for each in around] == ["pad"]


def test_what_many_files_use_comes_before_the_helper_of_one_central_file(run, tmp_path):
    files = {f"view_{number}.py": "from web import Request\n" for number in range(5)}
    files["web.py"] = "class Request:\n    def read(self):\n" + "        explain(self)\n" * 9
    files["debug.py"] = "def explain(request):\n    pass\n"
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    entries = run("map", "--json", cwd=tmp_path).json
    assert [each["name"] for each in entries] == ["Request", "explain"]
    assert sum(each["score"] for each in entries) == pytest.approx(1)
    around = run("map", "--json", "--around", "web.py", cwd=tmp_path).json
    assert [each["name"] for each in around] == ["explain"]


def test_a_type_is_not_used_by_the_methods_and_namespaces_of_its_name(run, tmp_path):
    stages = "class First {}\nclass Streams {}\nclass Sink {}\nclass Gate { private class Empty {\n"
    files = {
        "Stages.cs": f"namespace Akka.Streams.Stages;\n{stages}public Empty(int a) {{}} }} }}\n",
        "Use.cs": "using Akka.Streams;\nclass A { Sink F() => items.First(new Empty(1)); }\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    assert [each["name"] for each in run("map", "--json", cwd=tmp_path).json] == ["Sink"]
    files["Use.cs"] += "class B { object G() => new Stages.First(); }\n"
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    names = {each["name"] for each in run("map", "--json", cwd=tmp_path).json}
    assert names == {"Sink", "First"}


def test_a_bare_name_of_ruby_calls_the_method_that_it_means(run, tmp_path):
    code = (
        "class Carts\n  LIMIT = 3\n\n  def show\n    cart = find_cart\n    count = LIMIT\n"
        "    [count, cart, odd]\n  end\n\n  def find_cart\n  end\n\n  def count\n  end\nend\n"
    )
    write_tree(tmp_path, {"carts.rb": code, "odd.rb": "class Odd\n  def odd\n  end\nend\n"})
    run("index", tmp_path, "--wait", "keyword")
    called = run("callees", "Carts.show", "--json", cwd=tmp_path).json
    assert [each["name"] for each in called] == ["find_cart"]
    (found,) = run("callers", "find_cart", "--json", cwd=tmp_path).json
    assert found["start_line"] == 5
    assert "without a call" not in run("callers", "find_cart", cwd=tmp_path).err
    for name in ("count", "LIMIT"):  # a variable has its name, and a constant
        assert run("callers", name, "--json", cwd=tmp_path).json == []


def test_a_map_keeps_files_of_one_path_in_several_sources_apart(run, tmp_path):
    for source in ("first", "second"):
        (tmp_path / source).mkdir()
        (tmp_path / source / "money.py").write_text(f"def paid_{source}():\n    pass\n")
        (tmp_path / source / "pay.py").write_text(f"from money import paid_{source}\n")
        run("index", tmp_path / source, "--wait", "keyword")
    sources = ("--source", "first", "--source", "second")
    entries = run("map", "--json", *sources, cwd=tmp_path).json
    assert [(each["source"], each["name"]) for each in entries] == [
        *(("first", "paid_first"), ("second", "paid_second")),
    ]
    assert run("map", *sources, cwd=tmp_path).out.splitlines() == [
        *("first/money.py", "     1  def paid_first()"),
        *("second/money.py", "     1  def paid_second()"),
    ]


ALIASES = {
    "shop/cart.py": "class Cart:\n    def add(self): pass\n\ndef pay(): pass\n",
    "shop/bank.py": "def pay(): pass\n",
    "shop/till.py": (
        "from shop.cart import Cart as Base, pay as settle\nfrom shop import bank as b\n\n"
        "class Cart(Base):\n    def close(self):\n        settle()\n        b.pay()\n"
    ),
    "web/money.js": (
        "module.exports = { rounded: function (x) { return x; } };\n"
        "exports.taxed = function addTax(x) { return x; };\n"
    ),
    "web/loose.js": "function rounded(x) { return x; }\n",
    "web/use.js": (
        "const { rounded, taxed: t } = require('./money');\nconst m = require('./money');\n"
        "function all() { rounded(1); t(2); m.rounded(3); }\n"
    ),
    "web/area.ts": "export class Zone { static of() { return new Zone(); } }\n",
    "web/map.ts": (
        "import { Zone as Area } from './area';\nfunction draw() { Area.of(); new Area(); }\n"
    ),
    "app/Cart.cs": "namespace App { public class Cart { public static void Make() {} } }\n",
    "app/Old.cs": "namespace Old { public class Cart {} }\n",
    "app/Use.cs": (
        "using Basket = App.Cart;\n"
        "class Use { void Go() { Basket.Make(); var it = new Basket(); } }\n"
    ),
    "go/money/v1/round.go": "package v1\n\nfunc Round(x int) int { return x }\n",
    "go/rates/round.go": "package rates\n\nfunc Round(x int) int { return x }\n",
    "go/till.go": (
        'package till\n\nimport (\n\tmoney "shop/go/money/v1"\n\trates2 "shop/go/rates/v2"\n)\n\n'
        "func Close() { money.Round(1) }\n\nfunc Open() { rates2.Round(1) }\n"
    ),
    "kt/Shop.kt": (
        "package kt\n\nclass Cart {\n  class Item(val n: Int)\n}\n\n"
        "class Order {\n  class Item(val n: Int)\n}\n"
    ),
    "kt/Till.kt": "package kt.till\nimport kt.Order.Item as Line\nfun all() { Line(1) }\n",
}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("refs", "shop/cart.py:1"), ["shop/till.py:1  exact", "shop/till.py:4 Cart exact"]),
        (("callers", "shop/cart.py:4"), ["shop/till.py:6 Cart.close exact"]),
        (("callers", "shop/bank.py:1"), ["shop/till.py:7 Cart.close exact"]),
        (("callers", "web/money.js:1"), ["web/use.js:3 all exact"]),
        (("callers", "taxed"), ["web/use.js:3 all exact"]),
        (("callers", "Zone.of"), ["web/map.ts:2 draw exact"]),
        (("callers", "web/area.ts:1"), ["web/area.ts:1 Zone.of exact", "web/map.ts:2 draw exact"]),
        (("callers", "App.Cart"), ["app/Use.cs:2 Use.Go exact"]),
        (("callers", "App.Cart.Make"), ["app/Use.cs:2 Use.Go exact"]),
        (("callers", "go/money/v1/round.go:3"), ["go/till.go:8 Close exact"]),
        (("callers", "go/rates/round.go:3"), ["go/till.go:10 Open exact"]),
        (("callers", "Order.Item"), ["kt/Till.kt:3 all exact"]),
        (("callers", "Cart.Item"), []),
    ],
)
def test_what_an_import_calls_by_another_name_is_followed(run, tmp_path, asked, found):
    write_tree(tmp_path, ALIASES)
    run("index", tmp_path, "--wait", "keyword")
    assert places(run(*asked, "--json", cwd=tmp_path).json) == found


def test_a_package_of_go_is_its_folder_and_a_dot_imports_all_of_it(run, tmp_path):
    files = {
        "errors.go": "package shop\n\nfunc New() int { return 1 }\n\nfunc All() { New() }\n",
        "cart.go": 'package shop\n\nimport "errors"\n\nfunc Add() { errors.New("full") }\n',
        "tests/tools.go": "package tests\n\nfunc Check() {}\n",
        "rates/rates_test.go": (
            'package rates\n\nimport . "shop/tests"\n\nfunc TestRates() { Check() }\n'
        ),
        "till/till.go": "package till\n\nfunc Open() { Check() }\n",
    }
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    used = run("refs", "New", "--json", cwd=tmp_path).json
    assert [each for each in places(used) if "by name" not in each] == ["errors.go:5 All exact"]
    used = run("refs", "Check", "--json", cwd=tmp_path).json
    assert places(used) == ["rates/rates_test.go:5 TestRates likely"]


def test_where_more_was_found_than_is_shown_it_is_told(call, monkeypatch):
    for command in (("refs", "Cart"), ("callers", "Cart"), ("impact", "shop/money.py")):
        every = call(*command, "--json")
        assert "more" not in every.err
        some = call(*command, "--json", "-n", "1")
        assert some.json == every.json[:1]
        left = Counter(each["filename"] for each in every.json[1:]).most_common()
        files = ", ".join(f"{path} ({count})" for path, count in left)
        count = f"note: {len(every.json) - 1} more, in {files}"
        assert f"{count}: --top-k {len(every.json)} shows all" in some.err
        monkeypatch.setattr("memory_sidecar.cli.names.MAX_TOP_K", 1)
        some = call(*command, "--json", "-n", "1")
        assert f"{count}: --path leaves some out" in some.err
        monkeypatch.setattr("memory_sidecar.code.results.MOST_FILES", 1)
        some = call(*command, "--json", "-n", "1")
        named, more = f"{left[0][0]} ({left[0][1]})", len(left) - 1
        assert f"in {named}, {more} other file{'s'[: more - 1]}: --path" in some.err
        monkeypatch.undo()


def test_the_files_with_more_are_named_from_where_they_are_asked_for(own, shop):
    here = shop / "new"
    here.mkdir()
    assert "more, in ../" in own("refs", "Cart", "--json", "-n", "1", cwd=here).err


def test_what_is_a_keyword_elsewhere_is_a_name(run, tmp_path):
    (tmp_path / "tree.py").write_text(
        "class Node:\n    def parent(self): return self\n    def up(self): return self.parent()\n\n"
        "def base(): return 1\n\ndef use(parent): return base() + parent.up()\n\n"
        "class Other:\n    def up(self): pass\n    def go(self, parent): parent.up()\n"
    )
    (tmp_path / "a.php").write_text(
        "<?php\nclass A { function run() {} }\n"
        "class B extends A {\n    function run() { parent::run(); }\n}\n"
    )
    run("index", tmp_path, "--wait", "keyword")

    def callers(name):
        return places(run("callers", name, "--json", cwd=tmp_path).json)

    assert callers("Node.parent") == ["tree.py:3 Node.up exact"]
    assert callers("base") == ["tree.py:7 use exact"]
    assert "tree.py:11 Other.go exact" not in callers("Other.up")
    assert callers("A.run") == ["a.php:4 B.run exact"]


def test_callers_beyond_those_that_are_followed_are_told(run, tmp_path):
    many = MAX_FOLLOWED + 5
    calls = "".join(f"def caller_{at}():\n    return basis()\n\n\n" for at in range(many))
    (tmp_path / "many.py").write_text(f"def basis():\n    return 1\n\n\n{calls}")
    run("index", tmp_path, "--wait", "keyword")
    once = run("callers", "basis", "--json", "-n", "1000", cwd=tmp_path)
    assert (len(once.json), once.err) == (many, "")
    twice = run("callers", "basis", "--depth", "2", "--json", "-n", "1000", cwd=tmp_path)
    assert twice.json == once.json
    assert "callers not followed further: 5, beyond the surest 100 of their step" in twice.err


@pytest.mark.parametrize(
    "written",
    [
        *("`Cart.price`", "Cart.price()", "Cart.price(self)", "def price(self, tax=(1, 2))"),
        "shop/cart.py:price",
        *(
            "cart.py:Cart.price",
            "shop/cart.py:Cart.price",
            "shop/cart.py::Cart::price",
            "./shop/cart.py:Cart.price()",
            *("shop\\Cart::price", "\\shop\\Cart::price()"),
        ),
    ],
)
def test_a_name_may_be_written_as_in_code_and_in_tools(ask, written):
    assert "shop/cart.py" in {each["filename"] for each in ask("def", written)}
    assert {each["name"] for each in ask("def", written)} == {"price"}
    assert len(ask("def", written)) == (1 if "shop" in written else 2 if "Cart" in written else 3)


def test_uses_in_the_file_that_defines_a_member_come_first(run, tmp_path):
    """A class seldom names itself; a built copy of it, in a bundle, does."""
    till = "export default class Till {\n  pay() {}\n  close() { this.pay() }\n}\n"
    files = {"app/till.js": till, "dist.mjs": f"{till.partition(' default ')[2]}new Till()\n"}
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    found = run("callers", "Till.pay", "--json", cwd=tmp_path).json
    assert found[0]["filename"] == "app/till.js"


ABOUT_A_FILE = [
    ("def", "shop/checkout.py:6", "check_out"),
    ("refs", "shop/checkout.py:12", "pay"),
    ("callers", "shop/checkout.py:12", "pay"),
    ("callees", "shop/checkout.py:6", "pay"),
    ("impact", "shop/cart.py", "Cart"),
    ("map --around", "shop/checkout.py", "Cart"),
]


@pytest.mark.parametrize(("command", "file", "name"), ABOUT_A_FILE)
@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_file_is_asked_about_in_its_source_wherever_that_is(
    run, shop, tmp_path, command, file, name, is_indexed
):
    elsewhere = tmp_path / "elsewhere"
    write_tree(elsewhere, {"own.py": "def own():\n    return 1\n"})
    assert run("index", shop, *[elsewhere] * is_indexed, "--wait", "keyword").status == 0
    done = run(*command.split(), f"../shop/{file}", "--json", cwd=elsewhere)
    assert done.status == 0, done.err
    assert name in {each["name"] for each in done.json}


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("chek_out", "there is check_out"),
        ("checkOut", "there is check_out"),
        ("check", "check_out"),
        ("Cart.totl", "Base.total, App.Cart.Add"),
        ("Basket.pay", "there is Basket.add, Basket.price, pay"),
        ("Cart.open", ", open"),
    ],
)
def test_the_nearest_names_are_told_where_nothing_has_that_name(call, asked, near):
    done = call("def", asked)
    assert (done.status, done.out) == (3, "")
    assert near in done.err
    assert "`memory-sidecar search`" in call("def", "quicksilver").err


def test_of_globs_that_mean_no_file_the_first_few_are_explained(call, monkeypatch):
    compared = []
    matches = difflib.get_close_matches

    def counted(path: str, *among, **most):
        compared.append(path)
        return matches(path, *among, **most)

    monkeypatch.setattr(absent, "get_close_matches", counted)
    globs = [part for n in range(50) for part in ("--path", f"q{n}/none.rb")]
    assert "no indexed file is q0/none.rb, q1/none.rb" in call("refs", "Cart", *globs).err
    assert compared == ["q0/none.rb", "q1/none.rb", "q2/none.rb"]


def test_a_near_name_is_told_where_others_are_more_than_are_compared(run, tmp_path, monkeypatch):
    names = [f"a{'x' * n}" for n in range(20, 40)]
    write_tree(tmp_path, {"a.py": "".join(f"def {name}(): pass\n" for name in names)})
    kinds = "class Heap:\n    def sort(self): pass\n\nclass Shop:\n    def sort(self): pass\n"
    write_tree(tmp_path, {"shop.py": kinds})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    monkeypatch.setattr(query_names, "MAX_COMPARED", 10)
    assert "there is Heap.sort, Shop.sort" in run("def", "srt", cwd=tmp_path).err
    assert "there is Shop.sort, Heap.sort" in run("def", "Shop.srt", cwd=tmp_path).err


def test_a_file_that_is_asked_for_like_a_name_is_told_of_as_one(call):
    for command in ("refs", "def", "callers"):
        done = call(command, "cart.py")
        assert done.status == 3
        assert re.search(r"it is a file: `memory-sidecar impact \S*/shop/cart\.py` tells", done.err)
        done = call(command, "shop/cart.py")  # a slash is part of no name
        assert done.status == 2
        assert re.search(r"it is a file: `memory-sidecar impact \S*/shop/cart\.py` tells", done.err)


@pytest.mark.parametrize(
    ("command", "glob", "told"),
    [
        (("refs", "Cart"), "shpo/**", "no indexed file is shpo/**: the nearest is shop/"),
        (("callers", "pay"), "shop/chekout.py", "the nearest is shop/checkout.py"),
        (("search", "cart"), "*.rs", "no indexed file is *.rs"),
        (("def", "Cart"), "nowhere/at/all/", "no indexed file is nowhere/at/all/"),
    ],
)
def test_a_glob_that_no_file_has_is_told(call, command, glob, told):
    done = call(*command, "--path", glob, "--json")
    assert (done.status, done.json) == (0, [])
    assert told in done.err
    assert "no indexed file" not in call(*command, "--path", "other/**", "--json").err


@pytest.mark.parametrize(
    ("glob", "told"),
    [
        ("out/**/*.py", "out/: ignored by out/ ("),
        ("node_modules", "node_modules: ignored by node_modules/ (built in) — a line"),
        ("uv.lock", "uv.lock: lock file"),
        ("pictures/*.svg", "pictures/: a folder; of its files 0 indexed, 1 skipped, 0 failed"),
    ],
)
def test_a_glob_of_files_that_are_left_out_says_why(run, shop, glob, told):
    for name in ("out/a/b.py", "node_modules/c.js", "uv.lock", ".gitignore"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("out/\n")
    (shop / "pictures").mkdir()
    (shop / "pictures/a.png").write_bytes(b"\x89PNG\0\0")
    assert run("index", shop).status == 0
    for command in ("refs", "search"):
        done = run(command, "Cart", "--path", glob, cwd=shop)
        assert f"no indexed file is {glob}; {told}" in done.err
        done = run(command, "Cart", "--path", "*.none", "--path", f"!{glob}", cwd=shop)
        assert f"no indexed file is *.none, !{glob}\n" in done.err


def test_a_file_that_is_too_large_is_named_where_nothing_was_found(run, shop):
    (shop / "big.py").write_text("def enormous(): pass\n" * 100_000)
    (shop / "data.json").write_text("[1]\n" * 1_000_000)
    run("index", shop)
    told = "big.py not indexed, too large"
    for command in (
        ("def", "enormous"),
        ("refs", "enormous"),
        ("search", "zzz", "--mode", "keyword"),
    ):
        done = run(*command, cwd=shop)
        assert (done.out, told in done.err) == ("", True), command
    assert told not in run("def", "Cart", cwd=shop).err
    assert told not in run("refs", "enormous", "--path", "web/**", cwd=shop).err
    assert told not in run("refs", "enormous", "--language", "c", cwd=shop).err


DIFF = """
diff --git a/shop/money.py b/shop/money.py
--- a/shop/money.py
+++ b/shop/money.py
@@ -2 +2 @@ def rounded(value):
-    return round(value, 2)
+    return round(value, 3)
"""


def test_an_impact_is_what_uses_what_a_diff_changed(own, shop, call, ask):
    done = own("impact", "--diff", "--json", stdin=DIFF.encode(), cwd=shop / "web")
    assert places(done.json) == [
        *("shop/cart.py:1  exact", "shop/cart.py:15 Cart.price exact"),
        "shop/checkout.py:10 check_out exact",
    ]
    assert places(ask("impact", "c/cart.c")) == ["c/main.c:2 main exact"]
    assert call("impact", "--diff", "--json", stdin=b"no diff").json == []
    assert call("impact").status == 2


def test_a_diff_names_the_file_at_the_top_of_the_repository_from_any_folder(run, shop):
    (shop / ".git").mkdir()
    folder = shop / "web" / "shop"
    folder.mkdir()
    (folder / "money.py").write_text("def paid():\n    return 1\n\npaid()\n")
    run("index", shop, "--wait", "keyword")
    done = run("impact", "--diff", "--json", stdin=DIFF.encode(), cwd=shop / "web")
    assert places(done.json)[0] == "shop/cart.py:1  exact"


@pytest.mark.parametrize("prefix", ["b/", "w/", ""])
def test_a_diff_is_read_however_git_writes_its_paths(run, shop, prefix):
    (shop / "shop" / "kürbis.py").write_text("def peel():\n    return 1\n")
    (shop / "shop" / "soup.py").write_text("from kürbis import peel\n\npeel()\n")
    quoted = f'"{prefix}shop/k\\303\\274rbis.py"'
    diff = f"--- a/x\n+++ {quoted}\r\n@@ -1,2 +1,2 @@\n--- old\n+def peel():\n+++ c/cart.c\n"
    run("index", shop, "--wait", "keyword")
    done = run("impact", "--diff", "--json", stdin=diff.encode(), cwd=shop / "web")
    found = done.json
    assert [place.partition(" ")[0] for place in places(found)] == [
        "shop/soup.py:1",
        "shop/soup.py:3",
    ]


def test_a_diff_may_be_named_and_in_any_encoding(call):
    diff = DIFF.replace("return round(value, 3)", "return round(value, 3)  # gr\xf6\xdfer")
    done = call("impact", "--diff", "-", "--json", stdin=diff.encode("latin-1"))
    assert len(done.json) == 3


def test_only_the_changed_lines_of_a_hunk_count(run, tmp_path):
    """Not those around them, and a class not for what is done inside of its methods."""
    (tmp_path / "pets.py").write_text(
        "class Pet:\n    def feed(self):\n        return 1\n\n"
        "    def walk(self):\n        return 2\n"
    )
    (tmp_path / "day.py").write_text(
        "from pets import Pet\n\npet = Pet()\npet.feed()\npet.walk()\n"
    )
    run("index", tmp_path, "--wait", "keyword")
    head = "--- a/pets.py\n+++ b/pets.py\n"

    def touched(hunk: str) -> list[str]:
        done = run("impact", "--diff", "--json", stdin=(head + hunk).encode(), cwd=tmp_path)
        return [place.partition(" ")[0] for place in places(done.json)]

    body = (
        " class Pet:\n     def feed(self):\n-        return 0\n+        return 1\n \n     def walk"
    )
    assert touched(f"@@ -1,5 +1,5 @@\n{body}(self):\n") == ["day.py:4"]
    assert touched("@@ -6,2 +6 @@\n         return 2\n-        # so\n") == ["day.py:5"]
    assert touched("@@ -1 +1 @@\n-class Pet(object):\n+class Pet:\n") == ["day.py:1", "day.py:3"]


def test_an_impact_tells_what_still_uses_what_was_removed(own, shop):
    """A function, a method, a renamed one and a whole file; not what stood beside them."""

    def removed(path: str, was: str, now: str) -> list[str]:
        file = shop / path
        before = file.read_text()
        assert was in before
        after = before.replace(was, now)
        file.write_text(after)
        if not after:
            file.unlink()
        own("index", shop, "--wait", "keyword")
        name = f"b/{path}" if after else "/dev/null"
        old, new = (text.splitlines(keepends=True) for text in (before, after))
        lines = unified_diff(old, new, f"a/{path}", name)
        diff = "".join(lines).encode()
        found = own("impact", "--diff", "--json", stdin=diff).json
        assert all(each["is_gone"] for each in found)
        file.write_text(before)
        own("index", shop, "--wait", "keyword")
        return places(found)

    money = (shop / "shop/money.py").read_text()
    uses = [
        *("shop/cart.py:1  exact", "shop/cart.py:15 Cart.price exact"),
        "shop/checkout.py:10 check_out exact",
    ]
    function = money[: money.index("\ndef open")]
    assert removed("shop/money.py", function, "\n") == uses
    assert removed("shop/money.py", "def rounded(", "def round_off(") == uses
    assert removed("shop/money.py", money, "") == uses
    method = "\n    def price(self):\n        return rounded(sum(self.items))\n"
    assert removed("shop/cart.py", method, "") == ["shop/checkout.py:10 check_out likely"]
    assert "removed" not in own("impact", "shop/money.py").out


def test_an_empty_diff_is_said_to_be_empty(call):
    done = call("impact", "--diff", "--json", stdin=b"\n")
    assert (done.status, done.json) == (0, [])
    assert done.err == "note: the diff is empty: nothing changed\n"


def test_what_has_no_changed_lines_is_not_said_to_be_unused(call):
    for text in (b"hello\n", b"diff --cc a.py\n--- a/a.py\n+++ b/a.py\n@@@ -1 -1 +1 @@@\n--a\n"):
        done = call("impact", "--diff", "--json", stdin=text)
        assert (done.status, done.json) == (0, [])
        assert done.err == "note: no lines are changed by what was read, or it is no unified diff\n"


def test_a_coloured_diff_is_read_as_a_plain_one(own):
    lines = [f"\x1b[{31 + at}m{line}\x1b[m" for at, line in enumerate(DIFF.splitlines())]
    coloured = own("impact", "--diff", "--json", stdin="\n".join(lines).encode())
    plain = own("impact", "--diff", "--json", stdin=DIFF.encode())
    assert coloured.json == plain.json != []


def test_a_diff_of_what_was_changed_since_is_said_to_be_one(own):
    stale = "shop/money.py is not as the diff leaves it"
    for after in ("+    return round(value, 9)", "+\n+    return round(value, 3)"):
        diff = DIFF.replace("@@ -2 +2", f"@@ -2 +2,{after.count('+')}")
        diff = diff.replace("+    return round(value, 3)", after)
        assert stale in own("impact", "--diff", stdin=diff.encode()).err
    now = DIFF.replace("+    return round(value, 3)", "+    return round(value, 2)\r")
    assert stale not in own("impact", "--diff", stdin=now.encode()).err
    both = diff + DIFF.replace("shop/money", "shop/cart")
    told = own("impact", "--diff", stdin=both.encode()).err
    assert "shop/money.py, shop/cart.py are not as the diff leaves them: what" in told


def test_files_of_a_diff_that_lie_in_no_source_are_named_and_passed_over(run, shop):
    run("index", shop, "--wait", "keyword")
    (shop.parent / "readme.md").write_text("new\n")
    (shop.parent / ".git").mkdir()
    outside = "--- a/readme.md\n+++ b/readme.md\n@@ -1 +1 @@\n-old\n+new\n"
    gone = "--- a/old.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    stdin = f"{outside}{gone}{DIFF}".replace("shop/money", f"{shop.name}/shop/money").encode()
    done = run("impact", "--diff", "--json", stdin=stdin, cwd=shop)
    assert done.status == 0, done.err
    assert len(done.json) == 3
    assert f"no source contains {shop.parent / 'readme.md'} and 1 more" in done.err


def test_an_impact_of_no_file_is_refused(call):
    for name in ("cart", "shop/cart.py:3"):
        assert "there is no file" in call("impact", name).err


def test_what_is_related_makes_way_where_its_file_is_gone(own, shop):
    before = own("related", "shop/cart.py:10", "--json").json
    assert before[1]["filename"] != before[0]["filename"]
    (shop / before[0]["filename"]).unlink()
    after = own("related", "shop/cart.py:10", "-n", "1", "--json").json
    assert after == [each for each in before if each["filename"] != before[0]["filename"]][:1]


def test_what_is_related_is_the_likest_code(ask, call):
    found = ask("related", "shop/cart.py:10", "-n", "3")
    assert found[0]["filename"] in ("other/basket.py", "shop/checkout.py", "tests/test_cart.py")
    assert [hit["score"] for hit in found] == sorted((h["score"] for h in found), reverse=True)
    assert "shop/cart.py:10" not in [f"{hit['filename']}:{hit['start_line']}" for hit in found]
    assert (
        len(ask("related", "shop/cart.py:10"))
        <= 10
        < len(ask("related", "shop/cart.py:10", "-n", "50"))
    )
    assert call("related", "shop/cart.py").status == 2
    assert call("related", "shop/cart.py:9999").status == 3
    assert call("related", "gone.py:1").status == 3


def test_places_open_from_where_the_call_was_made(own, shop):
    done = own("def", "pay", cwd=shop / "web")
    assert done.out.splitlines() == ["../shop/checkout.py:12-13  function", "  def pay(amount)"]


def test_a_saved_file_is_followed(own, shop):
    (shop / "shop/checkout.py").write_text("from shop.cart import Cart\n\n\nnew = Cart()\n")
    assert own("index", shop, "--wait", "keyword").status == 0
    assert own("def", "check_out").status == 3
    assert places(own("refs", "Cart", "--path", "shop/checkout.py", "--json").json) == [
        "shop/checkout.py:1  exact",
        "shop/checkout.py:4  exact",
    ]
    (shop / "shop/checkout.py").unlink()
    assert own("index", shop, "--wait", "keyword").status == 0
    assert own("refs", "Cart", "--path", "shop/checkout.py", "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("def", "nothing_like_it"), 3, "defines nothing_like_it"),
        (("refs", "Cart.missing"), 3, "defines Cart.missing"),
        (("refs", "ग्राहक.खोजें"), 3, "defines ग्राहक.खोजें"),
        (("def", "not a name"), 2, "is not a name"),
        (("def", "a/" * 3000), 2, "a/a/a/a/'… is not a name"),  # which would take seconds
        (("refs", "shop/cart.py:999"), 3, "no definition is known at shop/cart.py:999"),
        (("refs", "/etc/hosts:1"), 3, "no source contains /etc/hosts"),
        (("outline", "notes.txt"), 3, "no definition is known in notes.txt"),
        (("outline", "missing.py"), 3, "no definition is known in missing.py"),
        (("outline", "shop"), 3, "name a file such as shop/"),
        (("outline", "."), 3, "no definition is known in . — it is a folder: name a file such as"),
        (("outline", "notes.txt"), 3, "it is indexed: `memory-sidecar search` shows what it"),
        (("outline", "missing/basket.py"), 3, "there is other/basket.py"),
        (("refs", "missing/basket.py:3"), 3, "there is other/basket.py"),
        (("map", "--around", "missing/basket.py"), 3, "there is other/basket.py"),
        (("outline", "missing.py:3"), 3, "no definition is known in missing.py — there is no such"),
        (("refs", "missing.py:3"), 3, "known in missing.py — there is no such file\n"),
        (("refs", "shop/cart.rb:3"), 3, "there is no such file; there is shop/cart.py"),
        (("map", "--around", "a/shpo"), 3, "there is no such file; there is shop"),
        (("related", "missing.py:3"), 3, "at missing.py:3 — there is no such file"),
        (("refs", "Missing(3,1)"), 3, "defines Missing(3,1)"),
        (("callers", "pay", "--depth", "99"), 2, "--depth"),
        (("refs", "pay", "--path", "["), 2, "has a [ without its ]"),
        (("refs", "pay", "--source", "none"), 3, "no source 'none'"),
    ],
)
def test_what_cannot_be_answered_says_why_in_one_line(call, arguments, status, told):
    done = call(*arguments)
    assert (done.status, done.out) == (status, "")
    assert told in done.err
    assert len(done.err.splitlines()) == 1


def test_outside_of_every_source_it_says_so(call, tmp_path):
    done = call("def", "pay", cwd=tmp_path)
    assert (done.status, "no source contains" in done.err) == (3, True)
    assert call("def", "pay", "--all", cwd=tmp_path).status == 0


def test_files_that_are_gone_since_are_not_named(own, shop):
    for path in ("shop/cart.py", "shop/money.py", "notes.md"):
        (shop / path).unlink()
        assert "gone since" in own("outline", path).err
    asked = [("def", "rounded"), ("refs", "rounded"), ("map",), ("callers", "rounded")]
    shown = {hit["filename"] for words in asked for hit in own(*words, "--json").json}
    assert "web/money.ts" in shown
    assert not shown & {"shop/cart.py", "shop/money.py"}


def test_a_map_around_a_file_begins_with_what_little_else_leads_to(run, tmp_path):
    files = {f"user{n}.py": "from shop import Log\n\nLog()\n" for n in range(9)}
    files["shop.py"] = "class Log:\n    pass\n"
    files["rates.py"] = "class Rates:\n    pass\n"
    files["till.py"] = (
        "from rates import Rates\nfrom shop import Log\n\nLog()\nRates()\nLog()\nLog()\n"
    )
    write_tree(tmp_path, files)
    run("index", tmp_path, "--wait", "keyword")
    entries = run("map", "--around", "till.py", "--json", cwd=tmp_path).json
    assert [each["name"] for each in entries] == ["Rates", "Log"]


def test_overloads_and_constructors_are_the_one_definition_of_their_name(tmp_path):
    files = {
        "Till.java": "class Till {\n  Till() {}\n  void pay(int due) {}\n  void pay(Bag b) {}\n}\n",
        "Cart.java": "class Cart {\n  void pack() {}\n}\n",
        "Bag.java": "class Bag {\n  void pack() {}\n}\n",
    }
    write_tree(tmp_path / "shop", files)
    told = told_in(tmp_path / "shop")
    assert told("def", "Till") == ["Till.java:1 exact", "Till.java:2 exact"]
    assert told("def", "pay") == ["Till.java:3 exact", "Till.java:4 exact"]
    assert told("def", "pack") == ["Bag.java:2 by name", "Cart.java:2 by name"]
