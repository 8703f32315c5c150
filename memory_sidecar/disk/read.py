"""Reads a file once: its text and the hash of its bytes, or why there is none.

What a walk saw may have changed since, so the file is checked again as it is opened.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.core.model import SourceFile
from memory_sidecar.core.opening import FileRefused, Tree
from memory_sidecar.disk.content import text_or_reason


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
        data = Tree(root).read(file.path, max_file_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return FileGone()
    except FileRefused as refusal:
        return ReadSkipped(refusal.reason)
    except OSError as error:
        return ReadFailed(error.strerror or str(error))
    content_hash = hashlib.sha256(data).hexdigest()
    text, reason = text_or_reason(data, file.path, is_asked_for=file.is_asked_for)
    return ReadSkipped(reason, content_hash) if reason else TextRead(text, content_hash)
