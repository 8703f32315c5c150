"""A file is the old one or the new one, and nothing else is left."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from memory_sidecar.core import atomic
from memory_sidecar.core.atomic import (
    TEMPORARY_PREFIX,
    create_file,
    delete_file,
    move_file,
    replace_file,
    replace_unchanged,
    sweep,
)
from memory_sidecar.core.opening import FileRefused, Folder, Tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.fixture
def tree(folder: Path) -> Tree:
    return Tree(folder)


@pytest.fixture(params=["exclusive", "plain"])
def rename(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that can rename without replacing, and one that cannot."""
    if request.param == "plain":
        monkeypatch.setattr(atomic, "_exclusive_rename", lambda: lambda *_: errno.EINVAL)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_replacing_keeps_permissions(folder, tree):
    path = folder / "a.md"
    replace_file(tree, path, b"old")
    path.chmod(0o640)
    replace_file(tree, path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(folder) == ["a.md"]


@pytest.mark.parametrize("now", [b"edited", b"old, and longer", b"", None])
def test_what_is_saved_while_the_new_text_goes_to_the_disk_stays(folder, tree, monkeypatch, now):
    path = folder / "a.md"
    path.write_bytes(b"old")
    real = os.fsync

    def save_meanwhile(descriptor: int) -> None:
        real(descriptor)
        if now is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(now)

    monkeypatch.setattr(os, "fsync", save_meanwhile)
    assert not replace_unchanged(tree, path, b"old", b"new")
    assert names(folder) == ([] if now is None else ["a.md"])
    assert now is None or path.read_bytes() == now


def test_what_is_as_it_was_read_is_replaced(folder, tree):
    path = folder / "a.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    assert replace_unchanged(tree, path, b"old", b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o640)
    assert not replace_unchanged(tree, path, None, b"newer")
    assert replace_unchanged(tree, folder / "b.md", None, b"first")
    assert names(folder) == ["a.md", "b.md"]


def test_a_new_file_has_the_permissions_that_the_umask_leaves(folder, tree):
    (folder / "plain").touch()
    create_file(tree, "a.md", b"")
    assert (folder / "a.md").stat().st_mode == (folder / "plain").stat().st_mode


def test_files_of_our_own_are_for_the_user_alone(folder):
    own = Tree(folder, is_own=True)
    (folder / "open").touch(0o666)
    replace_file(own, "open", b"")
    create_file(own, "x/new", b"")
    modes = [stat.S_IMODE((folder / name).stat().st_mode) for name in ("open", "x", "x/new")]
    assert modes == [0o600, 0o700, 0o600]


@pytest.mark.usefixtures("rename")
def test_what_is_there_is_not_overwritten(folder, tree):
    (folder / "a.md").write_bytes(b"mine")
    (folder / "b.md").write_bytes(b"other")
    (folder / "dangling").symlink_to("nowhere")
    for taken in ("a.md", "dangling"):
        assert not create_file(tree, taken, b"yours")
        assert not move_file(tree, "b.md", tree, taken)
    assert (folder / "a.md").read_bytes() == b"mine"
    assert names(folder) == ["a.md", "b.md", "dangling"]


@pytest.mark.usefixtures("rename")
def test_a_move_to_another_folder_makes_that_and_leaves_nothing(folder, tree):
    (folder / "a.md").write_bytes(b"text")
    move_file(tree, "a.md", Tree(folder / "x"), "y/b.md")
    assert (folder / "x/y/b.md").read_bytes() == b"text"
    assert names(folder) == ["x"]


def test_moving_to_another_disk_keeps_the_times(tmp_path, tree):
    disks = filter(Path.is_dir, map(Path, ("/dev/shm", tempfile.gettempdir())))
    disk = tmp_path.stat().st_dev
    other = next((d for d in disks if os.access(d, os.W_OK) and d.stat().st_dev != disk), None)
    if other is None:
        pytest.skip("needs a second disk")
    target = Tree(other / f"sidecar-test-{os.getpid()}")
    create_file(tree, "a.md", b"text")
    os.utime(f"{tree.path}/a.md", (1000, 2000))
    try:
        move_file(tree, "a.md", target, "x/a.md")
        assert Path(target.path, "x/a.md").stat().st_mtime == 2000
        assert target.read("x/a.md", 100) == b"text"
        assert names(Path(tree.path)) == []
    finally:
        delete_file(target, "x/a.md")
        os.removedirs(f"{target.path}/x")


def test_a_file_leaves_one_disk_when_its_name_is_on_the_other(folder, tree, monkeypatch):
    rename, unlink, sync = atomic._rename_to_free, os.unlink, Folder.sync
    done: list[str] = []

    def renamed(old: Folder, name: str, new: Folder, new_name: str) -> None:
        if old.path != new.path:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(old, name, new, new_name)

    def synced(self: Folder) -> None:
        done.append(f"sync {Path(self.path).name}")
        sync(self)

    def unlinked(name: str, **options: int) -> None:
        done.append("unlink")
        unlink(name, **options)

    (folder / "a.md").write_bytes(b"text")
    (folder / "other").mkdir()
    monkeypatch.setattr(atomic, "_rename_to_free", renamed)
    monkeypatch.setattr(Folder, "sync", synced)
    monkeypatch.setattr(os, "unlink", unlinked)
    assert move_file(tree, "a.md", Tree(folder / "other"), "b.md")
    assert done[:2] == ["sync other", "unlink"]


def test_a_disk_that_refuses_leaves_the_old_file_alone(folder, tree):
    path = folder / "a.md"
    replace_file(tree, path, b"old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            replace_file(tree, path, b"new" * 1000)
        with pytest.raises(OSError, match="too large"):
            create_file(tree, "b.md", b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"old"
    assert names(folder) == ["a.md"]


def test_nothing_is_written_or_moved_through_a_link(folder, tree):
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "a.md").write_bytes(b"theirs")
    (folder / "b.md").write_bytes(b"ours")
    (folder / "link").symlink_to(outside)
    for write in (replace_file, create_file):
        with pytest.raises(FileRefused):
            write(tree, "link/a.md", b"new")
    for move in (("link/a.md", "c.md"), ("b.md", "link/b.md")):
        with pytest.raises(FileRefused):
            move_file(tree, move[0], tree, move[1])
    with pytest.raises(FileRefused):
        delete_file(tree, "link/a.md")
    assert (names(outside), names(folder)) == (["a.md"], ["b.md", "link"])
    assert (outside / "a.md").read_bytes() == b"theirs"


def test_what_is_no_file_is_not_replaced(folder, tree):
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        with pytest.raises(FileRefused):
            replace_file(tree, name, b"new")
    assert names(folder) == ["fifo", "link"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks descriptors up")
@pytest.mark.parametrize("call", ["fstat", "fsync"])
def test_a_disk_that_fails_leaves_no_temporary_file(folder, tree, monkeypatch, call):
    real = getattr(os, call)

    def fail(descriptor: int) -> object:
        if TEMPORARY_PREFIX in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(descriptor)

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="Input/output error"):
        create_file(tree, "a.md", b"text")
    assert names(folder) == []


def test_leftovers_are_swept_but_nothing_else(folder, tree):
    (folder / "deep").mkdir()
    left, new = (folder / "deep" / f"{TEMPORARY_PREFIX}{name}" for name in ("old", "new"))
    for path in (left, new, folder / "a.md", folder / ".hidden"):
        path.touch()
        os.utime(path, (1000, 1000))
    os.utime(new)
    sweep(tree, folder)
    assert names(folder) == [".hidden", "a.md", "deep"]
    assert names(folder / "deep") == [new.name]
    sweep(tree, folder, is_sole_writer=True)
    assert names(folder / "deep") == []
