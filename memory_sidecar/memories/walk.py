"""Lists the Markdown files of a knowledge directory. Opens none of them.

Nobody's ignore rules apply: the directory often lies where git is told not to look, and a category
may well be called `build`. What begins with a dot is no memory, and links are not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from memory_sidecar.core import reasons
from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import SourceFile
from memory_sidecar.disk.walk import Scan

SUFFIX = ".md"


def walk_memories(root: Path, *, max_file_bytes: int, under: Iterable[str] | None = None) -> Scan:
    """Scan the directory at `root`, or only what is at and below the paths `under`.

    Raises NotFound when `root` is not there, PathRefused when it cannot be listed or a path in
    `under` leaves it.
    """
    try:
        os.scandir(root).close()
    except FileNotFoundError as error:
        raise NotFound(f"{root} is not there", hint="mount its disk again") from error
    except OSError as error:
        raise PathRefused(
            f"{root} cannot be read: {error.strerror}", hint="check its permissions and its disk"
        ) from error
    scanning = _Scanning(root, max_file_bytes)
    for path in [""] if under is None else sorted({_checked(path) for path in under}):
        scanning.add_path(path)
    return Scan(
        files=tuple(scanning.files[path] for path in sorted(scanning.files)),
        folders=tuple(sorted(scanning.folders)),
        unreadable=tuple(sorted(scanning.unreadable)),
    )


class _Scanning:
    """Gathers the parts of a `Scan`."""

    def __init__(self, root: Path, max_file_bytes: int) -> None:
        self._root = root
        self._max_file_bytes = max_file_bytes
        self.files: dict[str, SourceFile] = {}
        self.folders: set[str] = set()
        self.unreadable: set[str] = set()

    def add_path(self, path: str) -> None:
        if any(part.startswith(".") for part in path.split("/")) or path in self.folders:
            return
        if not path:
            self._add_folder(path)
            return
        try:
            if self._leads_through_link(path):
                return
            status = os.lstat(self._root / path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self.unreadable.add(path)
            return
        if stat.S_ISDIR(status.st_mode):
            self._add_folder(path)
        else:
            self._add_file(path, status)

    def _leads_through_link(self, path: str) -> bool:
        above = list(PurePosixPath(path).parents)[:-1]
        return any(stat.S_ISLNK(os.lstat(self._root / folder).st_mode) for folder in above)

    def _add_folder(self, folder: str) -> None:
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            self.folders.add(folder)
            for path, status in self._listing(folder):
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(path)
                else:
                    self._add_file(path, status)

    def _listing(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(self._root / folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name.startswith(".") or not (
                        name.lower().endswith(SUFFIX) or entry.is_dir(follow_symlinks=False)
                    ):
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # went away since it was listed
                    yield f"{folder}/{name}" if folder else name, status
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self.unreadable.add(folder)

    def _add_file(self, path: str, status: os.stat_result) -> None:
        if not path.lower().endswith(SUFFIX):
            return
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        self.files[shown] = SourceFile(
            path=shown,
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            ctime_ns=status.st_ctime_ns,
            skip_reason=self._skip_reason(status, is_utf8=shown == path),
        )

    def _skip_reason(self, status: os.stat_result, *, is_utf8: bool) -> str:
        if stat.S_ISLNK(status.st_mode):
            return reasons.SYMBOLIC_LINK
        if not stat.S_ISREG(status.st_mode):
            return reasons.NOT_REGULAR
        if not is_utf8:
            return reasons.NAME_NOT_UTF8
        if status.st_size > self._max_file_bytes:
            return reasons.larger_than(self._max_file_bytes)
        return "" if status.st_size else reasons.EMPTY


def _checked(path: str) -> str:
    parts = path.replace(os.sep, "/").split("/")
    if path.startswith("/") or ".." in parts:
        raise PathRefused(f"{path!r} is no path below the directory", hint="name it relative to it")
    return "/".join(part for part in parts if part not in ("", "."))
