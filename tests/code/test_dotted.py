"""What an import of Python leads to, by the whole path of its module."""

from __future__ import annotations

import pytest

from tests.code.trees import told_in, write_tree

FILES = {
    "src/shop/utils.py": "def clean(): ...\n\n\ndef only(): ...\n",
    "src/till/utils.py": "def clean(): ...\n",
    "src/till/__init__.py": "from .utils import clean\n",
    "src/till/use.py": (
        "from .utils import clean\nfrom ..shop import utils\n\nclean()\nutils.clean()\n"
    ),
    "src/shop/use.py": "from till.utils import clean\n\nclean()\n",
    "src/shop/own.py": (
        "import shop.utils\nfrom shop import utils\n\nutils.clean()\nshop.utils.clean()\n"
    ),
    "tests/use.py": "from till import clean\n\nclean()\n",
    "core.py": "def build(): ...\n",
    "till/above.py": "from ..core import build\n\nbuild()\n",
    "till/two.py": "from fast import build\nfrom ..core import build as own\n\nbuild()\nown()\n",
    "till/higher.py": "from ...core import build\n\nbuild()\n",
    "tests/other.py": "from django.utils import only\nfrom shop import utils\n\nonly()\n",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("dotted")
    write_tree(root, FILES)
    return told_in(root)


@pytest.mark.parametrize(
    ("definition", "uses"),
    [
        (
            "src/shop/utils.py:1",
            ["src/shop/own.py:4 exact", "src/shop/own.py:5 exact", "src/till/use.py:5 exact"],
        ),
        (
            "core.py:1",
            ["till/above.py:1 exact", "till/above.py:3 exact", "till/two.py:2 exact"]
            + ["till/two.py:5 exact", "till/two.py:4 likely"]
            + [f"till/{at} by name" for at in ("higher.py:1", "higher.py:3", "two.py:1")],
        ),
        ("src/shop/utils.py:4", ["tests/other.py:1 by name", "tests/other.py:4 by name"]),
        (
            "src/till/utils.py:1",
            [f"src/shop/use.py:{line} exact" for line in (1, 3)]
            + [f"src/till/{at} exact" for at in ("__init__.py:1", "use.py:1", "use.py:4")]
            + [f"tests/use.py:{line} exact" for line in (1, 3)],
        ),
    ],
)
def test_an_import_is_of_the_module_at_its_whole_path(told, definition, uses):
    assert told("refs", definition) == uses


def test_the_folder_of_a_source_may_be_a_package(tmp_path):
    root = tmp_path / "shop"
    write_tree(
        root,
        {
            "__init__.py": "from .cart import add\n\n\ndef start(): ...\n",
            "cart.py": "def add(): ...\n",
            "till.py": "def add(): ...\n",
            "near.py": "from . import add, start\n",
            "far.py": "from shop import add, start\n",
        },
    )
    ask = told_in(root)
    assert ask("refs", "__init__.py:4") == ["far.py:1 exact", "near.py:1 exact"]
    assert ask("refs", "cart.py:1") == [f"{at}.py:1 exact" for at in ("__init__", "far", "near")]
