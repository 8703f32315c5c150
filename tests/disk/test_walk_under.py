"""Scanning only some paths of a source, as after a batch of changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memory_sidecar.core.errors import PathRefused
from memory_sidecar.core.model import Scan
from memory_sidecar.disk.walk import walk


@pytest.fixture(params=["repository", "plain folder"], autouse=True)
def kind(request: pytest.FixtureRequest, git: Callable[..., str]) -> None:
    if request.param == "repository":
        git("init", "-q")


def scan(root: Path, *under: str) -> Scan:
    return walk(root, max_file_bytes=1 << 20, under=under)


def paths(root: Path, *under: str) -> list[str]:
    return [file.path for file in scan(root, *under).files]


def test_a_file_a_folder_and_what_is_gone(root, write):
    write("pkg/a.py", "pkg/b.py", "lib/x/c.py", "lib/d.py")
    assert paths(root, "pkg/a.py", "gone.py", "gone/too.py") == ["pkg/a.py"]
    assert paths(root, "lib") == ["lib/d.py", "lib/x/c.py"]
    assert scan(root, "lib").folders == ("lib", "lib/x")
    assert paths(root, "lib", "lib/d.py", "pkg/b.py") == ["lib/d.py", "lib/x/c.py", "pkg/b.py"]
    assert scan(root).files == ()


def test_the_root_stands_for_everything(root, write):
    write("pkg/a.py", "b.py")
    everything = walk(root, max_file_bytes=1 << 20)
    assert scan(root, "") == scan(root, ".", "pkg") == scan(root, "./") == everything


def test_what_an_ignored_folder_holds_stays_ignored(root, write):
    write(".gitignore", text="tmp/\n/pkg/gen/\n")
    write("tmp/a/b.py", "pkg/gen/x.py", "node_modules/m/x.js", ".git/x.py", "pkg/a.py")
    assert paths(root, "tmp/a/b.py", "pkg/gen", "node_modules/m", ".git/x.py") == []
    assert paths(root, "pkg") == ["pkg/a.py"]


def test_a_batch_of_many_paths_gives_what_they_give_one_by_one(root, write, monkeypatch):
    monkeypatch.setattr("memory_sidecar.disk.walk.MAX_STARTS", 20)
    batch = [f"pkg{n % 8}/mod{n}.py" for n in range(40)]
    write(*batch, "pkg1/other.py", "tmp/a.py", ".gitignore", text="tmp/\n")
    write("pkg/a.py", "pkg/b.py")
    batch += ["pkg", "tmp/a.py", "gone.py"]
    one_by_one = [path for name in batch for path in paths(root, name)]
    assert paths(root, *batch) == sorted(one_by_one)
    assert len(one_by_one) == 42
    assert scan(root, *batch).folders == ("pkg",)


def test_a_name_that_only_begins_alike_is_not_below(root, write):
    write("pkg/a.py", "pkg2/a.py")
    assert paths(root, "pkg") == ["pkg/a.py"]


def test_nothing_is_seen_through_a_link(root, write, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.py").write_text("x\n")
    (root / "link").symlink_to(tmp_path / "outside")
    write("pkg/a.py")
    assert paths(root, "link/a.py") == []
    assert paths(root, "link") == ["link"]


@pytest.mark.parametrize("path", ["../x.py", "/etc", "pkg/../../x.py"])
def test_a_path_that_leaves_the_source_is_refused(root, path):
    with pytest.raises(PathRefused):
        scan(root, path)
