"""Files that are there whole or not at all, after a crash and a loss of power too.

A new file is written beside its place and moved there. What a crash leaves behind begins with
`TEMPORARY_PREFIX` and is nobody's.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

TEMPORARY_PREFIX = ".sidecar-tmp-"


def replace_file(path: Path, content: bytes) -> None:
    """Afterwards, `path` has this content. Keeps the permissions of what was there."""
    temporary = _written_beside(path, content)
    try:
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except FileNotFoundError:
            pass
        else:
            temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def create_file(path: Path, content: bytes) -> None:
    """Like `replace_file`, but raises FileExistsError for a `path` that is taken."""
    temporary = _written_beside(path, content)
    try:
        _rename_to_free(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def move_file(path: Path, target: Path) -> None:
    """To another disk too, with its times. Raises FileExistsError for a `target` that is taken."""
    try:
        _rename_to_free(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        create_file(target, path.read_bytes())
        shutil.copystat(path, target)
        path.unlink()
    sync_folder(target.parent)
    if target.parent != path.parent:
        sync_folder(path.parent)


def make_folders(folder: Path) -> None:
    """`folder` and those above it, so that they outlast a loss of power."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk hold what was renamed or removed in `folder`."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path, *, before_ms: int) -> None:
    """Delete what crashed writers left in `folder` and below before that moment (epoch ms)."""
    for left in folder.rglob(f"{TEMPORARY_PREFIX}*"):
        with suppress(OSError):
            if left.is_file() and left.stat().st_mtime_ns // 1_000_000 < before_ms:
                left.unlink()


def _written_beside(path: Path, content: bytes) -> Path:
    temporary = path.with_name(TEMPORARY_PREFIX + secrets.token_hex(8))
    # Unlike `tempfile`, which makes files that nobody else may read, leave that to the umask.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


_BINARY = getattr(os, "O_BINARY", 0)


def _rename_to_free(path: Path, target: Path) -> None:
    if os.name == "nt":
        path.rename(target)  # refuses to replace there
        return
    try:
        target.hardlink_to(path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links: two writers are kept apart by their lock
        if target.exists() or target.is_symlink():
            raise FileExistsError(f"{target} is there already") from None
        path.replace(target)
    else:
        path.unlink()
