"""A file is the old one or the new one, and nothing else is left."""

from __future__ import annotations

import os
import resource
import signal
import stat

import pytest

from memory_sidecar.sources.atomic import (
    TEMPORARY_PREFIX,
    create_file,
    make_folders,
    move_file,
    replace_file,
    sweep,
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_replacing_keeps_permissions(folder):
    path = folder / "a.md"
    replace_file(path, b"old")
    path.chmod(0o640)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(folder) == ["a.md"]


def test_a_new_file_has_the_permissions_that_the_umask_leaves(folder):
    (folder / "plain").touch()
    create_file(folder / "a.md", b"")
    assert (folder / "a.md").stat().st_mode == (folder / "plain").stat().st_mode


def test_what_is_there_is_not_overwritten(folder):
    (folder / "a.md").write_bytes(b"mine")
    (folder / "b.md").write_bytes(b"other")
    with pytest.raises(FileExistsError):
        create_file(folder / "a.md", b"yours")
    with pytest.raises(FileExistsError):
        move_file(folder / "b.md", folder / "a.md")
    assert (folder / "a.md").read_bytes() == b"mine"
    assert names(folder) == ["a.md", "b.md"]


def test_moving_between_folders(folder):
    make_folders(folder / "x/y")
    (folder / "a.md").write_bytes(b"text")
    move_file(folder / "a.md", folder / "x/y/b.md")
    assert (folder / "x/y/b.md").read_bytes() == b"text"
    assert names(folder) == ["x"]


def test_a_disk_that_refuses_leaves_the_old_file_alone(folder):
    path = folder / "a.md"
    replace_file(path, b"old")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            replace_file(path, b"new" * 1000)
        with pytest.raises(OSError, match="too large"):
            create_file(folder / "b.md", b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert path.read_bytes() == b"old"
    assert names(folder) == ["a.md"]


def test_leftovers_are_swept_but_nothing_else(folder):
    (folder / "deep").mkdir()
    left, new = (folder / "deep" / f"{TEMPORARY_PREFIX}{name}" for name in ("old", "new"))
    for path in (left, new, folder / "a.md", folder / ".hidden"):
        path.touch()
        os.utime(path, (1000, 1000))
    os.utime(new, (3000, 3000))
    sweep(folder, before_ms=2_000_000)
    assert names(folder) == [".hidden", "a.md", "deep"]
    assert names(folder / "deep") == [new.name]
