"""Only what lies in a tree is opened, whatever lies there."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from memory_sidecar.core import opening
from memory_sidecar.core.opening import FileRefused, Tree, make_folders_only_while, real_path

LIMIT = 1000

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs handles of folders")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top/folder").mkdir(parents=True)
    (tmp_path / "top/folder/a.md").write_bytes(b"text")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a.md").write_bytes(b"secret")
    return tmp_path / "top"


def refusal(top: Path, path: str | Path) -> str:
    with pytest.raises(FileRefused) as refused:
        Tree(top).read(path, LIMIT)
    assert refused.value.strerror == refused.value.reason
    return refused.value.reason


def test_a_file_is_read_by_relative_and_absolute_path(top):
    assert Tree(top).read("folder/a.md", LIMIT) == b"text"
    assert Tree(top).read(top / "folder/a.md", LIMIT) == b"text"
    assert Tree(f"{top}/folder/..").read(top / "folder/../folder/a.md", LIMIT) == b"text"


def test_a_tree_may_begin_at_a_link(top):
    (top.parent / "link").symlink_to(top)
    assert Tree(top.parent / "link").read("folder/a.md", LIMIT) == b"text"


def test_what_another_process_serves_by_now_is_not_made_again(top, monkeypatch):
    monkeypatch.setattr(opening, "_SERVED", {})
    is_ours = True
    make_folders_only_while(lambda: is_ours, top)
    Tree(top / "state").make("a")
    is_ours = False
    top.rename(top.with_name("moved"))
    for tree in (Tree(top), Tree(top / "state")):
        with pytest.raises(FileNotFoundError, match="moved or removed"):
            tree.make("a")
    assert not top.exists()
    Tree(top.with_name("moved")).make("b")


def test_no_link_is_followed_below_the_top(top):
    (top / "file").symlink_to("folder/a.md")
    (top / "out").symlink_to(top.parent / "outside")
    (top / "zero").symlink_to("/dev/zero")
    for path in ("file", "out/a.md", "zero"):
        assert refusal(top, path) == "symbolic link"
    assert Tree(top).status("out") is not None
    with pytest.raises(FileRefused):
        Tree(top).status("out/a.md")


def test_what_is_no_file_is_refused_at_once(top):
    os.mkfifo(top / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(top / "socket"))
        for path in ("fifo", "socket", "folder"):
            assert refusal(top, path) == "not a regular file"
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_APPEND | os.O_CREAT):
        with pytest.raises(FileRefused, match="not a regular file"):
            Tree(top).open("fifo", flags)


def test_only_so_much_is_read(top):
    (top / "fits").write_bytes(b"a" * LIMIT)
    (top / "large").write_bytes(b"a" * (LIMIT + 1))
    assert len(Tree(top).read("fits", LIMIT)) == LIMIT
    assert refusal(top, "large") == "larger than 1000 bytes"


def test_a_file_whose_size_nobody_knows_is_read_to_the_limit():
    assert b"Name:" in Tree("/proc/self").read("status", 1 << 16)
    with pytest.raises(FileRefused, match="larger than 20 bytes"):
        Tree("/proc/self").read("status", 20)


@pytest.mark.parametrize("path", ["../outside/a.md", "folder/../../outside/a.md", "/etc/passwd"])
def test_no_path_leads_out(top, path):
    assert refusal(top, path) == "no path below its folder"
    assert refusal(top, f"{top}x/a.md") == "no path below its folder"


@pytest.mark.parametrize("path", ["a\0b", "\ud83d.md"])
def test_what_cannot_be_a_name_is_refused_like_the_rest(top, path):
    assert refusal(top, path) == "no path below its folder"


def test_what_is_not_there_is_no_refusal(top):
    for path in ("nothing", "nothing/at/all"):
        with pytest.raises(FileNotFoundError):
            Tree(top).read(path, LIMIT)
        assert Tree(top).status(path) is None
    with pytest.raises(NotADirectoryError):
        Tree(top).read("folder/a.md/b", LIMIT)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_our_own_files_are_for_the_user_alone(tmp_path, umask):
    before = os.umask(umask)
    try:
        os.close(Tree(tmp_path / "own", is_own=True).open("x/y/log", os.O_WRONLY | os.O_CREAT))
        os.close(Tree(tmp_path / "other").open("x/log", os.O_WRONLY | os.O_CREAT))
    finally:
        os.umask(before)

    def mode(path: str) -> int:
        return stat.S_IMODE((tmp_path / path).stat().st_mode)

    assert [mode(path) for path in ("own", "own/x", "own/x/y")] == [0o700] * 3
    assert mode("own/x/y/log") == 0o600
    assert (mode("other/x"), mode("other/x/log")) == (0o777 & ~umask, 0o666 & ~umask)


def test_what_others_could_enter_is_closed_to_them_and_no_link_is_followed(top):
    (top / "folder").chmod(0o2775)
    (top / "folder/a.md").chmod(0o664)
    (top / "link").symlink_to("folder/a.md")
    tree = Tree(top, is_own=True)
    for path in ("folder", "nothing", "link"):
        tree.keep_private(path)
    modes = [stat.S_IMODE((top / path).stat().st_mode) for path in ("folder", "folder/a.md")]
    assert modes == [0o700, 0o664]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs to give files away")
def test_another_users_file_is_refused_where_all_are_our_own(top):
    os.chown(top / "folder/a.md", 4321, -1)
    assert Tree(top).read("folder/a.md", LIMIT) == b"text"
    with pytest.raises(FileRefused, match="owned by another user"):
        Tree(top, is_own=True).read("folder/a.md", LIMIT)
    os.chown(top, 4321, -1)  # whose folder the user named
    assert Tree(top, is_own=True).read("folder/a.md", LIMIT) == b"text"


def test_no_handle_is_left_open(top):
    before = len(list(Path("/dev/fd").iterdir()))
    tree = Tree(top)
    (top / "link").symlink_to("folder")
    for path in ("folder/a.md", "nothing/a", "link/a.md", "folder", "folder/a.md/b"):
        with suppress(OSError):
            tree.read(path, LIMIT)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_link_is_followed_as_far_as_it_may_be_read(top):
    (top / "link").symlink_to("folder")
    (top / "loop").symlink_to("loop")
    assert real_path(top / "link/a.md") == str(top / "folder/a.md")
    assert real_path(top / "loop") == str(top / "loop")
    try:
        Path("/proc/1/cwd").readlink()
    except OSError:
        (top / "hidden").symlink_to("/proc/1/cwd")
        # Python 3.13 keeps what follows.
        assert real_path(top / "hidden/a.md") in ("/proc/1/cwd", "/proc/1/cwd/a.md")
    else:
        pytest.skip("any link of /proc may be read here")


def test_nothing_is_under_a_name_that_is_too_long_for_a_file(top):
    tree, name = Tree(top), "a" * 300
    for path in (name, f"{name}/a.md", f"folder/{name}"):
        assert tree.status(path) is None
        with pytest.raises(FileNotFoundError):
            tree.read(path, LIMIT)
        with pytest.raises(OSError, match="too long"):
            tree.open(path, os.O_RDWR | os.O_CREAT)


def test_a_real_path_is_told_of_what_can_be_none(top):
    assert real_path(f"{top}/a\0b") == f"{top}/a\0b"
