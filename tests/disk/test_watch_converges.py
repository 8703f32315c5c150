"""A watch and the scans it asks for, together, know what is on disk, whatever happens there."""

from __future__ import annotations

import random
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_sidecar.core.model import SourceFile
from memory_sidecar.disk.walk import walk
from memory_sidecar.disk.watch import EVERYTHING
from tests.disk.conftest import Watching

LIMIT = 1 << 20
DEADLINE_S = 60.0


class Mirror:
    """Does with every batch what an index does: scan, take over, follow."""

    def __init__(self, root: Path) -> None:
        self.files: dict[str, SourceFile] = {}
        self.changed = threading.Condition()
        self._root = root
        self._folders: set[str] = set()
        self.watch = Watching(root, on_settled=self._take_over, debounce_ms=5, max_wait_ms=50)
        self.watch.begin([])
        self._take_over(EVERYTHING)

    def comes_to_know(self, there: dict[str, SourceFile]) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.files == there, DEADLINE_S)

    def _take_over(self, under: frozenset[str]) -> None:
        scan = walk(self._root, max_file_bytes=LIMIT, under=under)
        with self.changed:
            self.files = {p: f for p, f in self.files.items() if not _is_below(p, under)}
            self.files |= {file.path: file for file in scan.files}
            self._folders = {f for f in self._folders if not _is_below(f, under)}
            self._folders.update(scan.folders)
            folders = frozenset(self._folders)
            self.changed.notify_all()
        self.watch.follow(folders)


def _is_below(path: str, under: frozenset[str]) -> bool:
    return any(not top or path == top or path.startswith(f"{top}/") for top in under)


class Churn:
    """Random changes of a tree, the same for the same seed."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)

    def change(self) -> None:
        change = self._random.choice(
            [self._save, self._save, self._save, self._delete, self._move, self._copy, self._ignore]
        )
        change()

    def _save(self) -> None:
        path = self._new_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x" * self._random.randrange(100))

    def _delete(self) -> None:
        if path := self._existing():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _move(self) -> None:
        target = self._new_path()
        path = self._existing()
        if path and path.is_dir():
            target = target.parent
        is_nested = path and (target.is_relative_to(path) or path.is_relative_to(target))
        if path and target.parent.is_dir() and not is_nested:
            if target.is_dir():
                shutil.rmtree(target)
            path.rename(target)

    def _copy(self) -> None:
        target = self._new_path().parent
        if (path := self._existing()) and path.is_dir() and not target.is_relative_to(path):
            shutil.copytree(path, target, dirs_exist_ok=True)

    def _ignore(self) -> None:
        self._new_path().parent.mkdir(parents=True, exist_ok=True)
        folder = self._random.choice([p for p in self._root.rglob("*") if p.is_dir()])
        (folder / ".gitignore").write_text(f"{self._random.choice('abc')}/\n")

    def _new_path(self) -> Path:
        folders = self._random.choices("abc", k=self._random.randrange(1, 5))
        return self._root.joinpath(*folders, f"f{self._random.randrange(5)}.py")

    def _existing(self) -> Path | None:
        return self._random.choice([*sorted(self._root.rglob("*")), None])


@pytest.fixture
def mirror(root: Path) -> Iterator[Mirror]:
    mirror = Mirror(root)
    yield mirror
    mirror.watch.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a scan from time to time is needed")
@pytest.mark.parametrize("seed", range(3))
def test_after_any_changes_what_is_known_is_what_is_there(root, mirror, seed):
    churn = Churn(root, seed)
    for _ in range(10):
        for _ in range(30):
            churn.change()
        there = {file.path: file for file in walk(root, max_file_bytes=LIMIT).files}
        assert mirror.comes_to_know(there), there.items() ^ mirror.files.items()
