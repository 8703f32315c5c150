"""Every Markdown file of a knowledge directory, whatever others ignore there."""

from __future__ import annotations

import os

import pytest

from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.memories.walk import walk_memories


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "knowledge"
    for path in ("note.md", "build/dist.md", "a/b/deep.MD", ".git/x.md", "a/.hidden.md", "a/t.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text")
    (root / ".gitignore").write_text("*.md\nbuild/\n")
    return root


def found(root, **options):
    scan = walk_memories(root, max_file_bytes=100, **options)
    return {file.path: file.skip_reason for file in scan.files}


def test_nobody_elses_ignore_rules_apply(root):
    assert found(root) == {"a/b/deep.MD": "", "build/dist.md": "", "note.md": ""}
    assert walk_memories(root, max_file_bytes=9).folders == ("", "a", "a/b", "build")


def test_a_part_is_what_the_whole_holds_there(root):
    assert found(root, under=["a"]) == {"a/b/deep.MD": ""}
    assert found(root, under=["note.md", "a/b/deep.MD"]) == {"a/b/deep.MD": "", "note.md": ""}
    assert found(root, under=["a/.hidden.md", ".git", "a/t.txt", "gone/x.md"]) == {}
    assert found(root, under=[""]) == found(root)


def test_what_cannot_be_a_memory_has_a_reason(root):
    (root / "empty.md").touch()
    (root / "large.md").write_text("x" * 101)
    (root / "link.md").symlink_to(root / "note.md")
    os.mkfifo(root / "pipe.md")
    (root / os.fsdecode(b"\xff.md")).write_text("x")
    assert found(root) == {
        "\\xff.md": "name is not UTF-8",
        "a/b/deep.MD": "",
        "build/dist.md": "",
        "empty.md": "empty",
        "large.md": "larger than 100 bytes",
        "link.md": "symbolic link",
        "note.md": "",
        "pipe.md": "not a regular file",
    }


def test_no_link_leads_out(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.md").write_text("text")
    (root / "out").symlink_to(outside)
    assert "out/secret.md" not in found(root)
    assert found(root, under=["out/secret.md", "out"]) == {}
    with pytest.raises(PathRefused):
        found(root, under=["../secret.md"])


def test_a_root_that_is_gone_or_no_folder_is_named(root):
    with pytest.raises(NotFound):
        found(root / "gone")
    with pytest.raises(PathRefused):
        found(root / "note.md")


def test_what_cannot_be_looked_into_is_not_taken_for_deleted(root):
    (root / "a" / "b").chmod(0)
    try:
        if os.access(root / "a" / "b", os.R_OK):
            pytest.skip("root may read everything")
        scan = walk_memories(root, max_file_bytes=100)
    finally:
        (root / "a" / "b").chmod(0o700)
    assert not scan.verifies_absence("a/b/deep.MD")
    assert scan.verifies_absence("gone.md")
