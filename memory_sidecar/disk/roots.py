"""Checks the root of a source: that it is there, can be read, and is no link to another folder.

A root that is gone may be on a disk that is not mounted. So that is an error, and does not mean
that there are no files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from memory_sidecar.core.errors import NotFound, PathRefused
from memory_sidecar.core.model import Source
from memory_sidecar.core.opening import escape_bytes, is_utf8, real_path
from memory_sidecar.disk.rule_files import check_rules

T = TypeVar("T")

IsDeleted = Callable[[str, str], bool]
"""Whether a file was deleted, by its source and path: rows may outlive it for a moment."""

_IF_GONE = "mount its disk again, or `memory-sidecar source move` or `source remove` it"


def check_root(top: str, if_gone: str = _IF_GONE) -> None:
    """Raise NotFound or PathRefused, unless `top` is a readable folder.

    `if_gone` is the hint if nothing is there, or a file.
    """
    try:
        os.scandir(top).close()
    except FileNotFoundError as error:
        raise NotFound(f"{top} is not there", hint=if_gone) from error
    except NotADirectoryError as error:
        raise PathRefused(f"{top} is not a folder", hint=if_gone) from error
    except OSError as error:
        raise PathRefused(
            f"{top} cannot be read: {error.strerror}", hint="check its permissions and its disk"
        ) from error


def require_name(folder: Path) -> None:
    """Raise PathRefused for a folder whose name is no text: no rules can be read there."""
    if not is_utf8(os.fspath(folder)):
        raise PathRefused(
            f"the name {escape_bytes(folder)} is not UTF-8",
            hint="rename that folder: nothing can be kept under such a name",
        )


def readable_folder(root: Path) -> Path:
    """Return the real path of the folder `root`, which a user named.

    Raises NotFound if it is not there, PathRefused if it is no folder that can be read.
    """
    real = real_path(os.path.expanduser(root))  # noqa: PTH111  neither ever fails
    is_file = os.path.isfile(real)  # noqa: PTH113  nor does this
    which = "the folder that holds it" if is_file else "an existing folder"
    check_root(real, if_gone=f"name {which}")
    return Path(real)


def require_root_is_itself(source: Source) -> None:
    """Raise PathRefused if the root is, or lies behind, a link, so that its files are others."""
    root = os.fspath(source.root)
    if (real := os.path.realpath(root)) != root:
        raise PathRefused(
            f"{root} is a link to {real} now",
            hint=f"bring the folder back, or `memory-sidecar source remove {source.name}`",
        )


def deletions(roots: Mapping[str, Path], trusted: Collection[str] = ()) -> IsDeleted:
    """Return a function that tells readers whether the file of a row was deleted from `roots`.

    Unless its source is `trusted`, an empty root may be on a disk that is not mounted, and one that
    is a link now shows another folder's files.
    """
    looked_at = {
        name: root
        for name, root in roots.items()
        if name in trusted or real_path(root) == os.fspath(root)
    }
    return lambda source, file: (
        source in looked_at
        and _is_deleted(file, looked_at[source], trusts_empty_root=source in trusted)
    )


NONE_DELETED = deletions({})


def first_present(
    fetch: Callable[[int], list[T]], is_present: Callable[[T], bool], limit: int | None
) -> list[T]:
    """Return the first `limit` rows (None: all) that are present, of those that `fetch` finds.

    `fetch` is called with the number of rows to find, -1 for all.
    """
    asked = -1 if limit is None else limit
    while True:
        rows = fetch(asked)
        present = [row for row in rows if is_present(row)]
        if limit is None or len(present) >= limit or len(rows) < asked:
            return present[:limit]
        asked += len(rows) - len(present)


def _is_deleted(file: str, root: Path, *, trusts_empty_root: bool) -> bool:
    """Whether `file`, relative to `root`, no longer exists.

    Unless `trusts_empty_root`, an empty root may be on a disk that is not mounted.
    """
    try:
        os.lstat(os.path.join(root, file))  # noqa: PTH118  half the time
    except (FileNotFoundError, NotADirectoryError):
        if trusts_empty_root:
            return True
        with suppress(OSError), os.scandir(root) as entries:
            return any(entries)
    except OSError:
        pass
    return False


def has_files(root: Path) -> bool:
    """Whether any file lies at or below `root`, ignored or not, so that its disk is mounted."""
    return any(files for _, _, files in os.walk(root))


def problem_of(source: Source) -> str:
    """Return why a scan of `source` would fail at its root; "" if it would not."""
    root = os.fspath(source.root)
    try:
        require_root_is_itself(source)
        check_root(root)
        check_rules(root, root)
    except (NotFound, PathRefused) as error:
        return error.message
    return ""
