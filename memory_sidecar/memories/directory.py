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

from memory_sidecar.core.atomic import (
    create_file,
    delete_file,
    file_hash,
    remove_empty_folders,
    replace_file,
)
from memory_sidecar.core.errors import Conflict, NotFound, PathRefused
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES
from memory_sidecar.memories.files import MemoryPage, read_memory
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.names import check_path

LOCK_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory's file as it was read."""

    path: str
    text: str
    hash: str  # see `file_hash`
    page: MemoryPage

    @classmethod
    def of(cls, path: str, text: str, *, mtime_ms: int = 0) -> MemoryFile:
        """What `text` at `path` says; `mtime_ms` stands in for the times that it does not tell."""
        return cls(path, text, file_hash(text.encode()), read_memory(text, mtime_ms=mtime_ms))


@dataclass(frozen=True, slots=True)
class KnowledgeDirectory:
    """The knowledge directory at `root`.

    Whatever process writes into it takes a lock in the folder `locks`, named after the root. They
    lie in our own tree `data`, and so does the root if it `is_made` by us.
    """

    name: str
    root: Path
    locks: Path
    data: Tree
    is_made: bool = False  # when it is not there; one on a disk that is not mounted must not be

    @classmethod
    def of_agent(cls, paths: AgentPaths) -> KnowledgeDirectory:
        """The agent's own, which need not be there yet."""
        return cls(OWN_DIRECTORY, paths.memories, paths.locks, paths.tree, is_made=True)

    @property
    def tree(self) -> Tree:
        """What the memories are reached through."""
        return self.data if self.is_made else Tree(self.root)

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
        with hold_lock(self.data, lock_file, timeout_s=LOCK_TIMEOUT_S, what=f"{self.root} is"):
            with named_errors(self.root / "memories"):
                self.tree.make(self.root)
            yield

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
        """The memory at this very `path`, if there is one.

        Raises PathRefused for a link, and for anything but a text file.
        """
        file = self.root / path
        with named_errors(file):
            try:
                folder, name = self.tree.enter_above(file)
                with folder:
                    content, status = folder.read(name, MAX_PAGE_BYTES)
            except (FileNotFoundError, NotADirectoryError):
                return None
        mtime_ms = status.st_mtime_ns // 1_000_000
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PathRefused(
                f"{path} is not UTF-8 (byte {error.start})", hint="convert it to UTF-8"
            ) from error
        return MemoryFile.of(path, text, mtime_ms=mtime_ms)

    def has_folder(self, path: str) -> bool:
        """Whether a folder is at `path`. Raises PathRefused for one behind a link."""
        with named_errors(self.root / path):
            try:
                self.tree.enter(self.root / path).close()
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def create(self, path: str, text: str) -> MemoryFile:
        """Raises FileExistsError where `path` is taken."""
        file = self.root / path
        with named_errors(file):
            is_made = create_file(self.tree, file, text.encode())
        if not is_made:
            raise FileExistsError(path)
        return MemoryFile.of(path, text)

    def replace(self, old: MemoryFile, text: str) -> MemoryFile:
        """Write `text` over what was read as `old`."""
        file = self.root / old.path
        with named_errors(file):
            replace_file(self.tree, file, text.encode())
        return MemoryFile.of(old.path, text)

    def remove(self, path: str, *, if_hash: str = "") -> str:
        """Delete the memory at `path` so that nothing brings it back; returns its path."""
        with self.changing():
            found = self.read(check_path(path), if_hash=if_hash)
            self.delete(found.path)
            return found.path

    def delete(self, path: str) -> None:
        """Delete the file at `path`, and the folders above it that are empty then."""
        file = self.root / path
        with named_errors(file):
            delete_file(self.tree, file)
        self.tidy(path)

    def tidy(self, path: str) -> None:
        """Remove the folders above `path` that hold nothing any more, but not the root."""
        remove_empty_folders(self.tree, self.root / path, keep=self.root)
