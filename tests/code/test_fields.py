"""A question about a field or a setting leads to the line that declares it."""

from __future__ import annotations

import pytest

from memory_sidecar.index.scored import NAMED_FROM
from tests.code.trees import search_in, write_tree

FILES = {
    "src/options.rs": "pub struct Options {\n    pub till_mode: String,\n"
    "    pub drawer_limit: u32,\n}\n",
    "src/config.rs": "make_config! {\n    receipts {\n"
    "        receipt_width:  u32,   true,   def,    40;\n    },\n}\n",
    "src/till.rs": "fn open(options: &Options) {\n"
    "    let till_mode = read(till_mode, options.till_mode);\n"
    '    log("till_mode is the till mode", till_mode, config.receipt_width());\n}\n\n'
    "fn print(config: &Config) {\n    // receipt_width, receipt_width: receipt_width of receipts\n"
    "    wrap(config.receipt_width(), receipt_width);\n}\n",
    "config/shop.php": "<?php\nreturn [\n    'coupon_days' => env('COUPON_DAYS', 30),\n];\n",
    "app/coupons.php": "<?php\nfunction coupons() {\n    $days = config('shop.coupon_days');\n"
    "    return coupon_days($days, coupon_days, 'coupon_days');\n}\n",
    "tests/options_test.rs": "struct Options {\n    till_mode: bool,\n}\n",
}


@pytest.fixture
def search(make_codebase, project):
    write_tree(project, FILES)
    return search_in(project, make_codebase())


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("which values can till_mode have", "src/options.rs"),
        ("what is the till_mode default", "src/options.rs"),
        ("till_mode", "src/options.rs"),
        ("default drawer_limit", "src/options.rs"),
        ("where do I change receipt_width", "src/config.rs"),
        ("what does receipt_width do", "src/config.rs"),
        ("default value of coupon_days", "config/shop.php"),
    ],
)
def test_a_setting_leads_to_the_line_that_declares_it(search, text, file):
    assert search(text)[0].filename == file


def test_a_sentence_that_is_no_question_asks_for_what_uses_a_field(search):
    assert search("log the till_mode when the till opens")[0].filename == "src/till.rs"


def test_a_plain_word_does_not_ask_for_the_field_that_is_called_so(make_codebase, project):
    write_tree(
        project,
        {"till.py": "def open(view):\n    return view\n", "a.rs": "struct A {\n    view: B,\n}\n"},
    )
    assert search_in(project, make_codebase())("view")[0].filename == "till.py"


def test_a_field_that_many_declare_leads_to_none(make_codebase, project):
    other = "struct Till {\n    till_mode: bool,\n}\n"
    write_tree(project, FILES | {f"src/till_{name}.rs": other for name in "abc"})
    search = search_in(project, make_codebase())
    assert search("where is till_mode logged")[0].score < NAMED_FROM


def test_a_name_alone_leads_to_the_file_that_is_called_so(make_codebase, project):
    write_tree(project, FILES | {"src/till_mode.rs": "pub fn choose() -> u32 {\n    3\n}\n"})
    search = search_in(project, make_codebase())
    assert search("till_mode")[0].filename == "src/till_mode.rs"
    assert search("what is the till_mode default")[0].filename == "src/options.rs"
