"""Which lines a diff changed."""

import pytest

from memory_sidecar.code.diffs import changed_lines

HEAD = "--- a/pets.py\n+++ b/pets.py\n"


@pytest.mark.parametrize(
    ("hunk", "lines"),
    [
        ("@@ -3,3 +3,3 @@\n one\n-two\n+2\n three\n", [range(4, 5)]),
        ("@@ -3,2 +3,4 @@\n one\n+2\n+3\n four\n", [range(4, 6)]),
        ("@@ -3,3 +3,2 @@\n one\n-two\n three\n", [range(3, 4)]),  # where it stood
        ("@@ -3,5 +3,5 @@\n-a\n+b\n\n c\n-d\n+e\n f\n", [range(3, 4), range(6, 7)]),
        ("@@ -7 +6,0 @@\n-gone\n", [range(6, 7)]),  # as -U0 counts
        ("@@ -0,0 +1,2 @@\n+new\n+file\n", [range(1, 3)]),
        ("@@ -1,2 +0,0 @@\n-old\n-file\n", []),
        ("@@ -3,2 +3,3 @@\n+@cached\n def a():\n     ...\n", [range(3, 5)]),
        ("@@ -3,4 +3,3 @@\n-    [Obsolete]\n     [Pure]\n     int A();\n b\n", [range(3, 5)]),
        ("@@ -3,2 +3,2 @@\n--- sql\n+++ b/c\n x\n", [range(3, 4)]),  # no head of a file
        ("@@ -3 +3 @@\n-a\n\\ No newline at end of file\n+b\n", [range(3, 4)]),
        ("@@ -3,9 +3,9 @@\n+cut", [range(3, 4)]),
        ("@@ -3 +99999999999 @@\n+a\n", []),
    ],
)
def test_the_lines_of_a_hunk(hunk, lines):
    assert [each for _, each in changed_lines(HEAD + hunk)] == lines


def test_each_file_of_a_diff():
    diff = (
        f"commit 1\n{HEAD}@@ -1 +1 @@\n-a\n+b\ndiff --git\n--- a/c\n+++ b/c\n@@ -2 +2 @@\n-a\n+b\n"
    )
    assert list(changed_lines(diff)) == [("b/pets.py", range(1, 2)), ("b/c", range(2, 3))]
