"""What stands behind a receiver of PHP is of the class that its file tells.

The receiver is declared as such, is assigned one, or is what a method returns.
"""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

SHOP = (
    "<?php\nnamespace Shop;\n"
    "interface Sized {\n  function size();\n}\n"
    "trait Priced {\n  function price() {}\n}\n"
    "class Cart implements Sized {\n  use Priced;\n"
    "  function size() {}\n  function add(): static {}\n  static function make(): Cart {}\n}\n"
    "class Till implements Sized {\n  public ?Cart $cart;\n"
    "  function size() {}\n  function add() {}\n  function cart(): ?Cart {}\n}\n"
    "class LateTill extends Till {}\n"
)
CART_ADD, TILL_ADD = "Cart.add", "Till.add"
CART_PRICE, TILL_FIELD = "Priced.price", "Shop.php:16"


def tell(tmp_path, head: str, line: str, asked: str) -> list[str]:
    """Return where `asked` is used and how surely, in a method with `line` below `head`."""
    use = f"<?php\nnamespace Page;\nuse Shop\\{{Cart, Till, LateTill}};\nclass Page {{\n{head}\n"
    write_tree(tmp_path, {"Shop.php": SHOP, "Page.php": f"{use}  {line}\n}}\n"})
    found = told_in(tmp_path)("refs", asked)
    return [hit.removeprefix("Page.php:") for hit in found if hit.startswith("Page.php:6")]


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("function a(?Cart $one) { $one->add(); }", CART_ADD),
        ("function a() { $one = new Till; $one = new Cart(1); $one->add(); }", CART_ADD),
        ("function a() { $one = new \\Shop\\Cart; fn() => $one->add(); }", CART_ADD),
        ("function a($all) { array_map(fn(Cart $one) => $one->add(), $all); }", CART_ADD),
        ("function a($one) { if ($one instanceof Cart) $one->add(); }", CART_ADD),
        ("function a() { try {} catch (Cart $one) { $one->add(); } }", CART_ADD),
        ("function a() { (new Cart)->add(); }", CART_ADD),
        ("function a() { Cart::make()->add(); }", CART_ADD),
        ("function a(Till $till) { $till->cart->add(); }", CART_ADD),
        ("function a(Till $till) { $till?->cart()?->add()->add()->add(); }", CART_ADD),
        ("function a(Till $till) { $one = $till->cart(); $one->add(); }", CART_ADD),
        ("function a(LateTill $one) { $one->add(); }", TILL_ADD),
        ("function a(LateTill $one) { $one->cart; }", TILL_FIELD),
        ("function a(Cart $one) { $one::make()->price(); }", CART_PRICE),
        ("/** @param Cart|null $one */ function a($one) { $one->add(); }", CART_ADD),
        ("function a($b) { /** @var Cart $one */ $one = $b->get(); $one->add(); }", CART_ADD),
        ("function a($b) { /** @var Cart */ $one = $b->get(); $one->add(); }", CART_ADD),
        ("function a() { foreach ($this->carts as $one) { $one->add(); } }", CART_ADD),
        ("function a() { $this->carts['x']->add(); }", CART_ADD),
        ("function a() { $this->last()->add(); }", CART_ADD),
        ("function a() { $this->made->add(); $this->own->add(); }", CART_ADD),
        ("function a() { self::$till->add(); static::$till->add(); }", TILL_ADD),
    ],
)
def test_a_member_is_of_the_class_that_the_file_tells_of_its_receiver(tmp_path, line, asked):
    head = (
        "/** @var array<string, Cart> */ private $carts; private $made; private Cart $own;"
        " private static Till $till; function __construct() { $this->made = new Cart; }"
        " /** @return Cart */ function last() {}"
    )
    assert tell(tmp_path, head, line, asked) == ["6 exact"]
    other = TILL_ADD if asked == CART_ADD else CART_ADD
    assert tell(tmp_path, head, line, other) == []


def test_a_variable_that_is_given_an_unknown_value_may_be_of_any_class(tmp_path):
    line = "function a() { $one = new Cart; $one = get(); $one->add(); }"
    assert tell(tmp_path, "", line, CART_ADD) == ["6 by name"]
    assert tell(tmp_path, "", line, TILL_ADD) == ["6 by name"]


def test_a_parameter_of_an_inner_function_hides_a_variable_around_it(tmp_path):
    line = "function a(Cart $one) { fn($one) => $one->add(); }"
    assert tell(tmp_path, "", line, CART_ADD) == ["6 by name"]


def test_a_member_of_an_interface_is_likely_one_of_a_class_with_it(tmp_path):
    line = "function a(\\Shop\\Sized $one) { $one->size(); $one->add(); }"
    assert tell(tmp_path, "", line, "Sized.size") == ["6 exact"]
    assert tell(tmp_path, "", line, "Cart.size") == ["6 likely"]
    assert tell(tmp_path, "", line, CART_ADD) == ["6 by name"]


def test_a_class_of_another_source_has_no_members_here_but_in_classes_derived_from_it(tmp_path):
    page = "<?php\nuse Kit\\{Reader, Writer};\nfunction a(Reader $one, Writer $two) {\n"
    page += "  $one->size();\n  $two->size();\n}\n"
    own = "<?php\nuse Kit\\Reader;\nclass Own implements Reader {\n  function size() {}\n}\n"
    write_tree(tmp_path, {"Page.php": page, "Own.php": own})
    assert told_in(tmp_path)("refs", "Own.size") == ["Page.php:4 likely"]


def test_a_class_that_takes_any_call_may_pass_it_on(tmp_path):
    page = "<?php\nclass Any { function __call($a, $b) {} }\nclass Cart { function add() {} }\n"
    page += "class Till { function add() {} }\nfunction a(Any $one) { $one->add(); }\n"
    write_tree(tmp_path, {"Page.php": page})
    assert told_in(tmp_path)("refs", "Cart.add") == ["Page.php:5 by name"]


def test_a_class_is_that_of_the_imported_namespace(tmp_path):
    cart = "class Cart {\n  function add() {}\n}\n"
    files = {each: f"<?php\nnamespace {each[0]};\n{cart}" for each in ("A.php", "B.php")}
    files["Page.php"] = "<?php\nuse B\\Cart as Basket;\nfunction a(Basket $c) { $c->add(); }\n"
    write_tree(tmp_path, files)
    ask = told_in(tmp_path)
    assert ask("refs", "B.php:4") == ["Page.php:3 exact"]
    assert ask("refs", "A.php:4") == []


def test_values_that_lead_to_one_another_have_no_class(tmp_path):
    line = "function a() { $this->b = $this->c; $this->c = $this->b; $this->c->add(); }"
    assert tell(tmp_path, "private $b; private $c;", line, CART_ADD) == ["6 by name"]


@pytest.mark.parametrize(
    "line", ["[$this, 'size']", "[\\Shop\\Cart::class, 'size']", "[self::class, 'size']"]
)
def test_a_pair_of_an_object_and_a_name_uses_its_method(tmp_path, line):
    head = "function size() {}"
    asked = "Cart.size" if "Cart" in line else "Page.size"
    assert tell(tmp_path, head, f"function a() {{ array_map({line}, []); }}", asked) == ["6 exact"]


def test_methods_that_return_one_of_many_classes_lead_to_each_class_once(tmp_path):
    types = "|".join(f"C{n}" for n in range(20))
    classes = "".join(f"class C{n} {{\n  function on(): {types} {{}}\n}}\n" for n in range(20))
    page = f"<?php\n{classes}function a(C0 $c) {{\n  $c{'->on()' * 8};\n}}\n"  # 20⁸ ways
    write_tree(tmp_path, {"Page.php": page})
    assert told_in(tmp_path)("refs", "C0.on")[0] == "Page.php:63 exact"
