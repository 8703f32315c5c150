"""What a question tells of how to rank."""

from __future__ import annotations

import time

import numpy as np
import pytest

from memory_sidecar.code.asides import is_aside, is_data
from memory_sidecar.code.guides import ENTRY_PAGE_BOOST, GUIDE_BOOST
from memory_sidecar.code.model import CodeQuery
from memory_sidecar.code.question import (
    ASIDE_PATH_SHARE,
    ASIDE_PENALTY,
    COMMON_NAMES,
    DOCS_PENALTY,
    KEYWORD_WEIGHT,
    KEYWORD_WEIGHT_QUOTED,
    NAME_WEIGHT,
    PATH_WEIGHT,
    TESTS_BOOST,
    Question,
)
from memory_sidecar.core.results import Silent
from memory_sidecar.index.keyword import BM25_HALF, keyword_share


def test_keyword_share_saturates_and_keeps_order():
    share = keyword_share(np.array([0, BM25_HALF, 1e6], np.float32))
    assert share[0] == 0
    assert share[1] == pytest.approx(0.5)
    assert 0.99 < share[2] < 1


@pytest.mark.parametrize("query", ["parse_args", "Cart.add", "HttpClient", "main()", "a/b", "`x`"])
def test_quoted_code_makes_keywords_count_more(query):
    assert Question.of(query).keyword_weight == KEYWORD_WEIGHT_QUOTED


def test_plain_words_do_not():
    assert Question.of("how are totals computed").keyword_weight == KEYWORD_WEIGHT


def test_the_name_of_a_language_is_no_subject():
    question = Question.of("sort a list in python")
    assert question.subject == "sort a list"
    assert question.wordings == ("sort a list in python", "sort a list")


@pytest.mark.parametrize(
    ("asked", "about"),
    [
        ("how does decay work?", "decay"),
        ("where is the writer lock taken", "the writer lock taken"),
        ("can you please tell me where totals are computed?", "totals are computed"),
        ("show me the code for `Cart.add`", "`Cart.add`"),
        ("find QuerySet", "QuerySet"),
        ("which file contains parse_args?", "parse_args?"),
        ("I need to change the parser, which file should I look at?", "the parser"),
        ("what happens when the disk is full", "the disk is full"),
        ("how does the app handle late payments?", "late payments"),
        ("QuerySet class", "QuerySet"),
        ("def parse_args", "parse_args"),
        ("the Cart.add method signature?", "Cart.add"),
    ],
)
def test_the_wording_around_a_request_is_left_out(asked, about):
    assert Question.of(asked).text == about


def test_a_request_is_no_message_and_an_exclamation_may_be_one():
    assert not Question.of("show me the code for the cart").message
    assert not Question.of("where are totals rounded?").message
    assert Question.of("Did you forget to call init?").message == "Did you forget to call init?"
    assert Question.of("a total must be positive!").text == "a total must be positive!"


@pytest.mark.parametrize(
    "asked",
    [
        "find tests by name and run them in parallel",
        "list files of a folder",
        "how are routes registered",
        "how do we parse a request",
        "what is this",
        "where is it defined",
        "please-wait dialog",
        "status code",
        "hash function",
        "HTTP method",
        "python enum",
    ],
)
def test_what_a_request_is_about_stays(asked):
    assert Question.of(asked).text == asked


def test_we_ask_for_code_and_not_for_a_guide():
    assert not Question.of("how do we parse a request").asks_for_guide
    assert Question.of("how do we run the tests").asks_for_guide
    assert Question.of("run the tests of one package").asks_for_guide
    assert Question.of("migrate from version 6 to 7").asks_for_guide
    assert not Question.of("migrate the tables of a till").asks_for_guide
    assert Question.of("which language versions does lazy.nvim support").asks_for_guide


def test_a_question_that_goes_round_takes_no_time():
    began = time.thread_time()
    assert not Question.of("what version " * 1_500).asks_for_guide
    assert time.thread_time() - began < 10


def test_a_question_of_nothing_but_a_language_keeps_it():
    assert Question.of("python").wordings == ("python",)


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_cart.py",
        "src/cart_test.go",
        "CartTests.cs",
        "a.spec.ts",
        "e2e/a.ts",
        "src/conftest.py",
        "cart/testdata/a.go",
        "features/cart.feature",
        "adapt/log.caddyfiletest",
        "t/cart.t",
        "xt/style.t",
        "src/CartTestCase.php",
        "src/TillTestUtilities/Cart.java",
        "regress/cart.sh",
    ],
)
def test_tests_count_less_unless_asked_for(path):
    assert Question.of("how are totals computed").penalties(path).keys() == {"tests"}
    assert not Question.of("which test covers totals").penalties(path)
    assert Question.of("a cart in memory for tests").penalties(path).keys() == {"tests"}
    assert Question.of("assert that a cart is empty").penalties(path).keys() == {"tests"}


@pytest.mark.parametrize(
    "path",
    [
        "schemas/save.json",
        "tests/fixtures/a.py",
        "package-lock.json",
        "pnpm-lock.yaml",
        "tags",
    ],
)
def test_data_counts_less_unless_asked_for(path):
    assert "data" in Question.of("how are totals computed").penalties(path)
    assert "data" not in Question.of("the JSON schema of what is saved").penalties(path)


@pytest.mark.parametrize(
    "path",
    [
        "third-party/a.c",
        "src/till/_vendor/rates/schema.py",
        "a.min.js",
        "api/cart.pb.go",
        "cart_pb2.py",
        "zz_generated.deepcopy.go",
        "lib/cart.freezed.dart",
        "priv/static/shop.cjs.js",
        "till/client-dist/till.js",
        "src/sqlite3.h",
    ],
)
def test_code_of_others_counts_less_whatever_data_is_asked_for(path):
    for asked in ("how are totals computed", "which version of a package is in the settings"):
        assert Question.of(asked).penalties(path).keys() == {"vendored"}
    assert not Question.of("which vendored code is there").penalties(path)


@pytest.mark.parametrize(
    "path", ["notes.markdown", "INSTALL", "till/LICENSE-MIT", "ChangeLog", "requirements.txt"]
)
def test_prose_counts_less_whatever_it_is_called(path):
    assert Question.of("how are totals computed").penalties(path).keys() == {"docs"}


def test_who_asks_how_to_do_something_asks_docs_as_much_as_code():
    question = Question.of("how to share a cart")
    assert not question.penalties("docs/sharing.md")
    assert question.penalties("CHANGELOG.md").keys() == {"changes"}
    assert not question.penalties("src/history.rs")


@pytest.mark.parametrize(
    ("asked", "gain"),
    [
        ("unit tests for the cart", TESTS_BOOST),
        ("spec of the markdown renderer", TESTS_BOOST),
        ("where are the cart tests", TESTS_BOOST),
        ("where is rounding tested", TESTS_BOOST),
        ("client for tests of carts", 0),
        ("test client", 0),
        ("how carts are rounded", 0),
    ],
)
def test_tests_gain_where_they_are_what_is_asked_for(asked, gain):
    assert Question.of(asked).tests_boost("tests/test_cart.py") == gain
    assert Question.of(asked).tests_boost("cart.py") == 0


@pytest.mark.parametrize(
    "asked",
    [
        "default currency of a till",
        "which ports are blocked",
        "setting for the currency",
        "currency option",
    ],
)
def test_docs_lose_half_as_much_where_a_value_or_a_list_is_asked_for(asked):
    assert Question.of(asked).penalties("docs/till.md") == {"docs": -DOCS_PENALTY}
    assert Question.of(asked).penalties("CHANGELOG.md")["docs"] == -ASIDE_PENALTY


@pytest.mark.parametrize(
    "line",
    [
        "use shop::till::{Price, Total};",
        "pub use crate::till::Price;",
        "use Shop\\Till\\Price;",
        "import { price } from './till'",
        "import '../till.dart';",
        "import com.shop.Till;",
        "import static com.shop.Till.price;",
        "import com.shop.Till as Counter",
        "import '../till.dart' show Price;",
        "import qualified Shop.Till as Till",
        "from shop.till import price",
        '#include "till.h"',
        "require 'shop/till'",
        "autoload :Till, 'shop/till'",
        "from shop.till import price\n",
    ],
)
def test_an_import_is_no_message_that_files_with_the_same_import_hold(line):
    assert not Question.of(line).message
    assert not Question.of(line).pasted
    assert Question.of(f"{line}\nprice is undefined").message


@pytest.mark.parametrize(
    "words",
    [
        "import of prices failed",
        "import shop.till failed",
        "use of a closed till",
        "require a price",
        "from the till",
    ],
)
def test_words_that_begin_like_an_import_may_be_a_message(words):
    assert Question.of(words).message


def test_a_table_is_no_message():
    assert not Question.of("| Name | Default |\n|---|:--|\n| `TILL_MODE` | open |").message


def test_words_about_a_default_are_no_message_that_a_comment_may_hold():
    assert not Question.of("default resolve timeout").message
    for message in ("Default till not found", "default till: no such file"):
        assert Question.of(message).message


@pytest.mark.parametrize(
    "asked", ["what calls round", "which function rounds", "how is it rounded"]
)
def test_docs_lose_all_of_it_where_code_is_asked_for(asked):
    assert Question.of(asked).penalties("docs/till.md") == {"docs": -ASIDE_PENALTY}


def test_comments_and_docstrings_are_asked_for_in_code():
    for asked in ("the schema made of docstrings", "ignoring hints by comments in a module"):
        assert "docs" in Question.of(asked).asides


@pytest.mark.parametrize("path", ["shop.d.ts", "sorbet/rbi/shop.rbi", "sig/shop.rbs"])
def test_declarations_of_types_count_less_unless_types_are_asked_for(path):
    penalties = Question.of("how carts are totalled").penalties(path)
    assert penalties.keys() == {"declarations"}
    assert not Question.of("the types of a cart").penalties(path)


@pytest.mark.parametrize("path", ["CMakeLists.txt", "src/install.py", "bin/install"])
def test_a_name_like_that_of_prose_is_none(path):
    assert not Question.of("how are totals computed").penalties(path)


@pytest.mark.parametrize(
    ("path", "is_docs"),
    [
        ("doc/api.c", True),
        ("site/docs/a.js", True),
        ("src/site/ko/xdoc/api.xml", True),
        ("flags/doc/man.rs", False),
    ],
)
def test_code_in_an_inner_folder_called_doc_makes_docs_and_is_none(path, is_docs):
    assert ("docs" in Question.of("how are totals computed").penalties(path)) is is_docs


def test_an_example_in_the_docs_loses_twice():
    assert Question.of("totals").penalties("docs/examples/cart.md").keys() == {"docs", "examples"}


@pytest.mark.parametrize(
    "path", ["src/contest.py", "latest/api.py", "attestation.go", "src/regression.py"]
)
def test_names_that_only_contain_test_are_none(path):
    assert not Question.of("totals").penalties(path)


@pytest.mark.parametrize(
    ("question", "path", "share"),
    [
        (
            "saving models to disk",
            "src/models/disk.py",
            2 / 3,
        ),  # folder and file; "to" tells nothing
        ("how is it compiled", "tool/compile.c", 1.0),
        ("bash completions", "bash_completionsV2.go", 1.0),
        ("session cookies", "lib/session/cookie.ex", 1.0),
        ("type of a runtime", "lib/utils/kindOf.ts", 0.0),
        ("store", "src/types/store/index.ts", 1.0),
        ("of it", "of.py", 0.0),
        ("string interning", "src/lstring.c", 0.5),  # run together
        ("map of properties", "tpropertymap.h", 0.0),  # `map` may stand anywhere by chance
    ],
)
def test_names_of_file_and_folder_match_words_by_their_beginnings(question, path, share):
    asked = Question.of(question)
    assert asked.share_of_bits(asked.name_bits(path)) == pytest.approx(share)
    assert asked.name_shares([asked.name_bits(path)]) == [pytest.approx(share)]


def test_a_word_in_the_names_of_many_files_tells_less():
    question = Question.of("cookie store")
    cookie, store = (question.name_bits(f"{name}.py") for name in ("cookie", "store"))
    shares = question.name_shares([cookie, *[store] * (2 * COMMON_NAMES)])
    assert shares[0] == 2 * shares[1] == 0.5


def test_the_better_of_path_and_name_counts():
    question = Question.of("cookie")
    assert question.path_boost(1.0, 1.0, is_aside=False) == NAME_WEIGHT
    assert question.path_boost(1.0, 0.0, is_aside=False) == PATH_WEIGHT


def test_the_name_of_an_aside_counts_half_and_nothing_beside_a_guide():
    boost = Question.of("cookie").path_boost(0.0, 1.0, is_aside=True)
    assert boost == ASIDE_PATH_SHARE * NAME_WEIGHT
    assert Question.of("how do I install cookie").path_boost(1.0, 1.0, is_aside=True) == 0.0


@pytest.mark.parametrize(
    ("question", "path", "gain"),
    [
        ("how is shop licensed", "LICENSE", ENTRY_PAGE_BOOST),
        ("which licence does it have", "docs/license.rst", ENTRY_PAGE_BOOST),
        ("how is shop licensed", "vendor/till/LICENSE", 0.0),
        ("how do I install shop", "LICENSE.txt", 0.0),
        ("how do I install shop", "README.md", ENTRY_PAGE_BOOST),
        ("how do I install shop", "docs/usage.md", GUIDE_BOOST),
        ("how do I install shop", "INSTALL", ENTRY_PAGE_BOOST),
        ("how do I install shop", "docs/manual/install.html", GUIDE_BOOST),
        ("how do I install shop", "templates/install.html", 0.0),
        ("where to report bugs", "README.md", ENTRY_PAGE_BOOST),
        ("how does a rule report problems", "README.md", 0.0),
        ("where is the price computed", "README.md", 0.0),
    ],
)
def test_a_question_for_a_guide_lifts_what_is_read_first(question, path, gain):
    assert Question.of(question).guide_boost(path) == gain


@pytest.mark.parametrize(
    ("path", "is_foreign"),
    [
        ("deps/lua/src/lua.h", True),
        ("src/3rdparty/zlib/zlib.c", True),
        ("pip/_vendor/rich/text.py", True),
        ("src/deps/graph.py", False),
        ("src/plugins/external.ts", False),
    ],
)
def test_what_lies_where_projects_keep_what_others_wrote_is_foreign(path, is_foreign):
    assert is_data(path) is is_foreign


@pytest.mark.parametrize(
    ("path", "aside"),
    [
        ("playground/ssr/server.js", True),
        ("Shop.playground/Contents.swift", True),
        ("src/playground.ts", False),
        ("_examples/cart/main.go", True),
        ("src/Shop.Examples.Worker/SlowCart.cs", True),
        ("com.example.shop/src/Cart.java", False),
        ("fuzzing/carts/corpus.dict", True),
        ("ShopTestHelpers/Stub.swift", True),
        ("shop-test/src/jvmMain/kotlin/Stub.kt", False),
        ("shop-test/src/commonTest/kotlin/Stub.kt", True),
        ("src/test/java/main/Cart.java", True),
        ("src/domain/cart.test.ts", True),
        ("shop.1", True),
        ("shop.1.in", True),
        ("share/man/man1/shop", True),
        ("lib/shop-1.2.js", False),
        ("Shop.xcodeproj/project.pbxproj", True),
        ("shop-site/src/site/pages/news.html", True),
        ("manual/appenders.html", True),
        ("src/manual/appenders.rs", False),
        ("templates/news.html", False),
        ("shop-examples/src/main/java/Cart.java", True),
        ("examples.py", False),
        ("build-aux/config.guess", True),
        ("configure", True),
        ("configure.ac", False),
        ("src/configure.py", False),
        ("changelog/1.2.0/issue-7", True),
        ("guides/carts.cheatmd", True),
        ("toolkit/properties.dox", True),
        ("manual/manual.of", True),
        ("src/manual.lua", False),
        ("src/changelog/entry.rs", False),
        ("nuspecs/Shop.nuspec", True),
        ("app/Locale/de_DE/texts.php", True),
        ("config/locales/pt-BR.yml", True),
        ("config/locales/en.yml", False),
        ("config/locales/en-US.yml", False),
        ("config/locales/en_GB.yml", True),
        ("resources/lang/en-au/cart.php", True),
        ("src/i18n/fr.ts", True),
        ("src/i18n/index.ts", False),
        ("src/i18n/ui/button.tsx", False),
        ("internal/locale/printer.go", False),
        ("translations/shop_de.ts", True),
        ("po/de.po", True),
        ("res/values-de/strings.xml", True),
        ("res/values-night/colors.xml", False),
        ("Base.lproj/Main.storyboard", False),
        ("messages_de.properties", True),
        ("messages_en.properties", False),
        ("messages_en_GB.properties", True),
        ("shop_db.properties", False),
        ("codemods/__testfixtures__/cart.input.tsx", True),
        ("src/Shop.Core/Shop.Core.csproj", True),
        ("test/src/main/scala/Client.scala", True),
        ("src/main/scala/test.scala", False),
        ("lib/shop/rack_test/form.rb", False),
        ("lib/shop/test/form.rb", True),
        ("integration_test/form.rb", True),
        ("include/shop/fmt/bundled/color.h", True),
        ("shop.d.ts", True),
        ("types/cart.d.mts", True),
        ("src/cart.ts", False),
        ("shop-core/api/shop-core.api", True),
        ("documentation-website/topics/carts.topic", True),
    ],
)
def test_asides_are_known_by_the_layouts_of_many_languages(path, aside):
    assert is_aside(path) is aside


@pytest.mark.parametrize(
    ("path", "is_translated"),
    [
        ("README.fr.md", True),
        ("README.zh-CN.md", True),
        ("readme_pt_BR.rst", True),
        ("docs/fr/install.md", True),
        ("docs/cs-CZ/install.md", True),
        ("docs/guide/install.de.md", True),
        ("README.md", False),
        ("README-go.md", False),
        ("docs/en/install.md", False),
        ("docs/en-GB/install.md", False),
        ("docs/cs/install.md", False),
        ("docs/no-code/install.md", False),
    ],
)
def test_translations_are_asides_unless_asked_for_in_any_language(path, is_translated):
    english = Question.of("how do I install shop")
    assert ("translations" in english.penalties(path)) is is_translated
    for asked in (
        "how do I install shop in Japanese",
        "comment installer shop",
        "installation von shop für einen Laden",
        "installation: 如何安装",
    ):
        assert "translations" not in Question.of(asked).penalties(path)


def test_the_name_of_the_project_tells_nothing_of_how_to_use_it():
    guide, code = (
        Question.of(asked, ["shop", "other"])
        for asked in ("how do I install shop", "where the shop is closed")
    )
    assert guide.name_bits("docs/extending-shop.md") == 0 < guide.name_bits("docs/install.md")
    assert code.name_bits("docs/extending-shop.md") > 0


@pytest.mark.parametrize(
    ("asked", "about"),
    [
        ("how does shop round prices", "how does it round prices"),
        ("Shop\\Cart rounds prices", "Shop\\Cart rounds prices"),
        ("shop::Cart rounds prices", "shop::Cart rounds prices"),
        ("in shop, how are prices rounded", "how are prices rounded"),
        ("how does shop handle the rounding of prices?", "the rounding of prices"),
        ("where are prices rounded in Shop?", "prices rounded"),
        ("shop price rounding", "price rounding"),
        ("shop.Cart of a customer", "shop.Cart of a customer"),
        ("how does Till handle late payments", "late payments"),
        ("shopping cart totals", "shopping cart totals"),
        ("closing a shop at night", "closing a shop at night"),
        ("shop totals", "shop totals"),
    ],
)
def test_the_name_of_the_only_project_is_left_out_where_it_means_that(asked, about):
    assert Question.of(asked, ["shop"]).text == about


def test_how_to_do_something_with_the_project_itself_asks_for_a_guide():
    assert Question.of("how to back up MyShop", ["my-shop"]).asks_for_guide
    assert not Question.of("how to back up carts of MyShop", ["my-shop"]).asks_for_guide
    assert not Question.of("how to back up MyShop", ["carts"]).asks_for_guide


def test_a_guide_to_the_project_is_not_in_the_class_of_its_name(make_codebase, tmp_path):
    shop = tmp_path / "my-shop"
    shop.mkdir()
    (shop / "MyShop.php").write_text("<?php\nclass MyShop { function install() {} }\n")
    (shop / "README.md").write_text("# MyShop\n\nUnpack it to install it.\n")
    made = make_codebase()
    made.index([shop], reporter=Silent())
    hits = [
        made.search(CodeQuery(text), reporter=Silent())
        for text in ("how to install MyShop", "MyShop")
    ]
    assert [found[0].filename for found in hits] == ["README.md", "MyShop.php"]


def test_the_name_of_one_project_among_several_says_which():
    assert Question.of("shop price rounding", ["shop", "till"]).text == "shop price rounding"


def test_the_name_of_a_folder_that_names_no_project_stays():
    assert Question.of("main loop of a worker", ["main"]).text == "main loop of a worker"


def test_a_message_keeps_the_name_of_the_project():
    assert Question.of("shop: no price given", ["shop"]).message == "shop: no price given"
