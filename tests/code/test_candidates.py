"""What a name may mean at all: found once for an answer, and of the package it is imported from."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from memory_sidecar.code.graph import Graph
from tests.code.trees import told_in, write_tree

FILES = {
    "php/Store/Item.php": "<?php\nnamespace Shop\\Store;\nclass Item {}\n",
    "php/Bill/Item.php": "<?php\nnamespace Shop\\Bill;\nclass Item {}\n",
    "php/Bill/Total.php": "<?php\nnamespace Shop\\Bill;\nclass Total { function of(Item $i) {} }\n",
    "php/Page/Show.php": "<?php\nuse Shop\\Store\\Item;\nfunction show() { return new Item; }\n",
    "php/Page/Both.php": (
        "<?php\nuse Shop\\Store\\Item;\nuse Shop\\Bill\\Item as Line;\n"
        "function both() { return new Item; }\n"
    ),
    "php/Fail/Exception.php": "<?php\nnamespace Shop\\Fail;\nclass Exception {}\n",
    "php/Page/Fail.php": (
        "<?php\nnamespace Shop\\Page;\nuse Exception;\nfunction fail() { throw new Exception; }\n"
    ),
    "kt/disk/Files.kt": "package disk\n\nfun shut() {}\n\nfun Text(code: Int): Text = make()\n",
    "kt/net/Sockets.kt": "package net\n\nfun shut() {}\n",
    "kt/Use.kt": "import disk.shut\nimport net.shut as stop\n\nfun close() { shut() }\n",
    "kt/One.kt": "import disk.shut\n\nfun one(text: Text) { shut() }\n",
}


@pytest.fixture(scope="module")
def refs(tmp_path_factory: pytest.TempPathFactory):
    root = tmp_path_factory.mktemp("packages")
    write_tree(root, FILES)
    return partial(told_in(root), "refs")


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        (
            "php/Store/Item.php:3",
            [
                "php/Page/Both.php:2 exact",
                "php/Page/Show.php:2 exact",
                "php/Page/Show.php:3 exact",
                "php/Page/Both.php:4 by name",
            ],
        ),
        (
            "php/Bill/Item.php:3",
            [
                "php/Bill/Total.php:3 exact",
                "php/Page/Both.php:3 exact",
                "php/Page/Both.php:4 by name",
            ],
        ),
        ("php/Fail/Exception.php:3", []),
        ("kt/net/Sockets.kt:3", ["kt/Use.kt:2 likely", "kt/Use.kt:4 by name"]),
        (
            "kt/disk/Files.kt:3",
            [
                "kt/One.kt:1 likely",
                "kt/One.kt:3 likely",
                "kt/Use.kt:1 likely",
                "kt/Use.kt:4 by name",
            ],
        ),
        ("kt/disk/Files.kt:5", []),
    ],
)
def test_an_import_says_of_which_package_a_name_is(refs, name, uses):
    assert refs(name) == uses


def test_all_uses_of_a_name_share_its_candidates(run, tmp_path, monkeypatch):
    module = "class C{n}:\n    def run(self, x):\n        x.run(1)\n        y.run(x.run)\n"
    write_tree(tmp_path, {f"m{n}.py": module.format(n=n) for n in range(30)})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    read: Counter[str] = Counter()
    defined = Graph.defined

    def counted(graph: Graph, name: str):
        read[name] += 1
        return defined(graph, name)

    monkeypatch.setattr(Graph, "defined", counted)
    assert len(run("refs", "run", "--top-k", "200", "--json", cwd=tmp_path).json) == 90
    assert read["run"] <= 2  # the definitions asked about, and what a use may mean
