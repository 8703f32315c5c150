"""Reads a file once: its text and the hash of its bytes, or why there is none.

What a walk saw may have changed since, so the file is checked again on the open descriptor: a
link is not followed and a FIFO does not block.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.disk import reasons
from memory_sidecar.model import SourceFile
from memory_sidecar.sources.content import text_or_reason

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class TextRead:
    """A text worth indexing, line breaks as they stand, without a byte order mark."""

    text: str
    content_hash: str  # hex SHA-256 of the bytes


@dataclass(frozen=True, slots=True)
class ReadSkipped:
    """Nothing to index, and nothing to try again until the file changes."""

    reason: str
    content_hash: str = ""  # "" where nothing was read


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """The disk refused; to be tried again."""

    reason: str


@dataclass(frozen=True, slots=True)
class FileGone:
    """Deleted since it was listed."""


ReadResult = TextRead | ReadSkipped | ReadFailed | FileGone


def read_text(root: Path, file: SourceFile, *, max_file_bytes: int) -> ReadResult:
    """Read `file`, which a walk of `root` listed without a skip reason.

    Whatever the disk does is in the result; nothing is raised.
    """
    try:
        data = read_regular(root / file.path, max_file_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return FileGone()
    except OSError as error:
        return _refused(error)
    if data is None:
        return ReadSkipped(reasons.NOT_REGULAR)
    if len(data) > max_file_bytes:  # it grew meanwhile
        return ReadSkipped(reasons.larger_than(max_file_bytes))
    content_hash = hashlib.sha256(data).hexdigest()
    text, reason = text_or_reason(data, file.path)
    return ReadSkipped(reason, content_hash) if reason else TextRead(text, content_hash)


def read_regular(path: Path, limit_bytes: int) -> bytes | None:
    """At most the first `limit_bytes` of a regular file; `None` for anything else."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(limit_bytes)
    finally:
        os.close(descriptor)


def _refused(error: OSError) -> ReadResult:
    if error.errno == errno.ELOOP:  # what O_NOFOLLOW says of a link
        return ReadSkipped(reasons.SYMBOLIC_LINK)
    if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):  # opening a socket
        return ReadSkipped(reasons.NOT_REGULAR)
    return ReadFailed(error.strerror or str(error))
