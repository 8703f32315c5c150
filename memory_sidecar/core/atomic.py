"""Atomic changes of files: after a crash or a loss of power a file is whole or absent.

A new file is written under a temporary name in its folder, synced and renamed; missing folders are
made. What a crash leaves behind begins with `TEMPORARY_PREFIX`, and `sweep` deletes it. An error
after the rename does not make the change fail. `opening` says which paths are refused. Functions
that change a single file raise OSError.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from memory_sidecar.core import reasons
from memory_sidecar.core.opening import FileRefused, Folder, Tree

if TYPE_CHECKING:
    from memory_sidecar.core.opening import StrPath

TEMPORARY_PREFIX = ".sidecar-tmp-"
LEFT_AFTER_MS = 3_600_000  # the age at which a temporary file is surely that of a killed writer


def file_hash(content: bytes) -> str:
    """Return the hash for `--if-hash`, over the whole file, so that no edit is overwritten."""
    return hashlib.sha256(content).hexdigest()[:16]


def replace_file(tree: Tree, path: StrPath, content: bytes) -> None:
    """Write `content` to `path`; outside of our own trees, a file there keeps its permissions.

    Raises FileRefused where a link, a folder or a device is in its place.
    """
    _replace(tree, path, content, before=None)


def replace_unchanged(tree: Tree, path: StrPath, before: bytes | None, content: bytes) -> bool:
    """Replace a file that holds `before` as `replace_file` does; return False if it does not.

    Without `before`, no file may be there. The file is compared once `content` is on the disk,
    which takes a while: an editor that saves until then loses nothing.
    """
    if before is None:
        return create_file(tree, path, content)
    try:
        _replace(tree, path, content, before=before)
    except _ChangedFileError:
        return False
    return True


def create_file(tree: Tree, path: StrPath, content: bytes) -> bool:
    """Write a new file as `replace_file` does; return False, and do nothing, if `path` exists."""
    folder, name = tree.enter_above(path, make=True)
    with folder:
        try:
            with _temporary(folder, lambda file: file.write(content)) as temporary:
                _rename_to_free(folder, temporary, folder, name)
        except FileExistsError:
            return False
        folder.sync()
    return True


def move_file(tree: Tree, path: StrPath, into: Tree, target: StrPath) -> bool:
    """Rename a file in one step; return False, and do nothing, if `target` exists.

    To another disk the file is copied, with its times; only then can a crash leave both.
    """
    folder, name = tree.enter_above(path)
    with folder:
        new_folder, new_name = into.enter_above(target, make=True)
        with new_folder:
            try:
                _move(folder, name, new_folder, new_name)
            except FileExistsError:
                return False
            new_folder.sync()
            folder.sync()
    return True


def delete_file(tree: Tree, path: StrPath) -> None:
    """Delete the file or link at `path`. Raises FileNotFoundError."""
    folder, name = tree.enter_above(path)
    with folder:
        os.unlink(folder.at(name), dir_fd=folder.fd)
        folder.sync()


def remove_empty_folders(tree: Tree, path: StrPath, *, keep: StrPath) -> None:
    """Remove the empty folders above `path`, from the innermost up to, and without, `keep`.

    Stops without an error at the first folder that cannot be removed.
    """
    above = os.path.dirname(os.fspath(path))
    while os.path.abspath(above) != os.path.abspath(keep):
        try:
            folder, name = tree.enter_above(above)
            with folder:
                os.rmdir(folder.at(name), dir_fd=folder.fd)
        except OSError:
            return
        above = os.path.dirname(above)


def sweep(
    tree: Tree, folder: StrPath, *, is_sole_writer: bool = False, pattern: str = "**/"
) -> None:
    """Delete the temporary files that killed writers left in and below `folder`.

    Those are all if the caller is the sole writer, as the holder of a lock, else those older than
    LEFT_AFTER_MS. With an empty `pattern`, only those in `folder` itself. Raises nothing: a file
    that cannot be deleted stays until the next sweep.
    """
    before_ms = math.inf if is_sole_writer else time.time() * 1000 - LEFT_AFTER_MS
    with suppress(OSError):  # of a folder that cannot be listed, or is deleted meanwhile
        for left in Path(folder).glob(f"{pattern}{TEMPORARY_PREFIX}*"):
            with suppress(OSError):
                status = tree.status(left)
                if status is not None and status.st_mtime_ns // 1_000_000 < before_ms:
                    delete_file(tree, left)


def what_is_refused(error: OSError, path: StrPath) -> str:
    """Return what `error` refuses: to read the file at `path`, or to write a folder.

    That folder is the one above `path` or, of the two of a move, the first that is not writable.
    """
    if os.path.isfile(path) and not os.access(path, os.R_OK):
        return f"read {os.fspath(path)}"
    folders = map(os.path.dirname, (error.filename, error.filename2) if error.filename2 else ())
    refusing = (each for each in folders if os.path.isabs(each) and not os.access(each, os.W_OK))
    return f"write {next(refusing, os.path.dirname(path))}"


class _ChangedFileError(Exception):
    """The file to be replaced no longer holds what it held."""


def _replace(tree: Tree, path: StrPath, content: bytes, *, before: bytes | None) -> None:
    """Write `content` to `path`. Raises _ChangedFileError if `before` is given, and not there."""
    folder, name = tree.enter_above(path, make=True)
    with folder:
        status = folder.status(name)
        if status is not None and not stat.S_ISREG(status.st_mode):
            raise FileRefused(errno.EINVAL, reasons.NOT_REGULAR, path)
        with _temporary(folder, lambda file: file.write(content)) as temporary:
            if status is not None and not tree.is_own:
                os.chmod(folder.at(temporary), stat.S_IMODE(status.st_mode), dir_fd=folder.fd)
            if before is not None and not _holds(folder, name, before):
                raise _ChangedFileError
            os.replace(
                folder.at(temporary), folder.at(name), src_dir_fd=folder.fd, dst_dir_fd=folder.fd
            )
        folder.sync()


def _holds(folder: Folder, name: str, content: bytes) -> bool:
    try:
        return folder.read(name, len(content))[0] == content
    except (FileNotFoundError, FileRefused):  # deleted, or longer by now
        return False


@contextmanager
def _temporary(folder: Folder, write: Callable[[BinaryIO], object]) -> Iterator[str]:
    """Yield the name of a new, synced file in `folder`, for the block to rename.

    `write` is given the open file to write its content.
    """
    name = TEMPORARY_PREFIX + os.urandom(8).hex()
    try:
        descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        yield name
    except BaseException:
        with suppress(OSError):  # it was never made, or the same disk fails: a sweep deletes it
            os.unlink(folder.at(name), dir_fd=folder.fd)
        raise


def _move(folder: Folder, name: str, new_folder: Folder, new_name: str) -> None:
    try:
        _rename_to_free(folder, name, new_folder, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_away(folder, name, new_folder, new_name)


def _copy_away(folder: Folder, name: str, new_folder: Folder, new_name: str) -> None:
    def copy(file: BinaryIO) -> None:
        with os.fdopen(folder.open(name), "rb") as source:
            while chunk := source.read(1 << 20):
                file.write(chunk)
            status = os.fstat(source.fileno())
        file.flush()
        os.utime(file.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))

    with _temporary(new_folder, copy) as temporary:
        _rename_to_free(new_folder, temporary, new_folder, new_name)
    new_folder.sync()  # before the old file goes: the two disks write down names in any order
    try:
        os.unlink(folder.at(name), dir_fd=folder.fd)
    except OSError:  # the old disk is read-only: undo the copy, so that nothing is moved
        os.unlink(new_folder.at(new_name), dir_fd=new_folder.fd)
        raise


def _rename_to_free(folder: Folder, name: str, new_folder: Folder, new_name: str) -> None:
    rename = _exclusive_rename()
    if rename is not None:
        number = rename(folder.fd, os.fsencode(name), new_folder.fd, os.fsencode(new_name))
        if number == 0:
            return
        if number not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):  # else not supported here
            shown = (folder.path_of(name), None, new_folder.path_of(new_name))
            raise OSError(number, os.strerror(number), *shown)
    # Check and rename instead: locks keep our own writers apart, and Windows refuses to replace.
    if os.name != "nt" and new_folder.status(new_name) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new_name)
    os.rename(
        folder.at(name), new_folder.at(new_name), src_dir_fd=folder.fd, dst_dir_fd=new_folder.fd
    )


@cache
def _exclusive_rename() -> Callable[[int | None, bytes, int | None, bytes], int] | None:
    """Return renameat2(2) of Linux or renameatx_np(2) of macOS, which returns 0 or an errno."""
    name, no_replace = {"linux": ("renameat2", 1), "darwin": ("renameatx_np", 4)}.get(
        sys.platform, ("", 0)
    )
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if function is None:
        return None
    function.argtypes = (*(ctypes.c_int, ctypes.c_char_p) * 2, ctypes.c_uint)

    def rename(folder: int | None, name: bytes, new_folder: int | None, new_name: bytes) -> int:
        failed = function(folder, name, new_folder, new_name, no_replace)
        return ctypes.get_errno() if failed else 0

    return rename
