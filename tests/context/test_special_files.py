"""What is no file in a root is never opened, and a check names it."""

from __future__ import annotations

import os

import pytest

from memory_sidecar.context.atoms import read_shelf
from memory_sidecar.disk.atoms import AtomKind

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and FIFOs")


def test_an_atom_that_is_no_file_is_a_stray(project, atom, tmp_path):
    atom("EXP-001")
    folder = project.folder(AtomKind.EXPERIMENT)
    os.mkfifo(folder / "EXP-002.md")
    (tmp_path / "secret.md").write_text("secret")
    (folder / "EXP-003.md").symlink_to(tmp_path / "secret.md")
    shelf = read_shelf(project, AtomKind.EXPERIMENT)
    assert [each.name for each in shelf.atoms] == ["EXP-001"]
    assert [each.text for each in shelf.strays] == [
        "it is not read: not a regular file",
        "it is not read: symbolic link",
    ]
    assert {each.remedy for each in shelf.strays} == {"put the file itself there"}


def test_an_atom_that_is_too_large_is_to_be_made_smaller(project):
    (project.folder(AtomKind.EXPERIMENT) / "EXP-001.md").write_bytes(b"word " * (1 << 20))
    (stray,) = read_shelf(project, AtomKind.EXPERIMENT).strays
    assert (stray.text, stray.remedy) == ("it is not read: larger than 4 MiB", "make it smaller")
