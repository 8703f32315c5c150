"""A knowledge directory, opened for changing its files.

Every change happens under the directory's lock, so that two processes that read, decide and write
lose nothing of each other. People and git take no lock: nothing they put there is overwritten
either, since a new file never replaces one and a changed one is compared with `if_hash`.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from memory_sidecar.errors import Conflict, NotFound, PathRefused, StoreBusy
from memory_sidecar.sources.atomic import create_file, make_folders, replace_file, sync_folder
from memory_sidecar.sources.memory_files import MemoryPage, file_hash, read_memory
from memory_sidecar.sources.memory_names import inside
from memory_sidecar.sqlite import named_errors

LOCK_TIMEOUT_S = 60
_LOCK_POLL_S = 0.002


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory's file as it was read."""

    path: str
    text: str
    hash: str  # see `file_hash`
    page: MemoryPage


@dataclass(frozen=True, slots=True)
class Directory:
    """The knowledge directory at `root`.

    Whatever process writes into it takes a lock in the folder `locks`, named after the root.
    """

    name: str
    root: Path
    locks: Path
    is_made: bool = False  # when it is not there; one on a disk that is not mounted must not be

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock.

        Raises NotFound where the directory is not there, and StoreBusy where another process does
        not let go of it.
        """
        if not (self.is_made or self.root.is_dir()):
            raise NotFound(f"{self.root} is not there", hint="mount its disk again")
        root = os.fspath(self.root.resolve())
        lock_file = self.locks / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.lock"
        with named_errors(lock_file):
            make_folders(self.locks)
            lock = FileLock(lock_file, timeout=LOCK_TIMEOUT_S, poll_interval=_LOCK_POLL_S)
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreBusy(
                    f"{self.root} is being changed by another process", hint="try again"
                ) from error
        try:
            with named_errors(self.root / "memories"):
                make_folders(self.root)
            yield
        finally:
            lock.release()

    def read(self, path: str, *, if_hash: str = "") -> MemoryFile:
        """The memory at `path`, or at the same name as another system spells it.

        Raises NotFound, and Conflict with the current text where its hash is not `if_hash`.
        """
        for spelling in dict.fromkeys((path, unicodedata.normalize("NFD", path))):
            if (found := self.find(spelling)) is None:
                continue
            if if_hash and found.hash != if_hash.strip().lower():
                raise Conflict(
                    f"{path} changed: its hash is {found.hash}, not {if_hash}",
                    hint="merge your change into the current text and use its hash",
                    current={"path": path, "hash": found.hash, "text": found.text},
                )
            return found
        raise NotFound(f"there is no memory {path}", hint="`memory-sidecar list` shows the paths")

    def find(self, path: str) -> MemoryFile | None:
        """`None` where nothing is. Raises PathRefused for a link, a folder, or no text."""
        file = inside(self.root, path)
        with named_errors(file):
            try:
                with file.open("rb") as stream:
                    content = stream.read()
                    mtime_ms = os.fstat(stream.fileno()).st_mtime_ns // 1_000_000
            except (FileNotFoundError, NotADirectoryError):
                return None
            except IsADirectoryError as error:
                raise PathRefused(f"{path} is a folder", hint="name a memory in it") from error
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PathRefused(
                f"{path} is not UTF-8 (byte {error.start})", hint="convert it to UTF-8"
            ) from error
        return MemoryFile(path, text, file_hash(content), read_memory(text, mtime_ms=mtime_ms))

    def create(self, path: str, text: str) -> MemoryFile:
        """Raises FileExistsError where `path` is taken."""
        file = inside(self.root, path)
        content = text.encode("utf-8")
        with named_errors(file):
            make_folders(file.parent)
            is_taken = not _created(file, content)
        if is_taken:
            raise FileExistsError(path)
        return MemoryFile(path, text, file_hash(content), read_memory(text, mtime_ms=0))

    def replace(self, old: MemoryFile, text: str) -> MemoryFile:
        """Write `text` over what was read as `old`."""
        file = inside(self.root, old.path)
        content = text.encode("utf-8")
        with named_errors(file):
            replace_file(file, content)
        return MemoryFile(old.path, text, file_hash(content), read_memory(text, mtime_ms=0))

    def delete(self, path: str) -> None:
        """And the folders that are empty then."""
        file = inside(self.root, path)
        with named_errors(file):
            file.unlink()
            sync_folder(file.parent)
        self.tidy(path)

    def tidy(self, path: str) -> None:
        """Remove the folders above `path` that hold nothing any more, but not the root."""
        root, folder = self.root.resolve(), inside(self.root, path).parent
        while folder != root:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _created(file: Path, content: bytes) -> bool:
    try:
        create_file(file, content)
    except FileExistsError:
        return False
    return True
