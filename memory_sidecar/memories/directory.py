"""Reads and changes the files of a knowledge directory.

Every change happens under the directory's lock, so that processes that read, decide and write do
not lose each other's changes. People and git take no lock, but nothing of theirs is overwritten
either: a new file never replaces another, and a change only replaces the text that was read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from memory_sidecar.core.atomic import (
    create_file,
    delete_file,
    file_hash,
    remove_empty_folders,
    replace_unchanged,
)
from memory_sidecar.core.errors import Conflict, NotFound, PathRefused
from memory_sidecar.core.locks import hold_lock
from memory_sidecar.core.model import stamp_of
from memory_sidecar.core.opening import Tree
from memory_sidecar.core.paths import AgentPaths
from memory_sidecar.core.sqlite import named_errors
from memory_sidecar.disk.frontmatter import MAX_PAGE_BYTES
from memory_sidecar.memories.files import MemoryPage, read_memory
from memory_sidecar.memories.model import OWN_DIRECTORY
from memory_sidecar.memories.names import check_path, folded, may_be_memory, spellings

LOCK_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory's file as it was read."""

    path: str  # as on disk, relative to the directory
    text: str
    hash: str  # see `file_hash`
    page: MemoryPage

    @classmethod
    def of(cls, path: str, text: str, *, mtime_ms: int = 0) -> MemoryFile:
        """Parse `text` as the file at `path`; `mtime_ms` stands in for times that it lacks."""
        return cls(path, text, file_hash(text.encode()), read_memory(text, mtime_ms=mtime_ms))


@dataclass(frozen=True, slots=True)
class KnowledgeDirectory:
    """The knowledge directory at `root`: the agent's own, or a registered one elsewhere.

    A process that writes into it takes a lock in the folder `locks`, named after the root. The
    locks lie in `data`, the tree of the data directory, and so does the agent's own root.
    """

    name: str
    root: Path
    locks: Path
    data: Tree

    @classmethod
    def of_agent(cls, paths: AgentPaths) -> KnowledgeDirectory:
        """Return the agent's own directory, which need not exist yet."""
        return cls(OWN_DIRECTORY, paths.memories, paths.locks, paths.tree)

    @property
    def is_own(self) -> bool:
        """Whether this is the agent's own, made if missing; another may be on an unmounted disk."""
        return self.name == OWN_DIRECTORY

    @property
    def tree(self) -> Tree:
        """The tree that the memories are opened through."""
        return self.data if self.is_own else Tree(self.root)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the directory's lock, and make the agent's own directory if it is missing.

        Raises NotFound for a missing directory elsewhere, and StoreBusy where another process
        holds the lock for LOCK_PATIENCE_S.
        """
        if not (self.is_own or self.root.is_dir()):
            raise NotFound(f"{self.root} is not there", hint="mount its disk again")
        root = os.fspath(self.root.resolve())
        lock_file = self.locks / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.lock"
        with hold_lock(self.data, lock_file, patience_s=LOCK_PATIENCE_S, what=f"{self.root} is"):
            with named_errors(self.root / "memories"):
                self.tree.make(self.root)
            yield

    def read(self, path: str, *, if_hash: str = "") -> MemoryFile:
        """Read the memory that a caller calls `path`; its suffix may be left out.

        The file of exactly that name comes first, even if no new memory may have the name; then one
        in the other spelling: composed (NFC) or, as on macOS, decomposed (NFD). Raises as
        `check_path`, NotFound, and Conflict with the current text if its hash is not `if_hash`.
        """
        found = self.find(path) if may_be_memory(path) else None
        if found is None:
            path = check_path(path)
            found = next(filter(None, map(self.find, spellings(path))), None)
        if found is None:
            raise NotFound(
                f"there is no memory {path}", hint="`memory-sidecar list` shows the paths"
            )
        if if_hash and found.hash != if_hash.strip().lower():
            raise Conflict(
                f"{path} changed: its hash is {found.hash}, not {if_hash}",
                hint="merge your change into the current text and use its hash",
                current={"path": path, "hash": found.hash, "text": found.text},
            )
        return found

    def find(self, path: str) -> MemoryFile | None:
        """Read the memory at exactly `path`; None if there is none.

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
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PathRefused(
                f"{path} is not UTF-8 (byte {error.start})", hint="convert it to UTF-8"
            ) from error
        return MemoryFile.of(path, text, mtime_ms=_mtime_ms(status))

    def has_folder(self, path: str) -> bool:
        """Whether a folder is at `path`. Raises PathRefused for one behind a link."""
        with named_errors(self.root / path):
            try:
                self.tree.enter(self.root / path).close()
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def known_category(self, category: str) -> str:
        """Return `category` with each part named as the existing folder of equal `folded` name."""
        parts = list(filter(None, category.split("/")))
        for at, part in enumerate(parts):
            try:
                within = self.root.joinpath(*parts[:at]).iterdir()
                folders = sorted(each.name for each in within if each.is_dir())
            except OSError:
                break  # nor is there one for any part below
            if part not in folders:
                parts[at] = {folded(name): name for name in folders}.get(folded(part), part)
        return "/".join(parts)

    def twin_of(self, path: str, *, besides: str) -> str:
        """Return a path other than `besides` that differs from `path` in case alone, "" if none.

        On macOS and Windows, both would be one file. The folders are taken to be the same.
        """
        folder, slash, name = path.rpartition("/")
        found: list[str] = []
        with suppress(OSError):
            found = [each.name for each in (self.root / folder).iterdir()]
        twins = (folder + slash + each for each in found if each.lower() == name.lower())
        return next((each for each in twins if each not in (path, besides)), "")

    def create(self, path: str, text: str) -> MemoryFile:
        """Create a file at `path` with `text`. Raises FileExistsError if one is there."""
        file = self.root / path
        with named_errors(file):
            is_made = create_file(self.tree, file, text.encode())
        if not is_made:
            raise FileExistsError(path)
        return MemoryFile.of(path, text)

    def replace(self, old: MemoryFile, text: str) -> MemoryFile:
        """Write `text` as `overwrite` does; return the file as it is now."""
        self.overwrite(old, text)
        status = self.tree.status(self.root / old.path)
        return MemoryFile.of(old.path, text, mtime_ms=_mtime_ms(status) if status else 0)

    def overwrite(self, old: MemoryFile, text: str) -> None:
        """Write `text` over the file that was read as `old`.

        Raises Conflict if a person, or a program without the lock, changed the file since.
        """
        file = self.root / old.path
        with named_errors(file):
            is_written = replace_unchanged(self.tree, file, old.text.encode(), text.encode())
        if not is_written:
            raise Conflict(f"{old.path} was changed in the meantime", hint="run it again")

    def delete(self, path: str) -> None:
        """Delete the file at `path`, and the folders above it that become empty."""
        file = self.root / path
        with named_errors(file):
            delete_file(self.tree, file)
        self.tidy(path)

    def tidy(self, path: str) -> None:
        """Remove the empty folders above `path`, but not the root."""
        remove_empty_folders(self.tree, self.root / path, keep=self.root)


def _mtime_ms(status: os.stat_result) -> int:
    _, modified_ns, _ = stamp_of(status)
    return modified_ns // 1_000_000
