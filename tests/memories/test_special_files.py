"""No memory is read, written, moved or archived through a link, and none is anything but a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_sidecar.core.errors import PathRefused, SidecarError
from memory_sidecar.core.opening import Tree
from memory_sidecar.memories import categories
from memory_sidecar.memories.archive import Archive
from memory_sidecar.memories.draft import Changes
from memory_sidecar.memories.move import move
from memory_sidecar.memories.write import update
from tests.memories.conftest import NOW, remove, tree

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and FIFOs")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.md").write_text("theirs")
    return folder


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive", Tree(tmp_path, is_own=True))


def test_no_link_leads_elsewhere(directory, remember, archive, outside):
    kept = remember("Kept.").file
    (directory.root / "out").symlink_to(outside)
    (directory.root / "one.md").symlink_to(outside / "a.md")
    (directory.root / "loop").symlink_to(directory.root / "loop")
    for path in ("out/a.md", "one.md", "loop/a.md"):
        for change in (
            directory.read,
            lambda path: update(directory, path, Changes(content="ours"), now_ms=NOW),
            lambda path: move(directory, path, "new/"),
            lambda path: move(directory, kept.path, path),
            lambda path: remove(directory, archive, path),
        ):
            with pytest.raises(SidecarError):
                change(path)
    with pytest.raises(PathRefused):
        categories.create(directory, "out/category", "", now_ms=NOW)
    assert tree(outside) == {"a.md": "theirs"}
    assert directory.read(kept.path).text == kept.text


def test_a_fifo_is_refused_at_once(directory, remember, archive):
    remember("Kept.")
    os.mkfifo(directory.root / "pipe.md")
    for change in (
        lambda: update(directory, "pipe", Changes(content="text"), now_ms=NOW),
        lambda: move(directory, "pipe", "new"),
        lambda: remove(directory, archive, "pipe"),
    ):
        with pytest.raises(PathRefused, match="not a regular file"):
            change()
    assert remember("Another.").is_new


def test_nothing_is_archived_into_another_folder_or_restored_from_it(
    directory, remember, archive, outside
):
    path = remember("Kept.").file.path
    archive.root.symlink_to(outside)
    with pytest.raises(PathRefused, match="symbolic link"):
        remove(directory, archive, path)
    archive.root.unlink()
    taken = remove(directory, archive, path)
    batch = archive.root / taken.batch
    batch.rename(outside / "batch")
    batch.symlink_to(outside / "batch")
    assert archive.all() == []
    with pytest.raises(PathRefused, match="symbolic link"):
        archive.give_back(directory, [taken])
    assert tree(outside)["a.md"] == "theirs"


def test_files_of_our_own_are_for_the_user_alone(directory, remember):
    before = os.umask(0)
    try:
        path = directory.root / remember("Kept.", "pitfall").file.path
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o777 for each in (path, path.parent, directory.locks)]
    assert modes == [0o600, 0o700, 0o700]
