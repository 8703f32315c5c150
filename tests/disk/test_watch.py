"""Watching real folders. Every wait is for something to be heard, with a generous deadline."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest
from watchdog.observers.polling import PollingObserver

from memory_sidecar.disk.observe import Observer, Report
from memory_sidecar.disk.tree_observer import TreeObserver
from memory_sidecar.disk.walk import walk
from memory_sidecar.disk.watch import open_observer
from tests.disk.conftest import Watching

LONGER = "x = 1000\n"  # a poll cannot tell two saves of one size in the same clock tick


def walk_folders(root: Path) -> tuple[str, ...]:
    return walk(root, max_file_bytes=1 << 20).folders


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel in /proc")


@pytest.fixture(params=["native", "tree"])
def observe(request: pytest.FixtureRequest) -> Callable[[Path, Report], Observer]:
    """What this system uses, and what those without inotify do, over a tree that is polled.

    Not over inotify: watchdog's tree warns when it comes by a new folder twice, as it may, and
    here a warning ends its thread.
    """
    if request.param == "native":
        return open_observer
    return partial(TreeObserver, open_tree=partial(PollingObserver, timeout=0.02))


def test_saving_creating_and_deleting_is_heard(root, write, start_watch, heard, observe):
    write("pkg/a.py", "pkg/b.py", "c.py")
    start_watch(observe=observe)
    write("pkg/a.py", "c.py", text=LONGER)
    write("pkg/new.py")
    (root / "pkg/b.py").unlink()
    heard.wait_for("pkg/a.py", "pkg/new.py", "pkg/b.py", "c.py")
    assert not heard.everything


def test_an_atomic_save_is_heard_under_the_final_name(root, write, start_watch, heard, observe):
    write("pkg/a.py")
    start_watch(observe=observe)
    write("pkg/.a.py.tmp", text="x = 2\n")
    (root / "pkg/.a.py.tmp").replace(root / "pkg/a.py")
    heard.wait_for("pkg/a.py")


def test_a_move_names_where_from_and_where_to(root, write, start_watch, heard, observe):
    write("a/f.py", "b/g.py", "old/h.py")
    start_watch(observe=observe)
    (root / "a/f.py").rename(root / "b/f.py")
    (root / "old").rename(root / "b/new")
    heard.wait_for("a/f.py", "b/f.py", "old", "b/new")


def test_reading_is_no_change(root, write, start_watch, heard, observe):
    write("pkg/a.py")
    start_watch(observe=observe)
    assert (root / "pkg/a.py").read_text()
    assert walk(root, max_file_bytes=1 << 20).files
    write("last.py")
    heard.wait_for("last.py")
    assert heard.paths == {"last.py"}


def test_nothing_is_heard_from_a_folder_that_nobody_asked_for(
    root, write, start_watch, heard, observe
):
    write(".gitignore", text="/logs/\n")
    write("pkg/a.py", "logs/today/a.log", "node_modules/m/index.js", ".git/HEAD")
    start_watch(observe=observe)
    write("logs/today/a.log", "logs/b.log", "node_modules/m/index.js", ".git/HEAD", text=LONGER)
    write("pkg/a.py", text=LONGER)
    heard.wait_for("pkg/a.py")
    assert heard.paths == {"pkg/a.py"}
    assert not heard.everything


@linux_only
def test_an_ignored_folder_costs_no_watch(root, write, start_watch, inotify_watches):
    write(*(f"node_modules/m{n}/lib/index.js" for n in range(50)), "pkg/sub/a.py", "b.py")
    before = inotify_watches()
    watch = start_watch()
    assert inotify_watches() - before == len(["", "pkg", "pkg/sub"])
    watch.stop()
    assert inotify_watches() == before


def test_a_new_folder_is_heard_again_once_it_is_watched(root, write, start_watch, heard, observe):
    watch = start_watch(observe=observe)
    write("new/deep/a.py")
    heard.wait_for("new")
    heard.forget()
    watch.follow(walk_folders(root))
    heard.wait_for("new")  # with whatever it held when the watch began
    write("new/deep/b.py")
    heard.wait_for("new/deep/b.py")


def test_a_folder_is_followed_no_longer_once_it_is_ignored(
    root, write, start_watch, heard, observe
):
    write("gen/a.py", "pkg/a.py")
    watch = start_watch(observe=observe)
    write(".gitignore", text="gen/\n")
    heard.wait_for_everything()
    watch.follow(walk_folders(root))
    heard.forget()
    heard.wait_for_saved("pkg/a.py", lambda: write("gen/a.py", "pkg/a.py", text=LONGER))
    assert "gen/a.py" not in heard.paths


def test_a_renamed_folder_is_heard_under_its_new_name_only(root, write, start_watch, heard):
    write("old/sub/a.py")
    watch = start_watch()
    (root / "old").rename(root / "new")
    heard.wait_for("old", "new")
    heard.forget()
    watch.follow(walk_folders(root))
    heard.wait_for("new")
    heard.forget()
    write("new/sub/a.py", text="x = 2\n")
    heard.wait_for("new/sub/a.py")
    assert heard.paths == {"new/sub/a.py"}


def test_folders_that_trade_names_are_told_apart(root, write, start_watch, heard):
    write("a/in_a.py", "b/in_b.py")
    start_watch()
    (root / "a").rename(root / "c")
    (root / "b").rename(root / "a")
    (root / "c").rename(root / "b")
    heard.wait_for("a", "b")
    heard.forget()
    write("a/in_b.py", text="x = 2\n")  # and nothing followed anew: the names are the same
    heard.wait_for("a/in_b.py")
    assert "b/in_b.py" not in heard.paths


def test_a_folder_that_is_made_again_is_watched_again(root, write, start_watch, heard, tmp_path):
    write("pkg/sub/a.py")
    copies = [shutil.copytree(root / "pkg", tmp_path / f"copy{n}") for n in range(3)]
    start_watch()
    for copy in copies:
        shutil.rmtree(root / "pkg")
        heard.wait_for("pkg")
        heard.forget()
        copy.rename(root / "pkg")
        heard.wait_for("pkg")  # watched by now, though nobody called `follow`
        heard.forget()
        write("pkg/sub/a.py", text="x = 2\n")
        heard.wait_for("pkg/sub/a.py")
        heard.forget()


@pytest.mark.parametrize("name", [".gitignore", ".sidecarignore"])
def test_new_ignore_rules_concern_their_whole_folder(root, write, start_watch, heard, name):
    write("pkg/sub/a.py", "b.py")
    start_watch()
    write(f"pkg/{name}", text="sub/\n")
    heard.wait_for("pkg")
    assert not heard.everything
    write(name, text="pkg/\n")
    heard.wait_for_everything()


def test_git_init_and_its_exclude_file_concern_everything(root, start_watch, heard, git):
    start_watch()
    git("init", "-q")
    heard.wait_for_everything()
    (root / ".git/info").mkdir(exist_ok=True)
    heard.forget()
    heard.wait_for_saved("a.py", (root / "a.py").touch)
    (root / ".git/info/exclude").write_text("*.py\n")
    heard.wait_for_everything()


def test_switching_branches_is_very_few_batches(root, write, start_watch, heard, git):
    git("init", "-q", "-b", "main")
    files = [f"pkg{n % 50}/mod{n}.py" for n in range(2_100)]
    write(*files, ".gitattributes")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    write(*files, text="x = 2\n")
    git("commit", "-qam", "two")
    # Longer than git pauses on a machine with other work.
    watch = Watching(root, on_settled=heard, debounce_ms=500, max_wait_ms=20_000)
    watch.begin(walk_folders(root))
    try:
        git("checkout", "-q", "main")
        write("last.py")
        heard.wait_until(lambda: heard.everything > 0 or heard.paths >= {"last.py", *files})
    finally:
        watch.stop()
    assert len(heard.batches) <= 5


def test_a_name_that_is_not_utf8_stands_for_its_folder(root, write, start_watch, heard):
    write("pkg/a.py")
    start_watch()
    os.close(os.open(os.fsencode(root) + b"/pkg/bad\xff.py", os.O_CREAT | os.O_WRONLY))
    heard.wait_for("pkg")


def test_a_source_reached_through_a_link_is_watched(root, write, heard, tmp_path, observe):
    write("pkg/a.py")
    link = tmp_path / "link"
    link.symlink_to(root)
    watch = Watching(link, on_settled=heard, debounce_ms=20, observe=observe)
    watch.begin(["pkg"])
    try:
        write("pkg/a.py", text=LONGER)
        heard.wait_for("pkg/a.py")
    finally:
        watch.stop()


def test_a_link_in_the_place_of_a_folder_is_not_followed(root, write, start_watch, heard, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "pkg").symlink_to(outside)
    start_watch("pkg")
    (outside / "a.py").touch()
    write("last.py")
    heard.wait_for("last.py")
    assert heard.paths == {"last.py"}


def test_a_folder_is_watched_once_it_can_be_read(locked_root, heard, drop_privileges):
    (locked_root / "pkg").mkdir(mode=0o777)
    (locked_root / "also").mkdir()
    (locked_root / "pkg").chmod(0)
    (locked_root / "also").chmod(0)
    watch = Watching(locked_root, on_settled=heard, debounce_ms=20)
    drop_privileges()
    watch.begin(["also", "pkg"])
    try:
        assert watch.unwatched == ()
        os.seteuid(os.getuid())
        (locked_root / "pkg").chmod(0o777)
        heard.wait_for("pkg")
        (locked_root / "pkg/a.py").touch()
        heard.wait_for("pkg/a.py")
    finally:
        watch.stop()


@linux_only
def test_starting_and_stopping_leaves_nothing_behind(root, write, heard):
    write(*(f"p{n}/a.py" for n in range(20)))

    def cycle() -> None:
        watch = Watching(root, on_settled=heard)
        watch.begin(walk_folders(root))
        write("p1/a.py")
        watch.stop()
        watch.stop()

    cycle()
    threads, descriptors = set(threading.enumerate()), psutil.Process().num_fds()
    for _ in range(20):
        cycle()
    # What another test began may end meanwhile.
    assert set(threading.enumerate()) <= threads
    assert psutil.Process().num_fds() <= descriptors


@linux_only
def test_hundreds_of_folders_need_one_thread(root, write, start_watch, inotify_watches):
    # An ignored folder in each of them, as after running a Python project.
    for n in range(300):
        write(f"p{n}/a.py", f"p{n}/__pycache__/a.pyc")
    threads, watches = threading.active_count(), inotify_watches()
    start_watch()
    assert threading.active_count() - threads == 2  # the other one is the test's
    assert inotify_watches() - watches == 301


def test_nothing_is_handed_over_after_stop(root, write, start_watch, heard):
    watch = start_watch()
    write("a.py")
    watch.stop()
    count = len(heard.batches)
    write("b.py")
    watch.follow(["c"])
    assert len(heard.batches) == count
