"""What may use a definition without naming it in code: templates, symbols and settings."""

from __future__ import annotations

import pytest

from tests.code.trees import write_tree
from tests.conftest import run_in

SAID = "named as text, which may be a use: "
FILES = {
    "Cart.razor": "<p>\n@Total(1)</p>\n",
    "Cart.razor.cs": "class Cart { int Total(int a) => Rate; int Rate = 1; int Rest = 1; }\n",
    "Till.vue": "<template><p>{{ Totals }}</p></template>\n",
    "app/carts_controller.rb": (
        "class CartsController\n  before_action :sign_in_first\n\n"
        "  def show\n  end\n\n  def sign_in_first\n  end\n\n  def self.expire_all!\n  end\n\n"
        "  def cart_label\n  end\n\n  def unused\n  end\nend\n"
    ),
    "app/jobs.rb": "class Jobs\n  def run(it)\n    it.cart_label\n  end\nend\n",
    "app/show.html.erb": "<h1>\n<%= cart_label %></h1>\n",
    "config/recurring.yml": "expire:\n  command: CartsController.expire_all!\n",
    "config/routes.rb": 'get "/cart", to: "carts#show"\n',
    "docs/unused.md": "The method `unused` and `sign_in_first`.\n",
    "lib/page.ex": "defmodule Page do\n  def decline(conn), do: conn\nend\n",
    "lib/router.ex": 'defmodule Router do\n  post "/decline", Page, :decline\nend\n',
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Returns what standard error has for a question about a name of the tree."""
    folder = tmp_path_factory.mktemp("mentions")
    write_tree(folder / "shop", FILES)
    run = run_in(folder)
    assert run("index", folder / "shop", "--wait", "keyword").status == 0
    return lambda *asked: run(*asked, cwd=folder / "shop").err


@pytest.mark.parametrize("command", ["refs", "callers"])
@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("Total", "Cart.razor:2"),
        ("CartsController.show", "config/routes.rb:1"),
        ("expire_all!", "config/recurring.yml:2"),
        ("cart_label", "app/show.html.erb:2"),  # a call by its name alone may be another's
        ("decline", "lib/router.ex:2"),
    ],
)
def test_what_may_use_a_name_as_text_is_told(told, command, name, places):
    assert f"{SAID}{places}\n" in told(command, name)


def test_prose_and_other_names_are_no_mention(told):
    for name in ("unused", "Rest"):
        assert "named as text" not in told("refs", name)


def test_only_the_files_that_are_asked_about_are_told(told):
    assert "named as text" not in told("refs", "cart_label", "--path", "*.rb")
