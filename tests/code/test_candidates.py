"""What a name may mean at all: found once for an answer, and of the package it is imported from."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from memory_sidecar.code import graph
from memory_sidecar.code.graph import Graph, NamedFile
from memory_sidecar.code.scoping import scoping_of
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
    "src/Reader.php": "<?php\nnamespace Shop;\ninterface Reader {}\n",
    "php/Page/Read.php": "<?php\nuse Kit\\Reader;\nfunction read(Reader $of) {}\n",
    "php/Page/Own.php": "<?php\nuse Shop\\Reader;\nfunction own(Reader $of) {}\n",
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
        ("src/Reader.php:3", ["php/Page/Own.php:2 exact", "php/Page/Own.php:3 exact"]),
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


def test_the_rules_of_a_file_are_read_once_for_all_its_uses_and_definitions(
    run, tmp_path, monkeypatch
):
    module = "class C\n  def go(x) = x.go(go(x.go))\nend\n"
    write_tree(tmp_path, {f"m{n}.rb": module for n in range(3)})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    read: list[str] = []

    def counted(language: str):
        read.append(language)
        return scoping_of(language)

    monkeypatch.setattr(graph, "scoping_of", counted)
    assert len(run("refs", "go", "--json", cwd=tmp_path).json) == 6
    assert 0 < len(read) <= 6  # for each use and each definition: hundreds


def test_what_a_name_means_is_told_in_steps_that_grow_with_its_uses(run, tmp_path, monkeypatch):
    for n in range(40):
        tried = f"func Try() {{ p{(n + 1) % 40}.Make() }}\n"
        write_tree(tmp_path, {f"p{n}/a.go": f"package p{n}\n\nfunc Make() {{}}\n\n{tried}"})
    many = "".join(
        f"type T{n} struct{{}}\n\nfunc (t T{n}) Make() {{ halt() }}\n" for n in range(40)
    )
    write_tree(tmp_path, {"q/many.go": f"package q\n\nfunc halt() {{}}\n\n{many}"})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    read: Counter[str] = Counter()
    modules, uses_in = vars(NamedFile)["modules"].func, Graph.uses_in

    def counted_modules(at: NamedFile):
        read["modules"] += 1
        return modules(at)

    def counted_uses(graph: Graph, at: NamedFile):
        read[at.file.path] += 1
        return uses_in(graph, at)

    monkeypatch.setattr(NamedFile, "modules", property(counted_modules))
    monkeypatch.setattr(Graph, "uses_in", counted_uses)
    assert len(run("refs", "Make", "--json", cwd=tmp_path).json) == 40
    assert 0 < read["modules"] <= 200  # each of 40 uses compared with all 40 definitions: 1600
    (callee,) = run("callees", "Make", "--json", cwd=tmp_path).json
    assert callee["name"] == "halt"
    assert read["q/many.go"] == 1


def test_a_package_is_found_however_its_file_declares_it(tmp_path):
    write_tree(
        tmp_path,
        {
            "Two.php": "<?php\nnamespace A {\nclass X {}\n}\nnamespace B {\nclass Y {}\n}\n",
            "All.php": "<?php\nnamespace A { class V {} }\nnamespace { class Z {} }\n",
            "use.php": "<?php\nuse B\\Y;\nuse Z;\n",
            "Note.kt": "package disk // of files\n\nfun shut() {}\n",
            "Mark.kt": "\ufeffpackage disk\r\n\r\nfun lock() {}\r\n",
            "use.kt": "import disk.shut\nimport disk.lock\n",
        },
    )
    ask = told_in(tmp_path)
    found = {name: ask("refs", name) for name in ("Y", "Z", "shut", "lock")}
    assert found == {
        "Y": ["use.php:2 exact"],
        "Z": ["use.php:3 likely"],
        "shut": ["use.kt:1 likely"],
        "lock": ["use.kt:2 likely"],
    }


def test_a_bare_name_of_php_is_of_the_namespace_of_its_file_or_of_none(tmp_path):
    asked = "<?php\nnamespace Shop\\Bill;\nfunction bill() { return time() + tax() + new Item; }\n"
    files = {
        "Clock.php": "<?php\nnamespace Shop\\Clock {\nfunction time() {}\n}\n",
        "Tax.php": "<?php\nfunction tax() {}\n",
        "Store/Item.php": "<?php\nnamespace Shop\\Store;\nclass Item {}\n",
        "Bill.php": asked,
        "Use.php": (
            "<?php\nuse Shop\\Store;\nnew Store\\Item; new \\Shop\\Store\\Item;\n"
            "\\Shop\\Clock\\time();\n"
        ),
        "Other/Item.php": "<?php\nnamespace Shop\\Other;\nclass Item {}\n",
    }
    write_tree(tmp_path, files)
    ask = partial(told_in(tmp_path), "refs")
    assert ask("Clock.php:3") == ["Use.php:4 exact"]
    assert ask("Tax.php:2") == ["Bill.php:3 exact"]
    assert ask("Store/Item.php:3") == ["Use.php:3 exact"]
    assert ask("Other/Item.php:3") == []
