"""What a watch does when the root goes away, events are lost, or the system gives no more."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers.polling import PollingObserver

from memory_sidecar.disk.observe import Observer, Report
from memory_sidecar.disk.tree_observer import TreeObserver
from memory_sidecar.disk.watch import EVERYTHING, open_observer
from tests.disk.conftest import Heard, Watching

LONGER = "x = 1000\n"  # a poll cannot tell two saves of one size in the same clock tick

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="breaks inotify")


class Breakable:
    """The system's observer, with a limit of its own, and events that can be lost."""

    def __init__(self, root: Path, report: Report, *, limit: int) -> None:
        self._report = report
        self._observer = open_observer(root, report)
        self.limit = limit
        self.is_reliable = True

    @property
    def folders(self) -> frozenset[str]:
        return self._observer.folders

    def add(self, folder: str) -> None:
        if len(self.folders) >= self.limit:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        self._observer.add(folder)

    def discard(self, folder: str) -> None:
        self._observer.discard(folder)

    def close(self) -> None:
        self._observer.close()

    def lose_events(self) -> None:
        self._observer.close()  # whatever happens now is not heard
        self.is_reliable = False
        self._report("")


class Opened:
    """Opens breakable observers, and keeps them for the test."""

    def __init__(self, *, limit: int = 1_000) -> None:
        self.limit = limit
        self.observers: list[Breakable] = []

    def __call__(self, root: Path, report: Report) -> Observer:
        if not self.limit:
            raise OSError(errno.EMFILE, "inotify instance limit reached")
        self.observers.append(Breakable(root, report, limit=self.limit))
        return self.observers[-1]


def test_after_lost_events_everything_is_scanned_and_watched_anew(root, write, start_watch, heard):
    write("pkg/a.py")
    opened = Opened()
    start_watch(observe=opened)
    opened.observers[0].lose_events()
    heard.wait_for_everything()
    heard.wait_for_saved("pkg/a.py", lambda: write("pkg/a.py", text="x = 2\n"))
    assert len(opened.observers) == 2


@pytest.mark.parametrize("which", ["emitter", "dispatcher"])
def test_a_thread_that_died_is_noticed_by_the_next_scan(root, write, start_watch, heard, which):
    write("pkg/a.py")
    trees: list[PollingObserver] = []

    def open_tree() -> PollingObserver:
        trees.append(PollingObserver(timeout=0.02))
        return trees[-1]

    watch = start_watch(observe=partial(TreeObserver, open_tree=open_tree))
    (emitter,) = trees[0].emitters
    dying = emitter if which == "emitter" else trees[0]
    dying.stop()
    dying.join()
    watch.follow(["pkg"])
    heard.wait_for_everything()
    heard.wait_for_saved("pkg/a.py", lambda: write("pkg/a.py", text=LONGER))
    assert len(trees) == 2


@linux_only
def test_an_overflow_of_the_systems_queue_is_noticed(root, write, start_watch, heard):
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    write("pkg/a.py")
    at_once = threading.Event()
    stuck: list[Observer] = []

    def observe(root: Path, report: Report) -> Observer:
        def wait_and_report(path: str, *, is_whole: bool = False) -> None:
            at_once.wait()  # the reading thread hangs, and the queue fills up
            report(path, is_whole=is_whole)

        stuck.append(open_observer(root, wait_and_report))
        return stuck[-1]

    start_watch(observe=observe)
    try:
        for _ in range(queued // 2 + 5_000):  # two kinds of events, so that they are not merged
            (root / "pkg/a.py").touch()
            os.truncate(root / "pkg/a.py", 1)
    finally:
        at_once.set()
    heard.wait_for_everything()
    heard.wait_until(lambda: len(stuck) == 2)
    heard.forget()
    heard.wait_for_saved("pkg/b.py", lambda: write("pkg/b.py"))


@linux_only
def test_a_failure_in_the_reading_thread_is_logged_and_every_source_is_watched_anew(
    root, write, start_watch, heard, tmp_path, caplog
):
    write("pkg/a.py")
    opened: list[Observer] = []

    def observe(root: Path, report: Report) -> Observer:
        def fail_at_first(path: str, *, is_whole: bool = False) -> None:
            if len(opened) == 1:
                raise RuntimeError("of nobody's doing")
            report(path, is_whole=is_whole)

        opened.append(open_observer(root, fail_at_first))
        return opened[-1]

    (tmp_path / "other").mkdir()
    others = Heard()
    other = Watching(tmp_path / "other", on_settled=others, debounce_ms=20, poll_ms=20)
    other.begin([])
    try:
        start_watch(observe=observe)
        write("pkg/a.py", text="x = 2\n")
        for each in (heard, others):
            each.wait_for_everything()
        heard.wait_until(lambda: len(opened) == 2)
        heard.wait_for_saved("pkg/b.py", lambda: write("pkg/b.py"))
        (tmp_path / "other" / "c.py").touch()
        others.wait_for("c.py")
    finally:
        other.stop()
    assert "of nobody's doing" in caplog.text


@linux_only
def test_without_a_thread_everything_is_polled(root, write, start_watch, heard, monkeypatch):
    write("a.py")
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "inotify":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as refusing:
        refusing.setattr(threading.Thread, "start", refuse)
        watch = start_watch()
        assert watch.unwatched == ("",)
        assert "can't start new thread" in watch.limit_notice
    write("a.py", text=LONGER)
    heard.wait_for_everything()
    assert not watch.unwatched


def test_a_root_that_goes_away_is_told_once_and_watched_again_when_it_is_back(
    root, write, start_watch, heard
):
    write("pkg/a.py")
    start_watch()
    aside = root.with_name("aside")
    root.rename(aside)
    heard.wait_for_everything()
    assert heard.everything == 1
    heard.forget()
    aside.rename(root)
    heard.wait_for_everything()
    heard.wait_for_saved("pkg/a.py", lambda: write("pkg/a.py", text="x = 2\n"))


def test_a_deleted_root_that_is_made_again_is_another_folder(root, write, start_watch, heard):
    write("pkg/a.py")
    start_watch()
    for _ in range(3):
        shutil.rmtree(root)
        heard.wait_for_everything()
        heard.forget()
        write("pkg/a.py")
        heard.wait_for_everything()
        heard.forget()
        heard.wait_for_saved("pkg/a.py", lambda: write("pkg/a.py", text="x = 2\n"))


def test_a_root_that_goes_before_what_changed_in_it_is_scanned_is_noticed(root, write):
    write("pkg/a.py")
    watch = Watching(root, on_settled=print).watch
    watch.start(["pkg"])
    shutil.rmtree(root)
    assert watch.catch_up(frozenset({"pkg"})) == EVERYTHING
    assert watch.catch_up(frozenset({"pkg"})) == {"pkg"}
    watch.stop()


def test_a_root_that_is_replaced_unseen_is_noticed_when_it_is_followed(
    root, write, start_watch, heard, tmp_path
):
    # The folder above is renamed: the system tells nobody.
    inner = root / "inner"
    write("inner/pkg/a.py")
    # Looked at so seldom that following alone notices.
    watch = Watching(inner, on_settled=heard, debounce_ms=20, poll_ms=60_000)
    watch.begin(["pkg"])
    try:
        root.rename(tmp_path / "aside")
        write("inner/pkg/a.py")
        watch.follow(["pkg"])
        heard.wait_for_everything()
        noticed = heard.everything
        write("inner/pkg/a.py", text="x = 2\n")
        # A second notice of the same would cover the save, too.
        heard.wait_until(
            lambda: "pkg/a.py" in heard.paths or heard.everything > noticed, "pkg/a.py"
        )
    finally:
        watch.stop()


def test_a_watch_may_start_before_its_root_is_there(root, write, start_watch, heard):
    root.rmdir()
    start_watch("pkg")
    write("pkg/a.py")
    heard.wait_for_everything()
    heard.wait_for_saved("pkg/b.py", lambda: write("pkg/b.py"))


def test_a_file_in_the_place_of_the_root_is_a_root_that_is_gone(root, write, start_watch, heard):
    start_watch()
    root.rmdir()
    root.write_text("not a folder")
    heard.wait_for_everything()
    root.unlink()
    heard.forget()
    write("a.py")
    heard.wait_for_everything()


def test_beyond_the_limit_folders_are_polled_and_named(root, write, start_watch, heard):
    write("a/f.py", "b/f.py", "c/f.py", "c/gone.py", "c/sub/f.py")
    opened = Opened(limit=3)
    watch = start_watch(observe=opened)
    assert list(watch.unwatched) == ["c", "c/sub"]
    assert "polled instead of watched" in watch.limit_notice
    assert "fs.inotify.max_user_watches" in watch.limit_notice
    write("a/f.py", "c/f.py", "c/sub/f.py", text=LONGER)
    write("c/new.py")
    (root / "c/gone.py").unlink()
    heard.wait_for("a/f.py", "c/f.py", "c/sub/f.py", "c/new.py", "c/gone.py")
    assert not heard.everything

    shutil.rmtree(root / "c/sub")
    heard.wait_for("c/sub")
    opened.observers[0].limit = 1_000
    watch.follow(["a", "b", "c"])
    assert not watch.unwatched
    assert not watch.limit_notice
    heard.forget()
    write("c/f.py", text="x = 3\n")
    heard.wait_for("c/f.py")


def test_without_an_observer_everything_is_polled(root, write, start_watch, heard):
    write("a/f.py", "b.py", "node_modules/m/index.js")
    opened = Opened(limit=0)
    watch = start_watch(observe=opened)
    assert list(watch.unwatched) == ["", "a"]
    assert "fs.inotify.max_user_instances" in watch.limit_notice
    write("a/f.py", "b.py", "node_modules/m/index.js", text=LONGER)
    heard.wait_for("a/f.py", "b.py")
    assert heard.paths == {"a/f.py", "b.py"}
    write("a/bad\udcff.py")
    heard.wait_for("a")  # for a name that is not UTF-8

    opened.limit = 1_000
    write("b.py", text=2 * LONGER)
    heard.wait_for_everything()  # watched from here on, so what came before has to be looked for
    assert not watch.unwatched


REAL_LIMITS = """
import sys, threading
from pathlib import Path
from memory_sidecar.disk.watch import Watch

root, folders = Path(sys.argv[1]), sys.argv[2:]
heard = threading.Event()
watch = Watch(root, on_change=lambda path, is_whole=False: heard.set(), poll_ms=0)
watch.start(folders)
print(*watch.unwatched, sep=",")
print(watch.limit_notice)
(root / folders[-1] / "new.py").touch()
watch.look()
assert heard.wait(20)
watch.stop()
"""


@linux_only
@pytest.mark.parametrize(
    ("setting", "allowed", "polled"),
    [("max_inotify_watches", 2, "b,c"), ("max_inotify_instances", 0, ",a,b,c")],
)
def test_the_systems_real_limits_are_recognised(root, write, setting, allowed, polled):
    write("a/f.py", "b/f.py", "c/f.py")
    # In a user namespace of its own, a process can lower its limits without being root.
    lower = f'echo {allowed} > /proc/sys/user/{setting} || exit 77; exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", lower, "sh", sys.executable, "-c", REAL_LIMITS]
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare")
    done = subprocess.run(
        [*command, str(root), "a", "b", "c"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("user namespaces are not allowed")
    assert done.returncode == 0, done.stderr
    folders, notice = done.stdout.splitlines()
    assert folders == polled
    assert "fs.inotify.max_user_" in notice


@linux_only
def test_the_last_watch_ends_though_the_thread_wakes_meanwhile(root, monkeypatch):
    import inotify_simple

    def thread() -> threading.Thread | None:
        return next((each for each in threading.enumerate() if each.name == "inotify"), None)

    def add_watch(*arguments: Any) -> Any:
        if "/" in arguments and (reading := thread()) is not None:
            reading.join(0.1)
        return watch(*arguments)

    watch = inotify_simple.INotify.add_watch
    monkeypatch.setattr(inotify_simple.INotify, "add_watch", add_watch)
    monkeypatch.setattr("memory_sidecar.disk.inotify.WAKE_MS", 1)
    open_observer(root, lambda path, *, is_whole=False: None).close()
    assert thread() is None


@linux_only
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts")
def test_a_folder_that_is_mounted_in_a_source_is_noticed_and_watched(
    root, write, start_watch, heard, tmp_path
):
    write("a.py", "on disk/old.py")
    other, place = tmp_path / "other", root / "on disk"
    other.mkdir()
    start_watch()
    if subprocess.run(["mount", "--bind", other, place], check=False).returncode:
        pytest.skip("this system lets nobody mount")
    try:
        heard.wait_for_everything()
        save = partial((other / "new.py").write_text, "x = 1\n")
        heard.wait_for_saved("on disk/new.py", save)
    finally:
        subprocess.run(["umount", place], check=True)
