"""A file whose stamp looks unchanged is compared as a whole: by its size and both of its times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import run_in


def _write_in_place(path: Path, other: Path) -> None:
    path.write_text("def new(): ...\n")


def _replace(path: Path, other: Path) -> None:
    (path.parent / "made.txt").write_text("def new(): ...\n")
    (path.parent / "made.txt").rename(path)


def _link(path: Path, other: Path) -> None:
    other.write_text("def new(): ...\n")
    path.unlink()
    path.hardlink_to(other)


def _exchange(path: Path, other: Path) -> None:
    other.rename(path.parent / "held.txt")
    path.rename(other)
    (path.parent / "held.txt").rename(path)


@pytest.mark.parametrize("ns", [-1, 2**62])
def test_a_change_of_the_same_size_and_time_is_indexed(tmp_path, ns: int):
    changes = (_write_in_place, _replace, _link, _exchange)
    for change in changes:
        folder = tmp_path / change.__name__
        folder.mkdir()
        for name, text in (("a.py", "def old(): ...\n"), ("b.py", "def new(): ...\n")):
            (folder / name).write_text(text)
            os.utime(folder / name, ns=(ns, ns))
    run = run_in(tmp_path)
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    for change in changes:
        path = tmp_path / change.__name__ / "a.py"
        before = path.stat()
        change(path, path.with_name("b.py"))
        os.utime(path, ns=(before.st_mtime_ns, before.st_mtime_ns))
        assert (path.stat().st_size, path.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
    assert run("index", tmp_path, "--wait", "keyword").status == 0
    found = {each["filename"] for each in run("def", "new", "--json").json}
    assert {f"{change.__name__}/a.py" for change in changes} <= found
