from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from memory_sidecar.disk.observe import Observer, Report
from memory_sidecar.disk.walk import walk
from memory_sidecar.disk.watch import EVERYTHING, Debouncer, Watch, open_observer

DEADLINE_S = 60.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that the developer's own global excludes decide nothing."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty source that is no repository."""
    folder = tmp_path / "source"
    folder.mkdir()
    return folder


@pytest.fixture
def write(root: Path) -> Callable[..., None]:
    """`write("a/b.py", "a/c.py", text="…")` makes files below the source."""

    def write(*paths: str, text: str = "x = 1\n") -> None:
        for path in paths:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def git(root: Path) -> Callable[..., str]:
    """Runs git in the source, or in `cwd`, and returns what it prints."""

    def git(*arguments: str, cwd: Path = root) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout

    return git


@pytest.fixture
def locked_root() -> Iterator[Path]:
    """An empty source, for a test that runs as a user whom permissions bind."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)  # pytest's own folders let nobody else in
        try:
            yield folder
        finally:
            os.seteuid(os.getuid())
            for directory in (folder, *folder.rglob("*")):
                if directory.is_dir() and not directory.is_symlink():
                    directory.chmod(0o755)


@pytest.fixture
def drop_privileges() -> Callable[[], None]:
    """Stop being root, if we are, until the end of the test."""

    def drop() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)

    return drop


class Heard:
    """Collects what a watch says, and waits for it."""

    def __init__(self) -> None:
        self.batches: list[frozenset[str]] = []
        self._changed = threading.Condition()

    def __call__(self, settled: frozenset[str]) -> None:
        with self._changed:
            self.batches.append(settled)
            self._changed.notify_all()

    @property
    def paths(self) -> set[str]:
        return {path for batch in self.batches for path in batch - EVERYTHING}

    @property
    def everything(self) -> int:
        """How often a scan of everything was asked for."""
        return self.batches.count(EVERYTHING)

    def wait_for(self, *paths: str) -> None:
        """Until each of `paths` was in some batch."""
        self.wait_until(lambda: self.paths.issuperset(paths), paths)

    def wait_for_saved(self, path: str, save: Callable[[], object]) -> None:
        """Call `save`, which writes `path`, until that is heard by its name.

        Events of what was done before may yet come: with one, a save is a part of everything.
        """
        while path not in self.paths:
            is_heard = partial(self._has_more, self.everything, path)
            save()
            self.wait_until(is_heard, path)

    def _has_more(self, than: int, path: str) -> bool:
        return self.everything > than or path in self.paths

    def wait_for_everything(self) -> None:
        self.wait_until(lambda: self.everything > 0, "everything")

    def forget(self) -> None:
        with self._changed:
            self.batches.clear()

    def wait_until(self, condition: Callable[[], bool], what: object = "") -> None:
        with self._changed:
            if not self._changed.wait_for(condition, DEADLINE_S):
                pytest.fail(f"not heard: {what}, but {self.batches}")


@pytest.fixture
def heard() -> Heard:
    return Heard()


class Watching(threading.Thread):
    """Does with a watch what an owner does: waits until changes settle, and looks now and then."""

    def __init__(
        self,
        root: Path,
        *,
        on_settled: Callable[[frozenset[str]], None],
        debounce_ms: int = 50,
        max_wait_ms: int = 2_000,
        poll_ms: int = 2_000,
        observe: Callable[[Path, Report], Observer] = open_observer,
    ) -> None:
        super().__init__(daemon=True)
        self.watch = Watch(root, on_change=self._hear, poll_ms=poll_ms, observe=observe)
        self._on_settled = on_settled
        self._gathering = Debouncer(debounce_ms=debounce_ms, max_wait_ms=max_wait_ms)
        self._look_s = poll_ms / 1000
        self._changed = threading.Condition()
        self._must_end = False
        self.follow = self.watch.follow

    def begin(self, folders: Iterable[str]) -> None:
        self.watch.start(folders)
        self.start()

    def stop(self) -> None:
        with self._changed:
            self._must_end = True
            self._changed.notify()
        if self.is_alive():
            self.join()
        self.watch.stop()

    @property
    def unwatched(self) -> tuple[str, ...]:
        return self.watch.unwatched

    @property
    def limit_notice(self) -> str:
        return self.watch.limit_notice

    def _hear(self, path: str, *, is_whole: bool = False) -> None:
        with self._changed:
            self._gathering.add(path, time.monotonic(), is_whole=is_whole)
            self._changed.notify()

    def run(self) -> None:
        while not self._must_end:
            self.watch.look()
            with self._changed:
                left_s = self._gathering.due_s - time.monotonic()
                if left_s > 0 and not self._must_end:
                    self._changed.wait(min(left_s, self._look_s))
                if self._gathering.due_s > time.monotonic() or self._must_end:
                    continue
                settled = self._gathering.take()
            self._on_settled(self.watch.catch_up(settled))


@pytest.fixture
def start_watch(root: Path, heard: Heard) -> Iterator[Callable[..., Watching]]:
    """`start_watch("a", "b")` watches the root and these, `start_watch()` what a walk finds."""
    watches: list[Watching] = []

    def start(
        *folders: str, observe: Callable[[Path, Report], Observer] = open_observer
    ) -> Watching:
        watch = Watching(
            root, on_settled=heard, debounce_ms=20, max_wait_ms=500, poll_ms=20, observe=observe
        )
        watches.append(watch)
        watch.begin(folders or walk(root, max_file_bytes=1 << 20).folders)
        return watch

    yield start
    for watch in watches:
        watch.stop()


@pytest.fixture
def inotify_watches() -> Callable[[], int]:
    """Counts those that the kernel holds for this process."""

    def count() -> int:
        total = 0
        for info in Path("/proc/self/fdinfo").iterdir():
            try:
                total += len(re.findall("^inotify wd:", info.read_text(), re.MULTILINE))
            except FileNotFoundError:
                continue  # the descriptor that listed the folder
        return total

    return count
