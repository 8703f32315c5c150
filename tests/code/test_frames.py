"""Which methods a stack trace without lines names, and that they come first, in its order."""

from __future__ import annotations

import pytest

from memory_sidecar.code.frames import methods_in
from tests.code.trees import search_in, write_tree

CART = """namespace Shop.Sales;

public class Cart {
\tpublic Cart(int size) {
\t\tSize = size;
\t}

\tpublic async Task Fill(string item) {
\t\tawait Shelf.Take(item);
\t}
}
"""
SHELF = """namespace Shop;

public class Shelf {
\tpublic static Task Take(string item) {
\t\treturn items[item].Value;
\t}
}
"""
OTHER = "public class Other {\n\tpublic Task Fill(string item) {\n\t\treturn null;\n\t}\n}\n"
TRACE = """System.NullReferenceException: Object reference not set to an instance of an object.
   at Shop.Shelf.Take(String item)
   at Shop.Sales.Cart.<Fill>d__12.MoveNext()
--- End of stack trace from previous location ---
   at System.Threading.Tasks.Task.Run()
"""


@pytest.mark.parametrize(
    ("frame", "method"),
    [
        ("Shop.Cart.Add(String item)", "Shop.Cart.Add"),
        ("Shop.Cart.<Add>d__12.MoveNext()", "Shop.Cart.Add"),
        ("Shop.Cart.<>c.<Sum>b__4_0(Int32 x)", "Shop.Cart.Sum"),
        ("Shop.Cart.<>c__DisplayClass5_0.<Sum>b__0()", "Shop.Cart.Sum"),
        ("Shop.Cart.<Add>g__Check|5_0(String item)", "Shop.Cart.Add"),
        ("Shop.Cart..ctor(Int32 size)", "Shop.Cart.Cart"),
        ("Shop.Cart`1.get_Total()", "Shop.Cart.Total"),
        ("Shop.Cart.Add[T](T item)", "Shop.Cart.Add"),
        ("com.shop.Cart.<init>(Unknown Source)", "com.shop.Cart.Cart"),
        ("com.shop.Cart.add(Native Method)", "com.shop.Cart.add"),
        ("async Cart.load (bundle.js)", "Cart.load"),
    ],
)
def test_a_frame_names_the_method_that_was_written(frame, method):
    assert [".".join(each) for each in methods_in(f"Error: no\n   at {frame}")] == [method]


@pytest.mark.parametrize("text", ["look at Cart.add(item)", "   at add (native)", "at noon (UTC)"])
def test_other_text_has_no_frames(text):
    assert not [*methods_in(text)]


def test_frames_without_lines_come_first_in_their_order(make_codebase, project):
    write_tree(project, {"Sales/Cart.cs": CART, "Other.cs": OTHER, "src/Shelf.cs": SHELF})
    first, second, *_ = search_in(project, make_codebase())(TRACE)
    assert (first.filename, second.filename) == ("src/Shelf.cs", "Sales/Cart.cs")
