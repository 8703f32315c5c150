"""What a diff changed: the lines of each side."""

import json
from difflib import unified_diff

import pytest

from memory_sidecar.code.impact import changed_files
from tests.code.trees import write_tree

HEAD = "--- a/pets.py\n+++ b/pets.py\n"


@pytest.mark.parametrize(
    ("hunk", "before", "after"),
    [
        ("@@ -3,3 +3,3 @@\n one\n-two\n+2\n three\n", [range(4, 5)], [range(4, 5)]),
        ("@@ -3,2 +3,4 @@\n one\n+2\n+3\n four\n", [], [range(4, 6)]),
        ("@@ -3,3 +3,2 @@\n one\n-two\n three\n", [range(4, 5)], []),
        (
            "@@ -3,5 +3,5 @@\n-a\n+b\n\n c\n-d\n+e\n f\n",
            *([range(3, 4), range(6, 7)], [range(3, 4), range(6, 7)]),
        ),
        ("@@ -7 +6,0 @@\n-gone\n", [range(7, 8)], []),  # as -U0 counts
        ("@@ -0,0 +1,2 @@\n+new\n+file\n", [], [range(1, 3)]),
        ("@@ -1,2 +0,0 @@\n-old\n-file\n", [range(1, 3)], []),
        ("@@ -3,2 +3,3 @@\n+@cached\n def a():\n     ...\n", [], [range(3, 5)]),
        (
            "@@ -3,4 +3,3 @@\n-    [Obsolete]\n     [Pure]\n     int A();\n b\n",
            *([range(3, 6)], []),
        ),
        ("@@ -3,2 +3,2 @@\n--- sql\n+++ b/c\n x\n", [range(3, 4)], [range(3, 4)]),  # no head
        ("@@ -3 +3 @@\n-a\n\\ No newline at end of file\n+b\n", [range(3, 4)], [range(3, 4)]),
        ("@@ -3,9 +3,9 @@\n+cut", [], [range(3, 4)]),
        ("@@ -3 +99999999999 @@\n+a\n", [], []),
    ],
)
def test_the_lines_of_a_hunk(hunk, before, after):
    hunks = [hunk for file in changed_files(HEAD + hunk) for hunk in file.hunks]
    assert [lines for hunk in hunks for lines in hunk.before.changed] == before
    assert [lines for hunk in hunks for lines in hunk.after.changed] == after


def test_each_file_of_a_diff():
    change = "@@ -1 +1 @@\n-a\n+b\n"
    gone = "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    new = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n"
    diff = f"commit 1\n{HEAD}{change}diff --git\n--- a/c\n+++ b/c\n{change}{gone}{new}"
    assert [(file.path, file.is_gone) for file in changed_files(diff)] == [
        *(("b/pets.py", False), ("b/c", False), ("a/gone", True), ("b/new", False)),
    ]


def test_a_renamed_file_is_gone_from_where_it_was():
    diff = (
        "diff --git a/c.py b/d.py\nsimilarity index 100%\nrename from c.py\nrename to d.py\n"
        'diff --git "a/\\303\\251.py" b/f.py\nsimilarity index 90%\n'
        'rename from "\\303\\251.py"\nrename to f.py\n'
        '--- "a/\\303\\251.py"\n+++ b/f.py\n@@ -1 +1 @@\n-a\n+b\n'
    )
    assert [(file.path, file.is_gone, file.moved_to) for file in changed_files(diff)] == [
        *(("a/c.py", True, "b/d.py"), ("a/é.py", True, "b/f.py"), ("b/f.py", False, "")),
    ]


def test_what_imports_from_where_a_renamed_file_was_is_told(run, tmp_path):
    write_tree(
        tmp_path,
        {
            "shop/money.py": "def net():\n    return 1\n\n\ndef gross():\n    return 2\n",
            "shop/bill.py": "from shop.prices import net\n\nTOTAL = net()\n",
            "shop/tax.py": "from shop.money import net\n\nTAX = net()\n",
            "Basket.cs": "class Cart\n{\n    public int Total() => 1;\n}\n",
            "Bill.cs": "class Bill\n{\n    int Sum(Cart cart) => cart.Total();\n}\n",
        },
    )
    run("index", tmp_path, "--wait", "keyword")
    renamed = "rename from shop/prices.py\nrename to shop/money.py\n"
    moved = "rename from Cart.cs\nrename to Basket.cs\n"
    diff = (renamed + moved).encode()
    found = run("impact", "--diff", "--json", stdin=diff, cwd=tmp_path).json
    assert {(each["filename"], each["name"]) for each in found} == {("shop/bill.py", "net")}
    assert all(each["is_gone"] for each in found)


def test_what_a_file_was_is_told_by_what_it_is():
    diff = (
        f"{HEAD}@@ -1,2 +1,1 @@\n-one\n two\n@@ -4,0 +4,2 @@\n+five\n+six\n@@ -6 +6,0 @@\n-last\n"
    )
    (file,) = changed_files(diff)
    assert file.restore(["two", "three", "four", "five", "six", "end"]) == [
        *("one", "two", "three", "four", "end", "last"),
    ]


def test_which_of_several_names_a_place_uses_is_told(run, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "prices.py").write_text("def net():\n    return 1\n\n\ndef tax():\n    return 2\n")
    (shop / "bill.py").write_text("from prices import net, tax\n\nTOTAL = net() + tax()\n")
    assert run("index", shop, "--wait", "keyword").status == 0
    told = run("impact", shop / "prices.py", "--all").out
    assert all(f"  call of {name}, exact\n" in told for name in ("net", "tax"))
    assert "  call, exact\n" in run("refs", "net", "--all").out


def test_uses_by_name_alone_are_left_out_and_that_is_said(run, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "prices.py").write_text("def net():\n    return 1\n")
    (shop / "bill.py").write_text("from old.rates import net\n\nTOTAL = net()\n")
    (shop / "costs.py").write_text("def net():\n    return 2\n")
    assert run("index", shop, "--wait", "keyword").status == 0
    told = run("impact", shop / "prices.py", "--all")
    assert told.out == ""
    assert "uses of net by name alone are left out: `memory-sidecar refs net`" in told.err


def test_a_file_without_definitions_is_named_and_the_others_are_answered(run, tmp_path):
    write_tree(
        tmp_path,
        {
            "prices.py": "def net():\n    return 1\n",
            "shop.py": "from prices import net\n",
            "notes.txt": "net prices\n",
            "data.bin": "\0",
        },
    )
    run("index", tmp_path, "--wait", "keyword")
    found = run("impact", "notes.txt", "data.bin", "prices.py", "--json", cwd=tmp_path)
    assert [each["filename"] for each in found.json] == ["shop.py"]
    assert "no definition is known in notes.txt: it is indexed" in found.err
    assert "no definition is known in data.bin: it is not indexed" in found.err


def test_uses_in_the_changed_file_come_last_unless_what_they_use_is_gone(run, tmp_path):
    write_tree(
        tmp_path,
        {
            "prices.py": "def net():\n    return 1\n\n\nGROSS = net() + vat()\n",
            "shop.py": "from prices import net\n\nTOTAL = net()\n",
        },
    )
    run("index", tmp_path, "--wait", "keyword")

    def files(*args: str, diff: str = "") -> list[str]:
        found = run("impact", *args, "--json", cwd=tmp_path, stdin=diff.encode()).json
        return [each["filename"] for each in found]

    assert files("prices.py") == ["shop.py", "shop.py", "prices.py"]
    hunk = "@@ -1,2 +1,2 @@\n def net():\n-    return 0\n+    return 1\n"
    gone = "@@ -4,2 +4,1 @@\n-def vat(): return 2\n \n"
    diff = f"--- a/prices.py\n+++ b/prices.py\n{hunk}{gone}"
    assert files("--diff", diff=diff) == ["prices.py", "shop.py", "shop.py", "prices.py"]


def test_what_a_notebook_no_longer_defines_is_gone(run, tmp_path):
    def notebook(*lines: str) -> str:
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": lines}
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}, indent=1) + "\n"

    before = notebook("def price(x):\n", "    return x\n", "\n", "total = 1\n")
    after = notebook("total = 1\n")
    write_tree(tmp_path, {"a.ipynb": after, "use.py": "from a import price\n"})
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    diff = unified_diff(old, new, "a/a.ipynb", "b/a.ipynb")
    found = run("impact", "--diff", "--json", cwd=tmp_path, stdin="".join(diff).encode()).json
    assert [(hit["filename"], hit["is_gone"]) for hit in found] == [("use.py", True)]
