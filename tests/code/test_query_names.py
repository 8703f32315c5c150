"""What counts as a name in a query, and which chunks it names."""

from __future__ import annotations

from typing import Any

import pytest

from memory_sidecar.code import graph
from memory_sidecar.code.directory import is_at
from memory_sidecar.code.graph import Defined
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.query_names import (
    MAX_FILES_AT_PATHS,
    MAX_PLACES,
    DefinedNames,
    names_in,
)
from memory_sidecar.core.model import MAX_QUERY_CHARACTERS
from memory_sidecar.core.results import Silent


@pytest.mark.parametrize(
    ("query", "symbols"),
    [
        ("parse_args", {("parse_args",)}),
        ("where is HttpClient used", {("HttpClient",)}),
        ("Cart.add", {("Cart", "add")}),
        ("Cart::add", {("Cart", "add")}),
        ("main()", {("main",)}),
        ("main", {("main",)}),  # the whole query
        ("how to set a name", set()),  # words of a sentence
        ("how are URIs normalized", set()),  # a plural
        (
            "parse args",
            {("parse_args",), ("parseArgs",), ("ParseArgs",), ("PARSE_ARGS",), ("parseargs",)},
        ),
        ("parse the args of main", set()),
        ("parse args?", set()),
        ("", set()),
        ("empty?", {("empty?",), ("empty",)}),
        ("Cart#clear!", {("Cart", "clear!"), ("Cart", "clear")}),
        ("who calls empty? here", {("empty?",)}),
        ("@cached", {("cached",)}),
        ("`cached`", {("cached",)}),
        ("Cart<Item>", {("Cart",)}),
        ("$", set()),
        ("is the cart empty?", set()),
        ("who calls parse_args?", {("parse_args",)}),
        ("ग्राहक_खोजें", {("ग्राहक_खोजें",)}),
    ],
)
def test_names_are_written_like_names(query, symbols):
    assert set(names_in(query).symbols) == symbols


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("src/app.py", "src/app.py"),
        ("what does ./src/app.py do", "src/app.py"),
        ("import '../../src/app.ts'", "src/app.ts"),
        ("app.py", "app.py"),
        ("src\\app.py", "src/app.py"),
        ("src/app.py:10", "src/app.py"),
        ("it fails at src/app.py:10:5: why?", "src/app.py"),
        ("app.py:10-20", "app.py"),
        ("app.py#L10-L20", "app.py"),
        ('File "/srv/shop/src/app.py", line 10, in sell', "/srv/shop/src/app.py"),
        ("at Shop.Sell() in C:\\shop\\App.cs:line 10", "C:/shop/App.cs"),
    ],
)
def test_paths_are_recognised(query, path):
    assert path in names_in(query).paths


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("at lib/cart.rb:12:in `add'\n\tfrom lib/shop.rb:3:in 'Shop#sell'", "cart.rb:12 shop.rb:3"),
        (
            "#0 src/Cart.php(12): Shop->sell()\n  thrown in src/Shop.php on line 3",
            "Cart.php:12 Shop.php:3",
        ),
        ("src\\Cart.cs(12,5): error CS0103\nsrc\\Shop.cs(3): error", "Cart.cs:12 Shop.cs:3"),
        (
            '"src/cart.js":12, src/shop.js line 3 and line 7 of src/till.js?',
            "cart.js:12 shop.js:3 till.js:7",
        ),
        (
            'Traceback (most recent call last):\n  File "shop.py", line 3, in sell\n    add(1)\n'
            '  File "cart.py", line 12, in add\nKeyError: 1',
            "cart.py:12 shop.py:3",
        ),
        (
            "tests/test_shop.py:3: in test_sell\n    add(1)\ncart.py:12: KeyError",
            "cart.py:12 test_shop.py:3",
        ),
        (
            "https://github.com/a/shop/blob/main/src/cart.js#L12C5-L14C1"
            " https://bitbucket.org/a/shop/src/main/src/shop.js#lines-3:7"
            " https://sourcegraph.com/github.com/a/shop/-/blob/src/till.js?L7-9",
            "cart.js:12 shop.js:3 till.js:7",
        ),
        (
            "/ci/src/cart.js\n  12:5  error  unused\n\n/ci/src/shop.js\n  3:1  error",
            "cart.js:12 shop.js:3",
        ),
        (
            " ------ -------\n  Line   src/Cart.php\n ------ -------\n  12     No such method.",
            "Cart.php:12",
        ),
        (
            "FILE: src/Cart.php\n-----\n 12 | ERROR | too long\nand src/Shop.php (3)",
            "Cart.php:12 Shop.php:3",
        ),
    ],
)
def test_lines_are_read_as_tracebacks_and_people_write_them(query, lines):
    found = (f"{path.rpartition('/')[2]}:{line}" for path, line in names_in(query).lines)
    assert " ".join(found) == lines


@pytest.mark.parametrize(
    "path",
    [
        "file:///srv/shop/src/app.py",
        "https://example.com/me/shop/blob/main/src/app.py",
        "webpack://shop/./src/app.py",
        "...ome/me/shop/src/app.py",
        '"/srv/me and you/shop/src/app.py"',
        "--- a/src/app.py",
        "/usr/lib/python3/dist-packages/src/app.py",
    ],
)
def test_the_path_of_a_file_is_told_from_what_stands_before_it(path):
    names = names_in(f"what is wrong here?\n{path}")
    assert names.match_paths(["src/app.py", "other/app.py"]) == [True, False]


def test_of_a_pasted_log_the_names_are_read_as_far_as_it_is_looked_for():
    log = "retry parse_args\n" + "12:00:01 worker_7 waits for lock_3\n" * 20_000  # quadratic in it
    assert names_in(log) == names_in(log[:MAX_QUERY_CHARACTERS])
    assert ("parse_args",) in names_in(log).symbols


def test_a_path_in_an_installed_package_means_no_file_called_like_its_last_part():
    names = names_in('File "/srv/.venv/lib/python3.11/site-packages/flask/app.py", line 3, in run')
    assert names.match_paths(["app.py", "src/flask/app.py"]) == [False, True]


@pytest.mark.parametrize(
    "path",
    [
        "webpack-internal:///node_modules/@shop/cart/src/app.ts",
        "/srv/node_modules/.pnpm/@shop+cart@1.2.3/node_modules/@shop/cart/src/app.ts",
        "/usr/lib/ruby/gems/cart-1.2.3/src/app.ts",
        "/root/.cargo/registry/src/index.crates.io-6f17d22b/cart-0.4.1/src/app.ts",
    ],
)
def test_a_path_in_an_installed_package_means_the_folder_of_that_package(path):
    names = names_in(f"Error: no cart\n    at add ({path}:7:3)")
    files = ["packages/cart/src/app.ts", "packages/till/src/app.ts"]
    meant = [any(is_at(file, each) for each, _ in names.lines) for file in files]
    assert meant == [True, False]


def test_the_version_of_an_installed_package_is_no_part_of_a_path():
    names = names_in("cart.Add(0x1)\n\t/go/pkg/mod/shop.example/cart@v1.2.3/add.go:7 +0x1d")
    assert names.match_paths(["cart/add.go", "till/add.go"]) == [True, False]


def test_an_installed_package_of_another_project_means_no_file_of_this_one():
    names = names_in("at dispatch (/srv/node_modules/redux/index.js:7:3)")
    assert names.match_paths(["src/redux/index.js"]) == [False]


def test_the_innermost_frames_of_a_traceback_come_first(make_codebase, tmp_path):
    (tmp_path / "src").mkdir()
    steps = "".join(
        f"def step{n}(cart):\n" + f"    step{n + 1}(cart)\n" * 30 + "\n" for n in range(9)
    )
    (tmp_path / "src/cart.py").write_text(steps)
    (tmp_path / "src/till.py").write_text("def pay(cart):\n    raise KeyError(cart)\n")
    (tmp_path / "cart.py").write_text("def step1(cart):\n    return cart\n" * 50)
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    frames = [("src/cart.py", 4), ("src/cart.py", 70), ("src/cart.py", 260), ("src/till.py", 2)]
    traceback = "".join(
        f'  File "/ci/{path}", line {line}, in step1\n    step1(cart)\n' for path, line in frames
    )
    query = f"Traceback (most recent call last):\n{traceback}KeyError: step1"
    found = codebase.search(CodeQuery(query, explain=True), reporter=Silent())
    for (path, line), hit in zip(reversed(frames), found, strict=False):
        assert hit.filename == path
        assert hit.start_line <= line <= hit.end_line
        assert sum(hit.explain.terms.values()) == pytest.approx(hit.score, abs=1e-4)
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)


def test_the_chunk_that_holds_the_line_of_a_traceback_comes_first(make_codebase, tmp_path):
    (tmp_path / "shop").mkdir()
    padding = "".join(f"        total = total + {n} * price_of(item, {n})\n" for n in range(25))
    sell = "".join(f"def sell{n}(item, total):\n    if item:\n{padding}\n" for n in range(9))
    (tmp_path / "shop/cart.py").write_text(sell)
    (tmp_path / "shop/cart_again.py").write_text("# cart.py 200, sold in cart.py\n")
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    for query in (
        "cart.py:200",
        "what is wrong at shop/cart.py:200:5?",
        f'File "{tmp_path}/shop/cart.py", line 200, in sell1\n    raise KeyError(item)',
    ):
        (hit, *_) = codebase.search(CodeQuery(query), reporter=Silent())
        assert hit.filename == "shop/cart.py", query
        assert hit.start_line <= 200 <= hit.end_line, query
    (hit, *_) = codebase.search(CodeQuery("what is at shop/cart.py:9999 now"), reporter=Silent())
    assert hit.filename == "shop/cart.py"


def test_an_absolute_path_means_the_file_of_the_source_that_it_ends_with():
    names = names_in("/srv/clone/shop/app.py")
    assert names.match_paths(["shop/app.py", "app.py", "other/app.py", "op/app.py"]) == [
        *(True, True, False, False)
    ]


def test_a_qualified_name_wants_its_qualifier():
    names = names_in("Cart.add")
    assert names.are_defined_by(("add",), "shop.Cart")
    assert names.are_defined_by(("Cart", "add"), "")
    assert not names.are_defined_by(("add",), "Basket")
    assert not names.are_defined_by(("remove",), "Cart")


def test_a_qualified_name_finds_its_definition_outside_of_what_qualifies_it(
    make_codebase, tmp_path
):
    many = "\n".join(f"  void Tidy{number}(int depth);" for number in range(30))
    (tmp_path / "cart.h").write_text(
        f"namespace shop {{\nclass Cart {{\n  void Merge(Cart* other);\n{many}\n}};\n}}\n"
    )
    body = "\n".join(f"  total_ += other->prices_[{number}];" for number in range(20))
    (tmp_path / "cart.cc").write_text(
        f"namespace shop {{\nvoid Cart::Merge(Cart* other) {{\n{body}\n}}\n}}\n"
    )
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    for query in ("Cart::Merge", "shop::Cart::Merge"):
        found = codebase.search(CodeQuery(query), reporter=Silent())
        exact = [hit.filename for hit in found if hit.score > 0.9]
        assert "cart.cc" in exact, query


def test_a_name_qualified_by_a_class_finds_the_member_of_its_base(make_codebase, tmp_path):
    (tmp_path / "base.py").write_text(
        "class Scaffold:\n    def route(self, rule):\n        return rule\n"
        + "\n".join(
            f"    def other{n}(self, rule):\n        return rule + {n}\n" for n in range(40)
        )
    )
    (tmp_path / "app.py").write_text(
        "from base import Scaffold\n\nclass App(Scaffold):\n    def run(self):\n        return 1\n"
    )
    (tmp_path / "routes.py").write_text("def app_routes(app):\n    return app.route\n")
    (tmp_path / "other.py").write_text("class Other:\n    def route(self):\n        return 2\n")
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    for query in ("App.route", "how does App.route work"):
        found = codebase.search(CodeQuery(query, explain=True), reporter=Silent())
        exact = [hit.filename for hit in found if "exact_symbol" in hit.explain.boosts]
        assert exact == ["base.py"], query


def test_a_message_and_a_question_for_tests_lead_to_no_qualified_name_in_them(
    make_codebase, tmp_path
):
    (tmp_path / "cart.js").write_text("Cart.prototype.merge = function (other) {\n  return 1\n}\n")
    (tmp_path / "shop.js").write_text('throw Error("Cart.merge needs another cart")\n')
    (tmp_path / "cart.test.js").write_text('describe("merge", () => { cart.merge(another) })\n')
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    for query, first in (
        ("how does Cart.merge work", "cart.js"),
        ("Cart.merge needs another cart", "shop.js"),
        ("tests of Cart.merge with another cart", "cart.test.js"),
    ):
        assert codebase.search(CodeQuery(query), reporter=Silent())[0].filename == first, query


def test_the_log_of_a_failed_test_leads_to_the_test(make_codebase, tmp_path):
    (tmp_path / "tests").mkdir()
    other = "\n".join(f"#[test]\nfn merges{n}() {{ assert!(till({n})); }}" for n in range(60))
    adds = "#[test]\nfn adds() { assert_eq!(1, 2); }\n"
    (tmp_path / "tests" / "till.rs").write_text(f"{other}\n{adds}")
    failed = "fn failed(test: Test) { println!(test.adds, test.till, test.assertion); }\n"
    (tmp_path / "tests" / "run.rs").write_text(failed)
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    log = "test till::adds ... FAILED\nassertion failed: left == right"
    best = codebase.search(CodeQuery(log, explain=True), reporter=Silent())[0]
    assert (best.filename, best.explain.boosts.get("exact_symbol")) == ("tests/till.rs", 1)


def test_of_a_qualified_name_only_what_its_qualifier_may_name_is_read(
    make_codebase, tmp_path, monkeypatch
):
    classes = (f"class C{number}:\n    def __init__(self): ...\n" for number in range(60))
    (tmp_path / "many.py").write_text("\n".join(classes))
    (tmp_path / "reply.js").write_text(
        "function Reply() {}\nReply.prototype.send = function (text) {};\n"
    )
    codebase = make_codebase()
    codebase.index([tmp_path], reporter=Silent(), embed=False)
    read = list[str]()

    def defined(name: str, path: str, *columns: Any, **place: Any) -> Defined:
        read.append(path)
        return Defined(name, path, *columns, **place)

    monkeypatch.setattr(graph, "Defined", defined)
    names = names_in("C7.__init__ many.__init__ Reply.prototype.send C7.gone")
    with codebase.data.open().reading() as connection:
        known = DefinedNames(connection, ())
        places = [place for name in names.symbols for place in known.places_of(name)]
    many = [place for place in places if place.path == "many.py"]
    assert places[0].line == 3 * 7 + 2
    assert len(many) == 1 + MAX_PLACES
    assert [(each.path, each.line) for each in places[len(many) :]] == [("reply.js", 2)]
    assert len(read) == 1 + 60 + 1


def test_a_path_is_located_at_its_end_and_at_a_folder():
    names = names_in("app.py")
    assert names.match_paths(["app.py", "src/app.py", "src/myapp.py"]) == [True, True, False]


def test_a_sentence_about_what_many_files_are_called_is_about_none_of_them():
    files = [f"packages/{number}/package.json" for number in range(MAX_FILES_AT_PATHS + 1)]
    names = names_in("bump the versions in package.json")
    assert names.match_paths(files[1:]) == [True] * MAX_FILES_AT_PATHS
    assert not any(names.match_paths(files))
    assert all(names_in("package.json").match_paths(files))


def test_a_name_finds_the_long_chunk_that_defines_it_behind_all_that_use_it(
    make_codebase, tmp_path
):
    names = ("removeItem", "add_item", "renderHTML")
    root = tmp_path / "shop"
    root.mkdir()
    padding = "".join(f"        self.field_{n} = compute_{n}(value_{n})\n" for n in range(12))
    methods = (f"    def {name}(self):\n{padding}" for name in ("begin", *names, "end"))
    (root / "cart.py").write_text("class Cart:\n" + "\n".join(methods))
    for number in range(250):
        uses = "".join(f"cart.{name}()\n{name}()\n" for name in names)
        (root / f"user{number}.py").write_text(uses)
    for number in range(60):
        longer = "".join(f"def {name}Number{number}(): ...\n" for name in names)
        (root / f"longer{number}.py").write_text(longer)
    codebase = make_codebase()
    codebase.index([root], reporter=Silent(), embed=False)
    for name in names:
        (hit, *_) = codebase.search(CodeQuery(name), reporter=Silent())
        assert (hit.filename, name in hit.symbols) == ("cart.py", True)


def test_a_guide_is_looked_at_however_many_files_have_the_words_of_the_question(
    make_codebase, project
):
    (project / "README.md").write_text("# Development\n\n    ./task check\n")
    for number in range(300):
        test = f"def test_{number}():\n    run_the_tests_of(the_tests, {number})\n"
        (project / f"test_{number}.py").write_text(test)
    codebase = make_codebase()
    codebase.index([project], reporter=Silent())
    hits = codebase.search(CodeQuery("how do I run the tests"), reporter=Silent())
    assert "README.md" in {hit.filename for hit in hits[:2]}
