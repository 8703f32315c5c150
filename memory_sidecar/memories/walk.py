"""Scans a knowledge directory for Markdown files. Opens none of them.

No ignore rules apply: the directory is often ignored by git, and a category may well be called
`build`. Names that begin with a dot are skipped, and links are not followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from memory_sidecar.core import reasons
from memory_sidecar.core.model import Scan, SourceFile
from memory_sidecar.core.opening import escape_bytes
from memory_sidecar.disk.roots import check_root
from memory_sidecar.disk.walk import normalised
from memory_sidecar.memories.names import is_hidden, is_markdown


def walk_memories(root: Path, *, max_file_bytes: int, under: Iterable[str] | None = None) -> Scan:
    """Scan the directory at `root`, or only the paths `under` and what lies below them.

    Raises NotFound if `root` is missing, PathRefused if it cannot be listed or a path in `under`
    leaves it.
    """
    check_root(os.fspath(root), if_gone="mount its disk again")
    starts = frozenset([""] if under is None else map(normalised, under))
    waiting = [path for path in starts if not is_hidden(path)]
    files: dict[str, SourceFile] = {}
    folders: set[str] = set()
    unreadable: set[str] = set()
    while waiting:
        path = waiting.pop()
        try:
            if path in starts and _leads_through_link(root, path):
                continue
            status = os.lstat(root / path) if path else root.stat()
            if not stat.S_ISDIR(status.st_mode):
                if is_markdown(path):
                    file = _source_file(path, status, max_file_bytes)
                    files[file.path] = file
            elif path not in folders:
                folders.add(path)
                waiting += _list_folder(root, path)
        except (FileNotFoundError, NotADirectoryError):
            continue  # missing, or deleted since it was listed
        except OSError:
            unreadable.add(path)
    return Scan(
        files=tuple(files[path] for path in sorted(files)),
        folders=tuple(sorted(folders)),
        unreadable=tuple(sorted(unreadable)),
    )


def _list_folder(root: Path, folder: str) -> Iterator[str]:
    """Yield the paths of the Markdown files and folders in `folder`, except hidden ones."""
    with os.scandir(root / folder) as entries:
        for entry in entries:
            is_named = is_markdown(entry.name)
            if not is_hidden(entry.name) and (is_named or entry.is_dir(follow_symlinks=False)):
                yield f"{folder}/{entry.name}" if folder else entry.name


def _leads_through_link(root: Path, path: str) -> bool:
    """Whether a folder above `path`, below `root`, is a symbolic link. Raises OSError."""
    above = list(PurePosixPath(path).parents)[:-1]
    return any(stat.S_ISLNK(os.lstat(root / folder).st_mode) for folder in above)


def _source_file(path: str, status: os.stat_result, max_file_bytes: int) -> SourceFile:
    shown = escape_bytes(path)
    reason = "" if status.st_size else reasons.EMPTY
    if stat.S_ISLNK(status.st_mode):
        reason = reasons.SYMBOLIC_LINK
    elif not stat.S_ISREG(status.st_mode):
        reason = reasons.NOT_REGULAR
    elif shown != path:
        reason = reasons.NAME_NOT_UTF8
    elif status.st_size > max_file_bytes:
        reason = reasons.larger_than(max_file_bytes)
    return SourceFile.of(shown, status, skip_reason=reason)
