"""What paths of Rust mean: `super` is the module around, in its file or above it."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "src/lib.rs": "pub mod cart;\npub mod pay;\npub fn limit() {}\n",
    "src/cart.rs": (
        "use super::limit;\n"
        "pub fn price() {}\n"
        "fn all() { super::limit(); crate::limit(); self::price(); }\n"
        "mod tests { fn check() { super::price(); super::far(); } }\n"
    ),
    "src/bare.rs": "fn bare() { far(); }\n",
    "src/pay/mod.rs": "mod card;\npub use self::card::card;\n",
    "src/pay/card.rs": "pub fn card() {}\n",
    "src/go.rs": "use crate::pay;\nfn go() { pay::card(); }\n",
    "src/cart/line.rs": "pub fn line() { super::price(); }\nmod imp { pub fn far() {} }\n",
    "src/cart/stock/mod.rs": "fn stock() { super::price(); }\n",
    "src/rate.rs": "pub struct Fee;\n",
    "src/tax/mod.rs": "pub struct Fee;\npub struct Vat;\n",
    "src/sum.rs": "use crate::{rate::Fee, tax::Vat};\nfn sum(fee: Fee, vat: Vat) {}\n",
    "tool/src/main.rs": "fn limit() {}\nfn price() {}\nfn main() { crate::limit(); }\n",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("crates")
    write_tree(root, FILES)
    return told_in(root)


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("src/lib.rs:3", ["src/cart.rs:1 exact", "src/cart.rs:3 exact", "src/cart.rs:3 likely"]),
        (
            "src/cart.rs:2",
            [
                "src/cart.rs:3 exact",
                "src/cart.rs:4 exact",
                "src/cart/line.rs:1 exact",
                "src/cart/stock/mod.rs:1 exact",
            ],
        ),
        ("tool/src/main.rs:1", ["tool/src/main.rs:3 likely"]),
        ("tool/src/main.rs:2", []),
        ("far", ["src/cart.rs:4 likely"]),
    ],
)
def test_paths_from_the_module_around_and_from_the_crate(told, name, uses):
    assert told("refs", name) == uses


def test_what_is_called_is_no_module_of_its_name(told):
    assert told("callers", "src/pay/mod.rs:1") == []
    assert told("callers", "src/pay/card.rs:1") == ["src/go.rs:2 likely"]


def test_a_bare_name_is_of_the_module_before_it_in_its_own_import(told):
    assert told("refs", "src/rate.rs:1") == ["src/sum.rs:2 exact", "src/sum.rs:1 likely"]
    assert "src/sum.rs" not in "".join(told("refs", "src/tax/mod.rs:1"))
